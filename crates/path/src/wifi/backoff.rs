//! Who transmits when: the distributed coordination function with EDCA's categories.
//!
//! When the medium has been idle for AIFS, each further slot lowers a contender's backoff by one; at zero it transmits.
//! Others keep what is left of theirs and go on when the medium has been idle for AIFS again; the slot in which somebody
//! begins to transmit counts (IEEE 802.11-2020, section 10.23.2.4: the counter is lowered at the boundary of a slot). After each own
//! exchange a new backoff is drawn, whether there is more to send or not, so that who comes to have something to send
//! later and finds the medium idle transmits at once.

use super::parameters::AccessCategory;
use super::phy::{SIFS, SLOT};
use dumbbell_units::{Duration, Rng, Time};

/// What EDCA gives a category of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    aifs: Duration,
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

/// The backoff of a category of a device.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    access: Access,
    cw: u32,
    /// Idle slots that are left.
    slots: u32,
}

impl Backoff {
    /// One that has not drawn yet: its owner has never transmitted.
    pub(super) fn new(access: Access) -> Backoff {
        Backoff { access, cw: access.cw_min, slots: 0 }
    }

    /// When it has run down, if the medium stays idle, which it is since `idle_since`.
    pub(super) fn expires(&self, idle_since: Time) -> Time {
        idle_since + self.access.aifs + SLOT * u64::from(self.slots)
    }

    /// Others begin to transmit at `now`, and the medium has been idle since `idle_since`.
    pub(super) fn freeze(&mut self, idle_since: Time, now: Time) {
        let counts_from = idle_since + self.access.aifs;
        if now < counts_from {
            return;
        }
        let passed = now.since(counts_from).as_nanos() / SLOT.as_nanos() + 1;
        self.slots = self.slots.saturating_sub(u32::try_from(passed).unwrap_or(u32::MAX));
    }

    /// Its owner has something to send now, for the first time since it sent everything, and the medium is busy.
    pub(super) fn defer(&mut self, rng: &mut Rng) {
        if self.slots == 0 {
            self.draw(rng);
        }
    }

    /// An own transmission was answered.
    pub(super) fn succeed(&mut self, rng: &mut Rng) {
        self.cw = self.access.cw_min;
        self.draw(rng);
    }

    /// An own transmission was not answered.
    pub(super) fn fail(&mut self, rng: &mut Rng) {
        self.cw = (2 * self.cw + 1).min(self.access.cw_max);
        self.draw(rng);
    }

    fn draw(&mut self, rng: &mut Rng) {
        self.slots = rng.below(self.cw + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    fn with_slots(slots: u32) -> Backoff {
        Backoff { slots, ..Backoff::new(Access::new(AccessCategory::BestEffort, false)) }
    }

    #[test]
    fn slots_count_from_43_us_of_silence_on() {
        assert_eq!(with_slots(0).expires(at(100)), at(143));
        assert_eq!(with_slots(5).expires(at(100)), at(143 + 45));
    }

    #[test]
    fn a_loser_keeps_the_slots_that_are_left() {
        let mut backoff = with_slots(5);
        backoff.freeze(at(100), at(143 + 9));
        assert_eq!(backoff.slots, 3);
        backoff.freeze(at(200), at(220));
        assert_eq!(backoff.slots, 3, "the medium was not idle for AIFS");
        backoff.freeze(at(300), at(343));
        assert_eq!(backoff.slots, 2, "the first slot begins with the end of AIFS");
        backoff.freeze(at(400), at(1_000));
        assert_eq!(backoff.slots, 0);
    }

    #[test]
    fn the_window_doubles_with_every_failure_up_to_its_largest() {
        let mut rng = Rng::new(1);
        let windows = |access: Access, rng: &mut Rng| {
            let mut backoff = Backoff::new(access);
            (0..8)
                .map(|_| {
                    backoff.fail(rng);
                    backoff.cw
                })
                .collect::<Vec<_>>()
        };
        let station = Access::new(AccessCategory::BestEffort, false);
        assert_eq!(windows(station, &mut rng), [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        assert_eq!(windows(Access::new(AccessCategory::BestEffort, true), &mut rng)[..3], [31, 63, 63]);
        let mut backoff = Backoff::new(station);
        backoff.fail(&mut rng);
        backoff.succeed(&mut rng);
        assert_eq!(backoff.cw, 15);
    }
}
