//! Who transmits when: the distributed coordination function with EDCA's categories.
//!
//! When the medium has been idle for AIFS, each further slot lowers a contender's backoff by one; at zero it transmits.
//! Others keep what is left of theirs and go on when the medium has been idle for AIFS again; the slot in which
//! somebody begins to transmit counts (IEEE 802.11-2020, section 10.23.2.4: the counter is lowered at the boundary of a
//! slot). After each own exchange a new backoff is drawn, whether there is more to send or not, so that who comes to
//! have something to send later and finds the medium idle transmits at once.
//!
//! All contenders of one AIFS count the same slots. So a backoff is the number of slots at which it has run down,
//! counted from the beginning of the run: whoever loses changes nothing but the count of its class (`race.rs`).

use super::parameters::AccessCategory;
use super::phy::{SIFS, SLOT};
use dumbbell_units::{Duration, Rng};

/// What EDCA gives a category of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub aifs: Duration,
    cw_min: u32,
    cw_max: u32,
    /// The longest PPDU; `None` where a transmission opportunity is one PPDU, however long.
    pub txop: Option<Duration>,
}

impl Access {
    pub(super) fn new(category: AccessCategory, is_access_point: bool) -> Access {
        let (aifsn, cw_min, cw_max, txop_us) = match category {
            AccessCategory::Background => (7, 15, 1_023, 0),
            // hostapd's default for access points.
            AccessCategory::BestEffort if is_access_point => (3, 15, 63, 0),
            AccessCategory::BestEffort => (3, 15, 1_023, 0),
            AccessCategory::Video => (2, 7, 15, 4_096),
            AccessCategory::Voice => (2, 3, 7, 2_080),
        };
        let txop = (txop_us > 0).then(|| Duration::from_micros(txop_us));
        Access { aifs: SIFS + SLOT * aifsn, cw_min, cw_max, txop }
    }
}

/// The backoff of a category of a device. `passed` are the slots that its class has counted so far.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    access: Access,
    cw: u32,
    /// How many slots have passed when it has run down.
    runs_down: u64,
}

impl Backoff {
    /// One that has not drawn yet: its owner has never transmitted.
    pub(super) fn new(access: Access) -> Backoff {
        Backoff { access, cw: access.cw_min, runs_down: 0 }
    }

    /// How many slots have passed when it has run down.
    pub(super) fn runs_down(&self) -> u64 {
        self.runs_down
    }

    /// Its owner has something to send now, for the first time since it sent everything, and the medium is busy.
    pub(super) fn defer(&mut self, passed: u64, rng: &mut Rng) {
        if self.runs_down <= passed {
            self.draw(passed, rng);
        }
    }

    /// An own transmission was answered.
    pub(super) fn succeed(&mut self, passed: u64, rng: &mut Rng) {
        self.cw = self.access.cw_min;
        self.draw(passed, rng);
    }

    /// An own transmission was not answered.
    pub(super) fn fail(&mut self, passed: u64, rng: &mut Rng) {
        self.cw = (2 * self.cw + 1).min(self.access.cw_max);
        self.draw(passed, rng);
    }

    fn draw(&mut self, passed: u64, rng: &mut Rng) {
        self.runs_down = passed + u64::from(rng.below(self.cw + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Backoff {
        /// One that runs down when so many slots have passed.
        pub(in crate::wifi) fn at(slots: u64, access: Access) -> Backoff {
            Backoff { runs_down: slots, ..Backoff::new(access) }
        }
    }

    #[test]
    fn the_window_doubles_with_every_failure_up_to_its_largest() {
        let mut rng = Rng::new(1);
        let windows = |access: Access, rng: &mut Rng| {
            let mut backoff = Backoff::new(access);
            (0..8)
                .map(|_| {
                    backoff.fail(0, rng);
                    backoff.cw
                })
                .collect::<Vec<_>>()
        };
        let station = Access::new(AccessCategory::BestEffort, false);
        assert_eq!(windows(station, &mut rng), [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        assert_eq!(windows(Access::new(AccessCategory::BestEffort, true), &mut rng)[..3], [31, 63, 63]);
        let mut backoff = Backoff::new(station);
        backoff.fail(0, &mut rng);
        backoff.succeed(0, &mut rng);
        assert_eq!(backoff.cw, 15);
    }
}
