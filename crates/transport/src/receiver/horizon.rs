//! How far ahead an end may be given what arrives for it.

use dumbbell_units::Time;

/// Until when nobody looks at a receiver from outside.
///
/// A receiver that holds back its ACK does nothing that anybody else could notice until that ACK leaves. What arrives for
/// it until then may be given to it ahead of its time, all at once, which is quicker than one event a packet. That ends
/// where somebody looks: when a sample is taken, when the measured interval begins or ends, when the experiment changes,
/// when the run is over. Whoever drives the receiver knows these instants, and the first of them is the horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon(Time);

impl Horizon {
    /// Somebody may look at any time: nothing comes ahead of its time.
    pub const NOW: Horizon = Horizon(Time::ZERO);

    /// Nobody looks before `time`.
    #[inline]
    pub fn at(time: Time) -> Horizon {
        Horizon(time)
    }

    /// The instant before which something has to arrive to be given ahead of its time to a receiver that is silent until
    /// `silent_until`.
    #[inline]
    pub(crate) fn within(self, silent_until: Time) -> Time {
        self.0.min(silent_until)
    }
}
