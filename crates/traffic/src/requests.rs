//! Users who ask, wait for the answer, think, and ask again.

use crate::pause::exponential;
use crate::{Capacity, Size, Source};
use dumbbell_parameters::{Described, Problem};
use dumbbell_units::{Duration, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most users of a source.
const MAX_USERS: u32 = 100_000;

/// Each user has a connection that stays, asks over it, waits for the whole answer, thinks, and asks again: the load
/// follows what the network can take. The answer is what is transferred. A request takes the propagation delay of the
/// way back; its packet is not simulated. The first answer takes a handshake in place of a request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Payload of an answer: a size, or a table with the `kind` of a distribution and its parameters.
    pub size: Size,
    /// Users, each with a connection of its own.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000), extend("x-unit" = "users"))]
    pub users: u32,
    /// Mean of the time from an answer to the next request, and before the first; it is exponential.
    #[serde(default = "a_second")]
    #[schemars(extend("x-at-most" = "1h"))]
    pub think: Duration,
}

fn one() -> u32 {
    1
}

fn a_second() -> Duration {
    Duration::from_secs(1)
}

impl Described<Capacity> for Requests {
    const NAME: &'static str = "request-response";
    const SOURCE: &'static str = "the common TCP evaluation suite (draft-irtf-iccrg-tcpeval-01): connections of requests, responses and think times";

    fn resolve(self, _: &Capacity) -> Result<Requests, Problem> {
        match self.size.check() {
            Ok(()) => Ok(self),
            Err((message, help)) => Err(Problem::value("size", message, help)),
        }
    }

    fn in_words(&self) -> String {
        let users = if self.users == 1 { "a user who asks" } else { "users who ask" };
        let count = if self.users == 1 { String::new() } else { format!("{} ", self.users) };
        let (think, size) = (self.think.in_words(), self.size.in_words());
        format!("{count}{users}, thinking {think} on average, answers {size}")
    }
}

impl Requests {
    pub(crate) fn source(&self, mut rng: Rng) -> Source {
        let users = (0..self.users.min(MAX_USERS)).map(|_| Rng::new(rng.next_u64())).collect();
        Source::Users(Users { size: self.size.clone(), think: self.think, users })
    }
}

/// The users of a source. Each draws from a stream of its own, so that what one asks for does not depend on when others
/// do.
#[derive(Clone, Debug)]
pub struct Users {
    size: Size,
    think: Duration,
    users: Vec<Rng>,
}

/// What a user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Time until it is sent.
    pub after: Duration,
    /// Payload of the answer.
    pub bytes: u64,
}

impl Users {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.users.len()
    }

    /// The next request of a user; `None` if there is no such user.
    pub fn ask(&mut self, user: usize) -> Option<Request> {
        let rng = self.users.get_mut(user)?;
        Some(Request { after: exponential(self.think, rng), bytes: self.size.draw(rng) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Bytes;

    #[test]
    fn what_a_user_asks_for_does_not_depend_on_the_others() {
        let size = Size::Exponential { mean: Bytes::new(10_000) };
        let requests = Requests { size, users: 3, think: Duration::from_millis(200) };
        let Source::Users(mut one) = requests.source(Rng::new(9)) else { panic!("users") };
        let Source::Users(mut other) = requests.source(Rng::new(9)) else { panic!("users") };
        assert_eq!((one.count(), one.ask(3)), (3, None));
        let asked: Vec<_> = (0..50_000).map(|_| one.ask(1).unwrap()).collect();
        other.ask(0);
        assert_eq!(asked[..100], (0..100).map(|_| other.ask(1).unwrap()).collect::<Vec<_>>());
        let mean = asked.iter().map(|request| request.after.as_secs_f64()).sum::<f64>() / 50_000.0;
        assert!((mean / 0.2 - 1.0).abs() < 0.02, "{mean}");
    }
}
