//! Many servers that answer one request, again and again.

use crate::{Capacity, Size, Source, Wait};
use dumbbell_parameters::{Described, Problem};
use dumbbell_units::{Bytes, Duration, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most servers of a source.
pub const MAX_SERVERS: u32 = 100_000;

/// A client asks all servers at the same time, waits until the slowest answer has arrived (a barrier), and asks again.
/// Each server has a connection that stays and, with `access_rate` or `access_delay`, an access link of its own. A
/// request takes the propagation delay of the way back; its packet is not simulated. In the first round a handshake
/// takes the place of the request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// Servers that answer each request, each over a connection of its own.
    #[schemars(range(min = 1, max = 100_000), extend("x-unit" = "servers"))]
    pub servers: u32,
    /// Payload of the answer of each server: a size, or a table with the `kind` of a distribution and its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "this or `total` is required"))]
    pub size: Option<Size>,
    /// Payload of all answers of a round together, of which each server has an equal part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "this or `size` is required", "x-source" = "Vasudevan et al. 2009: fixed block"))]
    pub total: Option<Bytes>,
    /// Time from the arrival of a request at a server until it writes its answer: a time, or a table with the `kind` of
    /// a distribution and its parameters. Each server draws its own.
    #[serde(default = "none")]
    pub service: Wait,
    /// Time from the last answer of a round until the client asks again: likewise.
    #[serde(default = "none")]
    pub pause: Wait,
    /// Rounds in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-default" = "no limit", "x-unit" = "rounds"))]
    pub rounds: Option<u64>,
}

fn none() -> Wait {
    Wait::NONE
}

impl Described<Capacity> for Incast {
    const NAME: &'static str = "incast";
    const SOURCE: &'static str = "Vasudevan et al., SIGCOMM 2009: barrier-synchronised requests; Alizadeh et al., SIGCOMM 2010 (DCTCP), section 4.2.1";

    /// The total becomes the size of each answer.
    fn resolve(self, _: &Capacity) -> Result<Incast, Problem> {
        for (key, wait) in [("service", &self.service), ("pause", &self.pause)] {
            if let Err((message, help)) = wait.check() {
                return Err(Problem::value(key, message, help));
            }
        }
        let size = match (self.size, self.total) {
            (Some(_), Some(_)) => {
                let help = "remove one of them: `total` is the size of one answer times the number of servers";
                return Err(Problem::key("total", "both `size` and `total` are given", help));
            }
            (None, None) => {
                let help = "add `size`, the answer of each server such as \"32kB\", or `total` of all of them";
                return Err(Problem::whole("nothing says how large an answer is", help));
            }
            (Some(size), None) => size,
            (None, Some(total)) if total < Bytes::new(self.servers.into()) => {
                let message = format!("{total} for {} servers", self.servers);
                return Err(Problem::value("total", message, "allowed: at least a byte for each server"));
            }
            (None, Some(total)) => {
                Size::Fixed { bytes: Bytes::new(total.as_u64().div_ceil(u64::from(self.servers.max(1)))) }
            }
        };
        match size.check() {
            Ok(()) => Ok(Incast { size: Some(size), total: None, ..self }),
            Err((message, help)) => Err(Problem::value("size", message, help)),
        }
    }

    fn in_words(&self) -> String {
        let servers = if self.servers == 1 { "a server answers" } else { "servers answer" };
        let count = if self.servers == 1 { String::new() } else { format!("{} ", self.servers) };
        let size = self.size.as_ref().map(Size::in_words).unwrap_or_default();
        let mut text = format!("{count}{servers} one request, answers {size}");
        for (what, wait) in [("service", self.service), ("pause", self.pause)] {
            if wait != Wait::NONE {
                text.push_str(&format!(", {what} {}", wait.in_words()));
            }
        }
        if let Some(rounds) = self.rounds {
            text.push_str(&format!(", up to {rounds} rounds"));
        }
        text
    }
}

impl Incast {
    pub(crate) fn source(&self, mut rng: Rng) -> Source {
        let servers = (0..self.servers).map(|_| Rng::new(rng.next_u64())).collect();
        Source::Incast(Barrier { kind: self.clone(), servers, rng })
    }
}

/// The servers of a source and the client that asks them. Each draws from a stream of its own, so that what one answers
/// does not depend on when others do.
#[derive(Clone, Debug)]
pub struct Barrier {
    kind: Incast,
    servers: Vec<Rng>,
    rng: Rng,
}

/// What a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Time from the arrival of the request until it is written.
    pub after: Duration,
    /// Its payload.
    pub bytes: u64,
}

impl Barrier {
    /// How many servers there are.
    pub fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Rounds in all; `None` without a limit.
    pub fn rounds(&self) -> Option<u64> {
        self.kind.rounds
    }

    /// The next answer of a server; `None` if there is no such server.
    pub fn answer(&mut self, server: usize) -> Option<Answer> {
        let rng = self.servers.get_mut(server)?;
        let bytes = self.kind.size.as_ref()?.draw(rng);
        Some(Answer { after: self.kind.service.draw(rng), bytes })
    }

    /// The time until the client asks again.
    pub fn pause(&mut self) -> Duration {
        self.kind.pause.draw(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incast(size: Option<Size>, total: Option<u64>) -> Incast {
        let service = Wait::Exponential { mean: Duration::from_micros(100) };
        Incast { servers: 3, size, total: total.map(Bytes::new), service, pause: Wait::NONE, rounds: None }
    }

    fn resolved(kind: Incast) -> Result<Incast, Problem> {
        kind.resolve(&Capacity::default())
    }

    #[test]
    fn a_total_is_shared_equally_and_no_server_answers_nothing() {
        let kind = resolved(incast(None, Some(100))).unwrap();
        assert_eq!((kind.size, kind.total), (Some(Size::Fixed { bytes: Bytes::new(34) }), None));
        assert_eq!(resolved(incast(None, Some(2))).unwrap_err().key, "total");
        assert_eq!(resolved(incast(Some(Size::Fixed { bytes: Bytes::new(1) }), Some(9))).unwrap_err().key, "total");
        assert!(resolved(incast(None, None)).is_err());
    }

    #[test]
    fn what_a_server_answers_does_not_depend_on_the_others() {
        let kind = resolved(incast(Some(Size::Exponential { mean: Bytes::new(10_000) }), None)).unwrap();
        let [Source::Incast(mut one), Source::Incast(mut other)] = [9, 9].map(|seed| kind.source(Rng::new(seed)))
        else {
            panic!("an incast")
        };
        assert_eq!((one.servers(), one.answer(3)), (3, None));
        let answers: Vec<_> = (0..100).map(|_| one.answer(1)).collect();
        other.answer(0);
        other.pause();
        assert_eq!(answers, (0..100).map(|_| other.answer(1)).collect::<Vec<_>>());
    }
}
