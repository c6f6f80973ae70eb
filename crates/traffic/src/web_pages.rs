//! Users who load web pages, read, and load the next one.

use crate::pause::exponential;
use crate::{Capacity, Objects, Size, Source};
use dumbbell_parameters::{Described, Problem};
use dumbbell_units::{Bytes, Duration, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each user loads a page, reads it, and loads the next one. A page is a document and the objects that it names. The
/// document comes over a connection of its own; when it has been parsed, its objects come over up to `connections`
/// connections at the same time, that of the document included, one after the other over each. They are new for each
/// page. The page has loaded when everything has arrived: the time from the first connection attempt until then is its
/// load time. A request takes the propagation delay of the way back; its packet is not simulated.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebPages {
    /// Payload of the document: a size, or a table with the `kind` of a distribution and its parameters.
    #[schemars(extend("x-source" = "3GPP2 C.R1002: main object"))]
    pub document: Size,
    /// Payload of an object.
    #[schemars(extend("x-source" = "3GPP2 C.R1002: embedded object"))]
    pub size: Size,
    /// Objects of a page besides its document: a number, or a table with the `scale`, `shape` and `max` of a
    /// distribution, P(number > n) = (1 + n / scale)^-shape, cut at `max`.
    #[schemars(extend("x-source" = "3GPP2 C.R1002: number of embedded objects, mean 5.64"))]
    pub objects: Objects,
    /// Connections at the same time for a page.
    #[schemars(range(min = 1, max = 1_000), extend("x-unit" = "connections", "x-source" = "browsers with HTTP/1.1"))]
    pub connections: u32,
    /// Users, each with one page at a time.
    #[schemars(range(min = 1, max = 100_000), extend("x-unit" = "users"))]
    pub users: u32,
    /// Mean of the time from the arrival of a document to the requests for its objects; it is exponential.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "3GPP2 C.R1002: parsing time"))]
    pub parse: Duration,
    /// Mean of the time from a page that has loaded to the next one, and before the first; it is exponential.
    #[schemars(extend("x-at-most" = "1h", "x-source" = "3GPP2 C.R1002: reading time"))]
    pub think: Duration,
}

impl Default for WebPages {
    fn default() -> WebPages {
        let largest = Some(Bytes::new(2_000_000));
        WebPages {
            document: Size::Lognormal { mean: Bytes::new(10_710), sigma: 1.37, max: largest },
            size: Size::Lognormal { mean: Bytes::new(7_758), sigma: 2.36, max: largest },
            objects: Objects::Lomax { scale: 2.0, shape: 1.1, max: 53 },
            connections: 6,
            users: 1,
            parse: Duration::from_millis(130),
            think: Duration::from_secs(30),
        }
    }
}

impl Described<Capacity> for WebPages {
    const NAME: &'static str = "web-pages";
    const SOURCE: &'static str =
        "3GPP2 C.R1002, section 4.1.3.2: HTTP traffic; 6 connections as browsers use with HTTP/1.1";

    fn resolve(self, _: &Capacity) -> Result<WebPages, Problem> {
        for (key, checked) in
            [("document", self.document.check()), ("size", self.size.check()), ("objects", self.objects.check())]
        {
            if let Err((message, help)) = checked {
                return Err(Problem::value(key, message, help));
            }
        }
        Ok(self)
    }

    fn in_words(&self) -> String {
        let users =
            if self.users == 1 { "a user who loads".to_owned() } else { format!("{} users who load", self.users) };
        let (document, objects, size) = (self.document.in_words(), self.objects.in_words(), self.size.in_words());
        format!("{users} pages over {} connections: documents {document}; {objects}, {size}", self.connections)
    }
}

impl WebPages {
    pub(crate) fn source(&self, mut rng: Rng) -> Source {
        let users = (0..self.users).map(|_| Rng::new(rng.next_u64())).collect();
        Source::Pages(Pages { kind: self.clone(), users })
    }
}

/// The pages of the users of a source. Each user draws from a stream of its own, the document, the number of objects
/// and their sizes in this order, so that what is loaded does not depend on when.
#[derive(Clone, Debug)]
pub struct Pages {
    kind: WebPages,
    users: Vec<Rng>,
}

impl Pages {
    /// How many users there are.
    pub fn users(&self) -> usize {
        self.users.len()
    }

    /// Connections at the same time for a page.
    pub fn connections(&self) -> u32 {
        self.kind.connections
    }

    /// The next page of a user: the time until it is loaded, and the payload of its document; `None` if there is no
    /// such user.
    pub fn page(&mut self, user: usize) -> Option<(Duration, u64)> {
        let rng = self.users.get_mut(user)?;
        Some((exponential(self.kind.think, rng), self.kind.document.draw(rng)))
    }

    /// What the document of a page names: how many objects, and the time until they are asked for.
    pub fn objects(&mut self, user: usize) -> Option<(u32, Duration)> {
        let rng = self.users.get_mut(user)?;
        Some((self.kind.objects.draw(rng), exponential(self.kind.parse, rng)))
    }

    /// Payload of the next object of a page.
    pub fn object(&mut self, user: usize) -> Option<u64> {
        Some(self.kind.size.draw(self.users.get_mut(user)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(users: u32) -> Pages {
        let Source::Pages(pages) = WebPages { users, ..WebPages::default() }.source(Rng::new(3)) else {
            panic!("pages")
        };
        pages
    }

    #[test]
    fn by_default_pages_are_those_of_the_model() {
        let mut pages = pages(1);
        let all = 200_000;
        let (mut documents, mut objects, mut bytes, mut pauses, mut parses) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for _ in 0..all {
            let (pause, document) = pages.page(0).unwrap();
            let (count, parse) = pages.objects(0).unwrap();
            documents += document as f64;
            objects += f64::from(count);
            bytes += pages.object(0).unwrap() as f64;
            pauses += pause.as_secs_f64();
            parses += parse.as_secs_f64();
        }
        let mean = |sum: f64| sum / f64::from(all);
        // The cut at 2 MB takes a quarter of the bytes of objects away: their tail is heavy.
        for (what, value, expected, tolerance) in [
            ("document", mean(documents), 10_700.0, 0.02),
            ("object", mean(bytes), pages.kind.size.mean(), 0.05),
            ("objects", mean(objects), 5.64, 0.1),
            ("reading", mean(pauses), 30.0, 0.02),
            ("parsing", mean(parses), 0.13, 0.02),
        ] {
            assert!((value / expected - 1.0).abs() < tolerance, "{what}: {value} for {expected}");
        }
    }

    #[test]
    fn what_a_user_loads_does_not_depend_on_the_others() {
        let (mut one, mut other) = (pages(3), pages(3));
        assert_eq!((one.users(), one.page(3)), (3, None));
        let loaded: Vec<_> = (0..100).map(|_| (one.page(1), one.objects(1), one.object(1))).collect();
        other.page(0);
        assert_eq!(loaded, (0..100).map(|_| (other.page(1), other.objects(1), other.object(1))).collect::<Vec<_>>());
    }
}
