//! What a case has of everything that has a name in the catalogues.

use crate::targets::know_the_library;
use std::sync::LazyLock;

/// Each name that the catalogues of controllers, transports, queues, losses and traffic have, behind what it is of.
static NAMES: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
    let controllers = dumbbell_cc_family::catalog().names().map(|name| ("controller", name.to_owned()));
    know_the_library();
    let transports = dumbbell_transport::library::profiles().iter().map(|name| ("transport", (*name).to_owned()));
    let queues = dumbbell_path::queue::catalog().names().map(|name| ("queue", name.to_owned()));
    let losses = dumbbell_path::loss::catalog().names().map(|name| ("loss", name.to_owned()));
    let traffic = dumbbell_traffic::catalog().names().map(|name| ("traffic", name.to_owned()));
    controllers.chain(transports).chain(queues).chain(losses).chain(traffic).collect()
});

/// All names with what they are of, and whether a case has them.
pub fn features(case: &str) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    NAMES.iter().map(|(kind, name)| (*kind, name.as_str(), case.contains(&format!("\"{name}\""))))
}
