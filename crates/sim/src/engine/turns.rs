//! The event loop, which a whole run and a share of one have in common.

use super::Engine;
use crate::RunError;
use crate::agenda::Due;
use crate::packet::Packet;

/// Events between two checks whether the run has to stop.
const EVENTS_PER_CHECK: u64 = 8;

/// A run, or a share of one: has an engine, and may do more about events than that.
pub(super) trait Events<'a> {
    /// Its engine.
    fn engine(&mut self) -> &mut Engine<'a>;

    /// It is time to take out what a medium has; `packet` is a place for it.
    fn medium_event(&mut self, medium: usize, packet: &mut Packet);

    /// It is the turn of an end of a flow, or of its application.
    fn flow_event(&mut self, flow: usize, due: Due);

    /// The clock has done something.
    fn note_clock_event(&mut self) {}
}

impl<'a> Events<'a> for Engine<'a> {
    #[inline(always)]
    fn engine(&mut self) -> &mut Engine<'a> {
        self
    }

    #[inline(always)]
    fn medium_event(&mut self, medium: usize, packet: &mut Packet) {
        self.take_out(medium, packet);
    }

    #[inline(always)]
    fn flow_event(&mut self, flow: usize, due: Due) {
        self.take_turn(flow, due.turn());
    }
}

/// Handles one event after the other until the end of the run, or until its clock stops it; returns how many there
/// were.
#[inline(never)]
pub(super) fn turns<'a>(run: &mut impl Events<'a>) -> Result<u64, RunError> {
    let mut packet = Packet::default();
    let mut turns = 0;
    loop {
        let engine = run.engine();
        if engine.must_stop(EVENTS_PER_CHECK) {
            return Err(engine.why_stopped());
        }
        for turn in 0..EVENTS_PER_CHECK {
            let engine = run.engine();
            let (medium, medium_due) = engine.medium_agenda.next();
            let (flow, due) = engine.flow_agenda.next();
            let flow_due = due.time();
            if medium_due.min(flow_due) >= engine.clock.next() {
                engine.check_faults()?;
                if !engine.clock_event() {
                    // A burst that was cut short may have left nothing to do until the end.
                    return if engine.must_stop(turn) { Err(engine.why_stopped()) } else { Ok(turns + turn) };
                }
                run.note_clock_event();
            } else if medium_due <= flow_due {
                engine.reach(medium_due);
                run.medium_event(medium, &mut packet);
            } else {
                engine.reach(flow_due);
                run.flow_event(flow, due);
            }
        }
        turns += EVENTS_PER_CHECK;
    }
}
