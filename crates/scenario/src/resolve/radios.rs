//! Wi-Fi links: their radios, and the access points of their channels.

use super::Context;
use super::network::Network;
use crate::Radio;
use crate::file::{Side, WIFI};
use crate::key_path::KeyPath;
use dumbbell_parameters::check;
use dumbbell_path::wifi::Wifi;
use dumbbell_units::Time;
use std::collections::HashMap;
use std::sync::Arc;

impl Context<'_> {
    /// Checks what the file says of a radio, as far as that needs no network.
    pub(super) fn radio_parameters(&mut self, side: &Side, at: &KeyPath) {
        let Some(wifi) = &side.wifi else { return };
        let radio_at = at.key("wifi");
        if self.last_radio.as_ref() != Some(wifi) {
            let problems: Vec<_> = check(&WIFI, wifi).into_iter().chain(wifi.check().err()).collect();
            self.last_radio = problems.is_empty().then(|| wifi.clone());
            self.report.parameters(&radio_at, problems);
        }
        if let Some(away) = wifi.away.filter(|away| away.from >= Time::ZERO + self.duration) {
            let message = format!("the station leaves at {}, but the run ends at {}", away.from, self.duration);
            self.report.value(&radio_at.key("away").key("from"), message, "allowed: a time before the end of the run");
        }
        self.nothing_of_wires(side, at);
    }

    /// Refuses what a link on the air has not.
    pub(super) fn nothing_of_wires(&mut self, side: &Side, at: &KeyPath) {
        let of_wires = [
            ("rate", side.rate.is_some()),
            ("trace", side.trace.is_some()),
            ("once", side.once.is_some()),
            ("overhead", side.overhead.is_some()),
            ("policer", side.policer.is_some()),
            ("loss_at", side.loss_at.is_some()),
            ("duplicate", side.duplicate.is_some()),
            ("aggregate", side.aggregate.is_some()),
            ("ecn_fault", side.ecn_fault.is_some()),
            ("events", side.events.is_some()),
        ];
        for (key, _) in of_wires.iter().filter(|(_, given)| *given) {
            let help = match *key {
                "rate" | "trace" | "once" => "the rate follows from `width`, `streams`, `mcs` and `guard_interval`",
                "loss_at" => "`loss` is that of single frames on the air, which are sent again",
                _ => "leave it out, or give it to a wired link behind this one",
            };
            self.report.key(&at.key(key), format!("`{key}` does not go with `wifi`"), help);
        }
    }

    /// The radio of each link; a wire has none.
    pub(super) fn radios(&mut self, network: &Network) -> Vec<Option<Radio>> {
        let mut radios: Vec<Option<Radio>> = Vec::with_capacity(network.links.len());
        // The latest: links of one channel are mostly alike, and share it.
        let mut latest = Arc::default();
        // The first link of each channel.
        let mut first: HashMap<String, usize> = HashMap::new();
        for (index, draft) in network.links.iter().enumerate() {
            let radio = draft.side.wifi.as_ref().and_then(|wifi| self.radio(wifi, index, network, &mut latest));
            if let Some(Radio { wifi, .. }) = &radio {
                let says_it = self.says_of_radio(index, network);
                let same = match first.get(&wifi.channel) {
                    Some(&first) => radios[first].as_ref(),
                    None => {
                        first.insert(wifi.channel.clone(), index);
                        None
                    }
                };
                let same = same.filter(|other| says_it && other.wifi.access_point != wifi.access_point);
                if let Some(other) = same {
                    let name = |wifi: &Wifi| wifi.access_point.clone().unwrap_or_default();
                    let message = format!(
                        "the channel `{}` has two access points, `{}` and `{}`",
                        wifi.channel,
                        name(&other.wifi),
                        name(wifi)
                    );
                    let help =
                        "write links as leading to their access point, give `access_point`, or name another `channel`";
                    self.report.value(&draft.at.key("wifi"), message, help);
                }
            }
            radios.push(radio);
        }
        radios
    }

    /// Whether the file says of this direction of a link what its radio is, and not of the other one.
    fn says_of_radio(&self, index: usize, network: &Network) -> bool {
        let draft = &network.links[index];
        let forward = draft.opposite.filter(|&opposite| opposite < index);
        forward.is_none_or(|forward| {
            network.links[forward].at != draft.at && self.report.tree.get(&draft.at.key("wifi")).is_some()
        })
    }

    /// The radio of a link. It shares the `latest` if that is equal, and is the latest from then on.
    fn radio(&mut self, wifi: &Wifi, index: usize, network: &Network, latest: &mut Arc<Wifi>) -> Option<Radio> {
        let draft = &network.links[index];
        let is_way_back = draft.opposite.is_some_and(|opposite| opposite < index);
        let default = if is_way_back { draft.from } else { draft.to };
        let ends = [draft.from, draft.to];
        let access_point = match &wifi.access_point {
            None => default,
            Some(name) => match ends.into_iter().find(|&end| network.nodes[end] == *name) {
                Some(end) => end,
                None if !self.says_of_radio(index, network) => return None,
                None => {
                    let [from, to] = ends.map(|end| &network.nodes[end]);
                    let message = format!("`{name}` is no end of this link");
                    let help = format!("allowed: {from:?}, {to:?}");
                    self.report.value(&draft.at.key("wifi").key("access_point"), message, help);
                    return None;
                }
            },
        };
        let name = network.nodes[access_point].clone();
        let wifi = Wifi { access_point: Some(name), ..wifi.clone() };
        if **latest != wifi {
            *latest = Arc::new(wifi);
        }
        Some(Radio { wifi: Arc::clone(latest), is_from_access_point: draft.from == access_point })
    }
}
