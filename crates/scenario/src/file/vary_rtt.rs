//! `vary_rtt`: by how much the round-trip times of flows differ from repetition to repetition.

use super::shorthand::{NoList, Shorthand, shorthand};
use dumbbell_path::Level;
use dumbbell_units::Duration;

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum VaryRtt {
    /// What so many packets take on the slowest link of a flow's way.
    Packets(u64),
    Time(Duration),
}

impl Shorthand for VaryRtt {
    const EXPECTING: &'static str = "a span such as \"1packet\", what a packet takes on the bottleneck, or \"1ms\"";
    type Table = NoList;
    type List = NoList;

    fn pattern() -> String {
        format!("{}|{}", Level::PACKETS_PATTERN, Duration::PATTERN)
    }

    fn from_text(text: &str) -> Result<VaryRtt, String> {
        match Level::parse(text, "a span", "")? {
            Level::Packets(packets) => Ok(VaryRtt::Packets(packets)),
            Level::Time(time) => Ok(VaryRtt::Time(time)),
            Level::Bdp(_) | Level::Bytes(_) => Err(format!("read {text:?}, but this must be {}", Self::EXPECTING)),
        }
    }

    fn from_table(_: NoList) -> Result<VaryRtt, String> {
        Err(format!("read a table, but this must be {}", Self::EXPECTING))
    }
}
shorthand!(VaryRtt, ["1packet", "1ms"], |_| Vec::new());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_packets_or_a_time() {
        assert_eq!(VaryRtt::from_text("1packet"), Ok(VaryRtt::Packets(1)));
        assert_eq!(VaryRtt::from_text("2ms"), Ok(VaryRtt::Time(Duration::from_millis(2))));
        assert!(VaryRtt::from_text("1bdp").unwrap_err().contains("\"1packet\""));
        assert!(VaryRtt::from_text("1").unwrap_err().contains("the unit is missing"));
    }
}
