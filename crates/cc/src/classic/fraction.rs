//! Windows in fractions of a packet, for controllers that are defined in real numbers.

use dumbbell_cc_contract::Control;

/// What a window of whole packets is short of: the fraction that has not become a packet yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fraction(f64);

impl Fraction {
    /// Changes the window by `packets`, within these bounds; where they contradict each other, `floor` counts. A
    /// decrease ends slow start: it does not come back to where it was in one.
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between what 32 bits hold")]
    pub(super) fn change(&mut self, control: &mut Control, packets: f64, floor: u32, ceiling: u32) {
        let window = (self.window(control) + packets).min(f64::from(ceiling)).max(f64::from(floor));
        control.cwnd = window as u32;
        self.0 = window - window.floor();
        if packets < 0.0 {
            control.ssthresh = control.ssthresh.min(control.cwnd);
        }
    }

    /// The window with its fraction.
    #[inline]
    pub(super) fn window(self, control: &Control) -> f64 {
        f64::from(control.cwnd) + self.0
    }
}
