//! Drop-tail: what nearly every router did for decades, and many still do.

use super::discipline::{Discipline, Queue};
use crate::catalog::{Described, LinkContext};
use dumbbell_units::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First in, first out; an arriving packet that does not fit into `buffer` is dropped.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropTail {}

impl Described<LinkContext> for DropTail {
    const NAME: &'static str = "droptail";
    const ALIASES: &'static [&'static str] = &["fifo"];
    const SOURCE: &'static str = "Linux 6.18, net/sched/sch_fifo.c: pfifo, bfifo";

    fn in_words(&self) -> String {
        String::new()
    }
}

impl Discipline for DropTail {
    fn queue(&self, _: Rng) -> Queue {
        Queue::DropTail
    }
}
