#![doc = include_str!("../README.md")]

mod incast;
mod list;
mod objects;
mod pause;
mod requests;
mod schema;
mod short_flows;
mod size;
mod streams;
mod web_pages;

pub use incast::{Answer, Barrier, Incast, MAX_SERVERS};
pub use list::{List, Listed, MAX_LISTED};
pub use objects::Objects;
pub use pause::Wait;
pub use requests::{Request, Requests, Users};
pub use short_flows::{Arrival, Arrivals, DrawnFlows, FlowArrivals, ShortFlows};
pub use size::Size;
pub use streams::{Layout, Streams};
pub use web_pages::{Pages, WebPages};

use dumbbell_parameters::{Catalog, Kind};
use dumbbell_units::Rate;
use std::sync::LazyLock;

/// What parameters of traffic may follow from: the way that it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Capacity {
    /// What the slowest link on the way carries of payload; `None` when unlimited.
    pub rate: Option<Rate>,
}

/// What makes traffic while a run goes on.
#[derive(Clone, Debug)]
pub enum Source {
    /// Flows that arrive, transfer and leave.
    Flows(FlowArrivals),
    /// Users with connections that stay.
    Users(Users),
    /// Users who load web pages.
    Pages(Pages),
    /// Servers that answer one request.
    Incast(Barrier),
}

/// A kind of traffic with its parameters, by which any number of sources can be made.
pub type SourceRecipe = dumbbell_parameters::Recipe<Source>;

/// Every kind of traffic that there is.
pub fn catalog() -> &'static Catalog<Source, Capacity> {
    static CATALOG: LazyLock<Catalog<Source, Capacity>> = LazyLock::new(|| {
        let kinds = vec![
            Kind::new(ShortFlows::source),
            Kind::new(Requests::source),
            Kind::new(WebPages::source),
            Kind::new(Incast::source),
            Kind::new(List::source),
        ];
        Catalog::new("traffic", kinds)
    });
    &CATALOG
}
