//! Remembered paths: careful resume (RFC 9959).
//!
//! A sender that knows the window and the round-trip time of an earlier connection over the same path need not search
//! for the rate by slow start. It confirms the round-trip time with its initial data (*reconnaissance*), jumps to half
//! of the saved window, paced over a round trip (*unvalidated*), and falls back to what was really in flight until the
//! packets of the jump are acknowledged (*validating*). Losses and marks on the way make it give up all but half of
//! what is known to have arrived (*safe retreat*). Whatever is not as expected ends in the *normal* phase, where it
//! does nothing.
//!
//! `PipeSize` counts what the path is known to carry: what was in flight at the jump, and everything that is
//! acknowledged after it.

/// Round-trip times below this part of the saved one belong to another path.
const RTT_DIVISOR: u64 = 2;
/// Round-trip times above so many saved ones belong to another path.
const RTT_FACTOR: u64 = 10;

/// What a sender that resumes is doing. Packets are told by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing, or no more: the controller is alone.
    #[default]
    Normal,
    /// The path is to be confirmed by the initial data.
    Reconnaissance,
    /// The window has jumped, and nothing of the jump is acknowledged.
    Unvalidated {
        /// The first packet of the jump.
        first: u32,
        /// When the window jumped.
        since_us: u64,
    },
    /// Packets of the jump are acknowledged.
    Validating {
        /// The last packet of the jump.
        last: u32,
    },
    /// The jump met congestion.
    SafeRetreat {
        /// The last packet of the jump, whose ACK ends the retreat.
        last: u32,
        /// The largest window until then.
        most: u32,
    },
}

/// The connection when there is more to send than its window allows.
#[derive(Clone, Copy, Debug)]
pub struct Limited {
    /// Window in packets.
    pub cwnd: u32,
    /// Packets in flight.
    pub in_flight: u32,
    /// The initial window is acknowledged.
    pub initial_data_acked: bool,
    /// Smallest round-trip time in microseconds.
    pub rtt_us: u64,
    /// Number of the next packet.
    pub next_number: u32,
    /// The present time in microseconds.
    pub now_us: u64,
}

/// An ACK for new packets.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Packets that it acknowledges.
    pub packets: u32,
    /// The largest number among them.
    pub largest: u32,
    /// Packets in flight after it.
    pub in_flight: u32,
    /// Smallest round-trip time in microseconds.
    pub rtt_us: u64,
    /// Number of the next packet.
    pub next_number: u32,
    /// The present time in microseconds.
    pub now_us: u64,
}

/// What an ACK changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The window becomes so many packets.
    Window(u32),
    /// The slow-start threshold becomes so many packets.
    Threshold(u32),
}

/// What congestion leaves of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retreat {
    /// Packets that the path is known to have carried: the window that is reduced.
    pub validated: u32,
    /// The largest window from now on.
    pub most: u32,
}

/// The state of careful resume.
#[derive(Clone, Debug, Default)]
pub struct CarefulResume {
    phase: Phase,
    /// Window to jump to: half of the saved one.
    jump: u32,
    saved_rtt_us: u64,
    /// `PipeSize` in packets.
    pipe_size: u32,
}

impl CarefulResume {
    /// Resumes from a window of `saved_cwnd` packets at a round-trip time of `saved_rtt_us`; 0 packets: nothing is
    /// known.
    pub fn new(saved_cwnd: u32, saved_rtt_us: u64) -> CarefulResume {
        let phase = if saved_cwnd == 0 { Phase::Normal } else { Phase::Reconnaissance };
        CarefulResume { phase, jump: saved_cwnd / 2, saved_rtt_us, pipe_size: 0 }
    }

    /// What it does now.
    #[inline]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The window to which it has jumped, as long as nothing of the jump is acknowledged.
    #[inline]
    pub fn jump(&self) -> Option<u32> {
        matches!(self.phase, Phase::Unvalidated { .. }).then_some(self.jump)
    }

    /// There is more to send than the window allows. Returns the window to jump to, if the path is the remembered one
    /// and slow start has not come as far.
    pub fn limited(&mut self, sender: Limited) -> Option<u32> {
        if self.phase != Phase::Reconnaissance || !sender.initial_data_acked {
            return None;
        }
        let is_confirmed = sender.rtt_us >= self.saved_rtt_us / RTT_DIVISOR
            && sender.rtt_us <= self.saved_rtt_us.saturating_mul(RTT_FACTOR);
        if !is_confirmed || self.jump <= sender.cwnd {
            self.phase = Phase::Normal;
            return None;
        }
        self.pipe_size = sender.in_flight;
        self.phase = Phase::Unvalidated { first: sender.next_number, since_us: sender.now_us };
        Some(self.jump)
    }

    /// Packets are acknowledged, none of which shows congestion.
    pub fn acked(&mut self, ack: Acked) -> Option<Step> {
        if matches!(self.phase, Phase::Normal | Phase::Reconnaissance) {
            return None;
        }
        self.pipe_size = self.pipe_size.saturating_add(ack.packets);
        match self.phase {
            Phase::Unvalidated { first, since_us } => {
                let is_over = ack.largest >= first || ack.now_us > since_us.saturating_add(ack.rtt_us);
                is_over.then(|| Step::Window(self.end_jump(ack)))
            }
            Phase::Validating { last } if ack.largest >= last => {
                self.phase = Phase::Normal;
                None
            }
            Phase::SafeRetreat { last, .. } if ack.largest >= last => {
                self.phase = Phase::Normal;
                Some(Step::Threshold(self.pipe_size))
            }
            _ => None,
        }
    }

    /// The jump has lasted a round trip. Returns the window from now on.
    fn end_jump(&mut self, ack: Acked) -> u32 {
        if ack.in_flight <= self.pipe_size {
            // The sender had little to send; nothing beyond what has arrived is in question.
            self.phase = Phase::Normal;
            return self.pipe_size;
        }
        self.phase = Phase::Validating { last: ack.next_number - 1 };
        ack.in_flight
    }

    /// Losses or marks; the window will not fall below `least` packets. Returns what is left of a jump.
    pub fn congested(&mut self, next_number: u32, least: u32) -> Option<Retreat> {
        let last = match self.phase {
            Phase::Normal | Phase::SafeRetreat { .. } => return None,
            Phase::Reconnaissance => {
                self.phase = Phase::Normal;
                return None;
            }
            Phase::Unvalidated { .. } => next_number - 1,
            Phase::Validating { last } => last,
        };
        let most = (self.pipe_size / 2).max(least);
        self.phase = Phase::SafeRetreat { last, most };
        Some(Retreat { validated: self.pipe_size.max(least), most })
    }

    /// The largest window while it retreats.
    #[inline]
    pub fn most(&self) -> Option<u32> {
        match self.phase {
            Phase::SafeRetreat { most, .. } => Some(most),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_US: u64 = 50_000;

    /// 20 packets in flight after the initial 10 are acknowledged; 200 packets are remembered.
    const LIMITED: Limited = Limited {
        cwnd: 20,
        in_flight: 20,
        initial_data_acked: true,
        rtt_us: RTT_US,
        next_number: 30,
        now_us: 2 * RTT_US,
    };

    fn jumped() -> CarefulResume {
        let mut resume = CarefulResume::new(200, RTT_US);
        assert_eq!(resume.limited(LIMITED), Some(100));
        resume
    }

    /// An ACK for one packet when packets below `next_number` were sent.
    fn ack(largest: u32, next_number: u32) -> Acked {
        let now_us = 3 * RTT_US;
        Acked { packets: 1, largest, in_flight: next_number - largest - 1, rtt_us: RTT_US, next_number, now_us }
    }

    #[test]
    fn the_window_jumps_to_half_of_the_saved_one_once_the_initial_data_is_acknowledged() {
        let mut resume = CarefulResume::new(200, RTT_US);
        assert_eq!(resume.limited(Limited { initial_data_acked: false, ..LIMITED }), None);
        assert_eq!(resume.phase(), Phase::Reconnaissance);
        assert_eq!(resume.limited(LIMITED), Some(100));
        assert_eq!(resume.phase(), Phase::Unvalidated { first: 30, since_us: 2 * RTT_US });
        assert_eq!(resume.limited(LIMITED), None, "it jumps once");
    }

    #[test]
    fn a_round_trip_below_half_or_above_ten_times_the_saved_one_is_another_path() {
        let phase = |rtt_us: u64| {
            let mut resume = CarefulResume::new(200, RTT_US);
            resume.limited(Limited { rtt_us, ..LIMITED });
            resume.phase()
        };
        for rtt_us in [RTT_US / 2, RTT_US, 10 * RTT_US] {
            assert_ne!(phase(rtt_us), Phase::Normal, "{rtt_us}");
        }
        for rtt_us in [RTT_US / 2 - 1, 10 * RTT_US + 1] {
            assert_eq!(phase(rtt_us), Phase::Normal, "{rtt_us}");
        }
    }

    #[test]
    fn nothing_is_resumed_where_slow_start_has_come_as_far_or_the_initial_data_met_congestion() {
        let mut resume = CarefulResume::new(200, RTT_US);
        assert_eq!(resume.limited(Limited { cwnd: 100, ..LIMITED }), None);
        assert_eq!(resume.phase(), Phase::Normal);
        let mut resume = CarefulResume::new(200, RTT_US);
        assert_eq!(resume.congested(12, 2), None);
        assert_eq!((resume.phase(), resume.limited(LIMITED)), (Phase::Normal, None));
    }

    #[test]
    fn the_first_ack_for_the_jump_sets_the_window_to_what_is_in_flight_and_the_last_ends_it() {
        let mut resume = jumped();
        for number in 10..30 {
            let early = Acked { now_us: 2 * RTT_US + 1_000, ..ack(number, 100) };
            assert_eq!(resume.acked(early), None, "sent before the jump");
        }
        assert_eq!(resume.acked(ack(30, 110)), Some(Step::Window(79)));
        assert_eq!(resume.phase(), Phase::Validating { last: 109 });
        assert_eq!(resume.acked(ack(108, 300)), None);
        assert_eq!(resume.acked(ack(109, 300)), None);
        assert_eq!(resume.phase(), Phase::Normal);
    }

    #[test]
    fn a_jump_lasts_no_longer_than_a_round_trip() {
        let mut resume = jumped();
        let late = Acked { now_us: 3 * RTT_US + 1, ..ack(12, 110) };
        assert_eq!(resume.acked(late), Some(Step::Window(97)));
        assert_eq!(resume.phase(), Phase::Validating { last: 109 });
    }

    #[test]
    fn a_sender_without_more_data_than_the_pipe_holds_goes_on_with_the_pipe() {
        let mut resume = jumped();
        // 20 were in flight and 5 more have left; 21 are acknowledged.
        for number in 10..30 {
            resume.acked(Acked { now_us: 2 * RTT_US + 1_000, ..ack(number, 35) });
        }
        assert_eq!(resume.acked(ack(30, 35)), Some(Step::Window(41)));
        assert_eq!(resume.phase(), Phase::Normal);
    }

    #[test]
    fn congestion_leaves_half_of_what_has_arrived_and_the_threshold_is_all_of_it() {
        let mut resume = jumped();
        for number in 10..30 {
            resume.acked(Acked { now_us: 2 * RTT_US + 1_000, ..ack(number, 100) });
        }
        resume.acked(ack(30, 110));
        // 20 at the jump, and 21 since.
        assert_eq!(resume.congested(115, 2), Some(Retreat { validated: 41, most: 20 }));
        assert_eq!((resume.congested(115, 2), resume.most()), (None, Some(20)));
        assert_eq!(resume.acked(Acked { packets: 9, ..ack(60, 115) }), None);
        assert_eq!(resume.acked(ack(109, 115)), Some(Step::Threshold(51)));
        assert_eq!((resume.phase(), resume.most()), (Phase::Normal, None));
    }

    #[test]
    fn congestion_before_the_first_ack_for_the_jump_makes_all_that_was_sent_its_packets() {
        let mut resume = jumped();
        assert_eq!(resume.congested(90, 2), Some(Retreat { validated: 20, most: 10 }));
        assert_eq!(resume.phase(), Phase::SafeRetreat { last: 89, most: 10 });
    }

    #[test]
    fn who_remembers_nothing_is_left_alone() {
        let mut resume = CarefulResume::new(0, 0);
        assert_eq!((resume.limited(LIMITED), resume.acked(ack(40, 50)), resume.congested(50, 2)), (None, None, None));
    }
}
