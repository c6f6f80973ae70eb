//! Until when segments may be given to a receiver before they arrive.

use dumbbell_units::Time;

/// Until when nobody looks at a receiver from outside.
///
/// A receiver that holds back its ACK does nothing that another component could notice until that ACK leaves. Segments
/// that arrive until then may be given to it at once, which is quicker than one event a packet. This must end where
/// somebody reads the receiver's counters: when a sample is taken, when the measured interval begins or ends, when the
/// experiment changes, when the run is over. The engine knows these instants, and the first of them is the horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon(Time);

impl Horizon {
    /// Somebody may look at any time: every segment is given when it arrives.
    pub const NOW: Horizon = Horizon(Time::ZERO);

    /// Nobody looks before `time`.
    #[inline]
    pub fn at(time: Time) -> Horizon {
        Horizon(time)
    }

    /// The instant before which a segment has to arrive to be given early to a receiver that sends no ACK until
    /// `silent_until`.
    #[inline]
    pub(crate) fn within(self, silent_until: Time) -> Time {
        self.0.min(silent_until)
    }
}
