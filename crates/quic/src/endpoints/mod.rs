//! noq's endpoints, with real packets and real TLS, driven as ours are.

mod client;
mod governors;
mod parameters;
mod peer;
mod relay;
mod server;
mod tls;

pub use parameters::NoqParameters;

use client::Client;
use dumbbell_cc::Catalog;
use dumbbell_cc::catalog::RegisterError;
use dumbbell_cc_contract::{Controller, EcnMode};
use dumbbell_parameters::Problem;
use dumbbell_transport::library::{self, Brings, Ends};
use dumbbell_transport::{Protocol, TransportConfig};
use schemars::schema_for;
use serde_json::{Map, Value};
use server::Server;

/// The name of the transport.
pub(crate) const NAME: &str = "noq";

/// Makes the transport `noq` known, and adds the library's own controllers to a catalogue.
///
/// # Errors
/// A name of them is taken.
pub fn register(catalog: &mut Catalog) -> Result<(), RegisterError> {
    library::register(&Noq);
    governors::add_to(catalog)
}

/// The library.
struct Noq;

impl Brings for Noq {
    fn name(&self) -> &'static str {
        NAME
    }

    fn profile(&self) -> TransportConfig {
        let own = serde_json::to_value(NoqParameters::default()).unwrap_or_default();
        let library = if let Value::Object(table) = own { table } else { Map::new() };
        TransportConfig {
            protocol: library::Library::find(NAME).map_or(Protocol::Quic, Protocol::Library),
            mss: parameters::MTU,
            receive_window: parameters::RECEIVE_WINDOW,
            library,
            ..TransportConfig::default()
        }
    }

    fn schema(&self) -> Value {
        schema_for!(NoqParameters).into()
    }

    fn heeds(&self) -> &'static [&'static str] {
        &[
            "mss",
            "initial_cwnd",
            "receive_window",
            "ecn",
            "undo",
            "quic.packet_threshold",
            "quic.time_threshold_eighths",
        ]
    }

    fn check(&self, config: &TransportConfig) -> Vec<Problem> {
        parameters::check(config)
    }

    fn refuses(&self, _config: &TransportConfig, controller: &dyn Controller) -> Option<(String, String)> {
        let counts_marks = matches!(controller.ecn(), EcnMode::Accurate | EcnMode::L4s);
        counts_marks.then(|| {
            let name = controller.algorithm();
            let message =
                format!("`{name}` counts congestion marks, and {NAME} tells a controller only that there were some");
            (message, "choose transport = \"quic\", or another `cc`".to_owned())
        })
    }

    fn endpoints(&self, config: &TransportConfig, controller: Box<dyn Controller>, seed: u64) -> Ends {
        (Box::new(Client::new(config, controller, seed)), Box::new(Server::new(config, seed)))
    }
}
