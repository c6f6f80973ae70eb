//! Transports that a crate outside brings: the endpoints of a library in place of our own, by name.
//!
//! Whoever has one [registers](register) it once, before experiments are read. It is then a profile like the others
//! ([`TransportConfig::profile`]), with parameters of its own in the table `library`.

use crate::{Endpoint, Protocol, TransportConfig};
use dumbbell_cc_contract::Controller;
use dumbbell_parameters::Problem;
use serde_json::Value;
use std::fmt;
use std::sync::{LazyLock, PoisonError, RwLock, RwLockReadGuard};

/// Both ends of a flow: the near one is where the application writes.
pub type Ends = (Box<dyn Endpoint>, Box<dyn Endpoint>);

/// What a crate outside brings.
pub trait Brings: Send + Sync {
    /// Its name in experiment files and results.
    fn name(&self) -> &'static str;

    /// Its ready-made endpoints. [`TransportConfig::library`] has all parameters of its own.
    fn profile(&self) -> TransportConfig;

    /// The JSON Schema of the table `library`.
    fn schema(&self) -> Value;

    /// The other parameters that change something, nested ones as paths (`quic.packet_threshold`). The rest is refused.
    fn heeds(&self) -> &'static [&'static str];

    /// What is wrong with its parameters, by key.
    fn check(&self, config: &TransportConfig) -> Vec<Problem>;

    /// Why `controller` cannot govern these endpoints, and what would help; `None` where it can.
    fn refuses(&self, config: &TransportConfig, controller: &dyn Controller) -> Option<(String, String)>;

    /// Both ends of a flow that `controller` governs; what they draw by chance comes from `seed`.
    fn endpoints(&self, config: &TransportConfig, controller: Box<dyn Controller>, seed: u64) -> Ends;
}

/// What is registered. Error messages need names that live as long as the program; they are made anew, and left behind,
/// with each registration.
struct Registry {
    libraries: Vec<Library>,
    profiles: &'static [&'static str],
    protocols: &'static [&'static str],
}

static REGISTRY: LazyLock<RwLock<Registry>> = LazyLock::new(|| RwLock::new(Registry::new(Vec::new())));

impl Registry {
    fn new(libraries: Vec<Library>) -> Registry {
        let with_own = |own: &[&'static str]| -> &'static [&'static str] {
            let brought = libraries.iter().map(|library| library.name());
            own.iter().copied().chain(brought).collect::<Vec<_>>().leak()
        };
        Registry {
            profiles: with_own(&TransportConfig::PROFILES),
            protocols: with_own(&Protocol::OWN.map(Protocol::name)),
            libraries,
        }
    }

    fn read() -> RwLockReadGuard<'static, Registry> {
        REGISTRY.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, name: &str) -> Option<Library> {
        self.libraries.iter().find(|library| library.name() == name).copied()
    }
}

/// Makes endpoints known by their name. A name that is taken changes nothing.
pub fn register(library: &'static dyn Brings) {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    if registry.find(library.name()).is_none() && TransportConfig::built_in(library.name()).is_none() {
        let mut libraries = std::mem::take(&mut registry.libraries);
        libraries.push(Library(library));
        *registry = Registry::new(libraries);
    }
}

/// Transports that are registered, in the order of their registration.
pub fn registered() -> Vec<Library> {
    Registry::read().libraries.clone()
}

/// Names of all ready-made endpoints, those of registered transports behind those that are here.
pub fn profiles() -> &'static [&'static str] {
    Registry::read().profiles
}

/// Names of all protocols.
pub(crate) fn protocols() -> &'static [&'static str] {
    Registry::read().protocols
}

/// A registered transport. Two of one name are one.
#[derive(Clone, Copy)]
pub struct Library(&'static dyn Brings);

impl Library {
    /// Whether a parameter changes something, by its path.
    pub fn is_heeded(self, key: &str) -> bool {
        key == "protocol" || key.starts_with("library.") || self.heeds().contains(&key)
    }

    /// The registered transport of this name.
    pub fn find(name: &str) -> Option<Library> {
        Registry::read().find(name)
    }
}

impl std::ops::Deref for Library {
    type Target = dyn Brings;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl PartialEq for Library {
    fn eq(&self, other: &Library) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Library {}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
