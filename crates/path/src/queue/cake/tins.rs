//! Which tins there are, and which code points they are for.

use crate::dscp::Dscp;
use dumbbell_units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which tins there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tins {
    /// One for all.
    BestEffort,
    /// Best effort, the whole rate; le and cs1, a sixteenth; ef, va, cs6 and cs7, a quarter.
    #[default]
    Diffserv3,
    /// Best effort, the whole rate; le and cs1, a sixteenth; cs2, cs3, af21, af31 and af41, a half; ef, va and cs4 to
    /// cs7, a quarter.
    Diffserv4,
    /// le, the whole rate; cs1 and af11, 7/8 of it; best effort, 7/8 of that, and so on; cs3, af31 and af41; af21; cs2;
    /// ef, va, cs4 and cs5; cs6 and cs7.
    Diffserv8,
    /// One for the three upper bits of the code point each, of which cs0 has the whole rate, cs1 7/8 of it, and so on.
    Precedence,
}

/// How many tins have 7/8 of what the one before has, with the weight of the first.
const STAIRS: (usize, i64) = (8, 256);

impl Tins {
    /// The tins in the order in which the last that may sends: its part of the rate, and the weight without one.
    pub(super) fn parts(self, bandwidth: Option<Rate>) -> Vec<(Option<Rate>, i64)> {
        let shifted = |parts: &[(u32, i64)]| -> Vec<(Option<Rate>, i64)> {
            let part = |shift: u32| bandwidth.map(|rate| at_least_one(rate.as_bits_per_sec() >> shift));
            parts.iter().map(|&(shift, weight)| (part(shift), weight)).collect()
        };
        match self {
            Tins::BestEffort => shifted(&[(0, 1_024)]),
            Tins::Diffserv3 => shifted(&[(0, 1_024), (4, 64), (2, 256)]),
            Tins::Diffserv4 => shifted(&[(0, 1_024), (4, 64), (1, 512), (2, 256)]),
            Tins::Diffserv8 | Tins::Precedence => {
                let (count, weight) = STAIRS;
                let less = |&(rate, weight): &(Option<Rate>, i64)| {
                    let rate = rate.map(|rate: Rate| at_least_one(rate.as_bits_per_sec() / 8 * 7));
                    Some((rate, weight * 7 / 8))
                };
                std::iter::successors(Some((bandwidth, weight)), less).take(count).collect()
            }
        }
    }

    /// The number of the tin of a code point; packets without one are best effort.
    pub(super) fn of(self, dscp: Dscp) -> usize {
        match self {
            Tins::BestEffort => 0,
            Tins::Diffserv3 => match dscp {
                Dscp::Le | Dscp::Cs1 => 1,
                Dscp::Va | Dscp::Ef | Dscp::Cs6 | Dscp::Cs7 => 2,
                _ => 0,
            },
            Tins::Diffserv4 => match dscp {
                Dscp::Cs0 | Dscp::Af11 => 0,
                Dscp::Le | Dscp::Cs1 => 1,
                Dscp::Cs2 | Dscp::Cs3 | Dscp::Af21 | Dscp::Af31 | Dscp::Af41 => 2,
                Dscp::Cs4 | Dscp::Cs5 | Dscp::Va | Dscp::Ef | Dscp::Cs6 | Dscp::Cs7 => 3,
            },
            Tins::Diffserv8 => match dscp {
                Dscp::Le => 0,
                Dscp::Cs1 | Dscp::Af11 => 1,
                Dscp::Cs0 => 2,
                Dscp::Cs3 | Dscp::Af31 | Dscp::Af41 => 3,
                Dscp::Af21 => 4,
                Dscp::Cs2 => 5,
                Dscp::Cs4 | Dscp::Cs5 | Dscp::Va | Dscp::Ef => 6,
                Dscp::Cs6 | Dscp::Cs7 => 7,
            },
            Tins::Precedence => match dscp {
                Dscp::Cs0 | Dscp::Le => 0,
                Dscp::Cs1 | Dscp::Af11 => 1,
                Dscp::Cs2 | Dscp::Af21 => 2,
                Dscp::Cs3 | Dscp::Af31 => 3,
                Dscp::Cs4 | Dscp::Af41 => 4,
                Dscp::Cs5 | Dscp::Va | Dscp::Ef => 5,
                Dscp::Cs6 => 6,
                Dscp::Cs7 => 7,
            },
        }
    }
}

fn at_least_one(bits_per_sec: u64) -> Rate {
    Rate::from_bits_per_sec(bits_per_sec.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_tins_have_seven_eighths_of_the_one_before() {
        let parts = Tins::Diffserv8.parts(Some(Rate::from_bits_per_sec(8_000_000)));
        let rates: Vec<u64> = parts.iter().filter_map(|(rate, _)| rate.map(Rate::as_bits_per_sec)).collect();
        assert_eq!(rates[..3], [8_000_000, 7_000_000, 6_125_000]);
        let weights: Vec<i64> = Tins::Precedence.parts(None).iter().map(|(_, weight)| *weight).collect();
        assert_eq!(weights, [256, 224, 196, 171, 149, 130, 113, 98]);
    }

    #[test]
    fn code_points_have_the_tins_that_linux_gives_them() {
        let tins = |tins: Tins| {
            [
                Dscp::Le,
                Dscp::Cs1,
                Dscp::Af11,
                Dscp::Cs0,
                Dscp::Af41,
                Dscp::Af21,
                Dscp::Cs2,
                Dscp::Va,
                Dscp::Cs5,
                Dscp::Cs6,
            ]
            .map(|dscp| tins.of(dscp))
        };
        assert_eq!(tins(Tins::Diffserv8), [0, 1, 1, 2, 3, 4, 5, 6, 6, 7]);
        assert_eq!(tins(Tins::Diffserv4), [1, 1, 0, 0, 2, 2, 2, 3, 3, 3]);
        assert_eq!(tins(Tins::Diffserv3), [1, 1, 0, 0, 0, 0, 0, 2, 0, 2]);
        assert_eq!(tins(Tins::Precedence), [0, 1, 1, 0, 4, 2, 2, 5, 5, 6]);
    }
}
