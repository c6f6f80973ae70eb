//! When an ACK leaves: at once, because quick ACKs are left or something urgent happened, or with the delayed-ACK
//! timer, whose time adapts to the times between segments (`icsk_ack` of `struct inet_connection_sock`).

use super::rtt::ReceiverRtt;
use crate::TransportConfig;
use dumbbell_recovery::jiffies::Ticks;
use dumbbell_units::{Duration, Time};

/// Fewest quick ACKs that a tiny window allows.
const QUICK_ACKS_MIN: u32 = 2;
/// The delayed-ACK time before the first data, which begins the quick ACKs of a connection.
const NO_ATO: Duration = Duration::from_nanos(u64::MAX);

/// What decides when the next ACK leaves.
#[derive(Clone, Debug)]
pub(super) struct AckTiming {
    /// Quick ACKs left (`icsk_ack.quick`).
    quick: u32,
    /// The next ACK must leave at once (`ICSK_ACK_NOW`).
    is_due: bool,
    /// New data arrived since the last ACK (`ICSK_ACK_SCHED`).
    has_news: bool,
    /// Delayed-ACK time before bounds (`icsk_ack.ato`); [`NO_ATO`] before the first.
    ato: Duration,
    /// Deadline of the delayed ACK.
    delayed_until: Time,
    /// Deadline on the exact clock: of the compressed ACK (`compressed_ack_timer`), or of the reader, who sends the ACK
    /// that waits for it (`tcp_cleanup_rbuf`).
    exact_at: Time,
    /// Arrival of the last segment in order, at first of the ACK that ended the handshake (`icsk_ack.lrcvtime`);
    /// `NEVER` before that.
    last_data_at: Time,

    every: u32,
    /// PSH hastens an ACK.
    heeds_pushes: bool,
    quick_max: u32,
    delay_min: Duration,
    delay_max: Duration,
    rto_min: Duration,
    ticks: Ticks,
    /// When the wheel fired the latest timer whose slot was a single tick.
    latest_slot: Time,
    timer_wheel: bool,
}

impl AckTiming {
    pub fn new(config: &TransportConfig) -> AckTiming {
        AckTiming {
            quick: 0,
            is_due: false,
            has_news: false,
            ato: NO_ATO,
            delayed_until: Time::NEVER,
            exact_at: Time::NEVER,
            last_data_at: Time::NEVER,
            every: config.ack_every,
            heeds_pushes: config.ack_pushes,
            quick_max: config.quick_acks,
            delay_min: config.delayed_ack_min,
            delay_max: config.delayed_ack_max,
            rto_min: config.rto_min,
            ticks: Ticks::new(config.hz),
            latest_slot: Time::ZERO,
            timer_wheel: config.timer_wheel,
        }
    }

    /// The handshake ends at `now`, unless it has ended before; returns whether it does.
    pub fn accept(&mut self, now: Time) -> bool {
        let ends = self.last_data_at == Time::NEVER;
        if ends {
            self.last_data_at = now;
        }
        ends
    }

    /// Whether no data has come in order.
    #[inline(always)]
    pub fn awaits_first_data(&self) -> bool {
        self.ato == NO_ATO
    }

    /// The first data comes in order: it begins the quick ACKs of a connection that has told a window of `told`
    /// segments. They do not begin if data above a hole came first, which had quick ACKs of its own.
    pub fn begin(&mut self, told: u32) {
        self.ato = self.delay_min;
        self.allow_quick(told, u32::MAX);
    }

    /// Adapts the delayed-ACK time to the times between segments in order (`tcp_event_data_recv`).
    #[inline(always)]
    pub fn adapt_to_gap(&mut self, now: Time, rtt: &ReceiverRtt, told: impl FnOnce() -> u32) {
        let gap = now.since(self.last_data_at);
        let half_ato = Duration::from_nanos(self.ato.as_nanos() / 2);
        if self.is_short(gap) {
            self.ato = self.ato_of_quick_segment();
        } else if gap < self.ato {
            self.ato = (half_ato + gap).min(self.rto(rtt));
        } else if gap > self.rto(rtt) {
            // The sender paused and may restart with a small window.
            self.allow_quick(told(), u32::MAX);
        }
    }

    /// When the last segment in order came; [`Time::NEVER`] before the handshake has ended.
    #[inline(always)]
    pub fn last_data_at(&self) -> Time {
        self.last_data_at
    }

    /// A segment in order comes.
    #[inline(always)]
    pub fn note_data(&mut self, now: Time) {
        self.last_data_at = now;
    }

    /// So many segments have come quickly one after the other, the last of them at `last_at`.
    #[inline(always)]
    pub fn note_quick_segments(&mut self, segments: u32, last_at: Time) {
        self.last_data_at = last_at;
        for _ in 0..segments {
            let shorter = self.ato_of_quick_segment();
            if shorter == self.ato {
                return;
            }
            self.ato = shorter;
        }
    }

    /// The delayed-ACK time after a segment that came quickly after the one before it.
    #[inline(always)]
    fn ato_of_quick_segment(&self) -> Duration {
        Duration::from_nanos(self.ato.as_nanos() / 2) + Duration::from_nanos(self.delay_min.as_nanos() / 2)
    }

    /// Whether segments `gap` apart come quickly one after the other.
    #[inline(always)]
    pub fn is_short(&self, gap: Duration) -> bool {
        gap * 2 <= self.delay_min
    }

    /// Whether an ACK that leaves after `wait` leaves long before a delayed one.
    #[inline(always)]
    pub fn is_long_before_delayed(&self, wait: Duration) -> bool {
        wait * 2 <= self.delay_min.min(self.delay_max)
    }

    /// Allows up to `most` quick ACKs from now on, of a connection that has told a window of `told` segments
    /// (`tcp_incr_quickack`).
    fn allow_quick(&mut self, told: u32, most: u32) {
        let quick = (told / 2).max(QUICK_ACKS_MIN).min(most).min(self.quick_max);
        self.quick = self.quick.max(quick);
    }

    /// Acknowledges each of the next segments, up to `most`, without delay (`tcp_enter_quickack_mode`).
    pub fn start_quick(&mut self, told: u32, most: u32) {
        self.allow_quick(told, most);
        self.ato = self.delay_min;
    }

    /// The window grows: the next ACK is a quick one.
    #[inline(always)]
    pub fn note_growth(&mut self) {
        if self.quick_max > 0 {
            self.quick |= 1;
        }
    }

    /// Room is scarce: no quick ACKs are left.
    #[inline]
    pub fn end_quick(&mut self) {
        self.quick = 0;
    }

    /// Whether quick ACKs are left.
    #[inline(always)]
    pub fn is_quick(&self) -> bool {
        self.quick > 0
    }

    /// The next ACK must leave at once.
    #[inline]
    pub fn make_due(&mut self) {
        self.is_due = true;
    }

    /// Whether the next ACK must leave at once.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether PSH hastens an ACK.
    #[inline(always)]
    pub fn heeds_pushes(&self) -> bool {
        self.heeds_pushes
    }

    /// How many segments an ACK covers.
    #[inline(always)]
    pub fn every(&self) -> u32 {
        self.every
    }

    /// Whether `unacked` segments in order are acknowledged without delay (the first half of `__tcp_ack_snd_check`).
    #[inline(always)]
    pub fn is_urgent(&self, unacked: u32) -> bool {
        unacked >= self.every || self.quick > 0 || self.is_due
    }

    /// New data has arrived that no ACK tells of yet.
    #[inline(always)]
    pub fn note_news(&mut self) {
        self.has_news = true;
    }

    /// An ACK has told of all new data.
    #[inline]
    pub fn forget_news(&mut self) {
        self.has_news = false;
    }

    /// Whether new data has arrived that no ACK tells of yet.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.has_news
    }

    /// Arms the delayed-ACK timer (`tcp_send_delayed_ack`); true when it is about to expire, so that the ACK leaves
    /// now.
    #[inline(always)]
    pub fn delay(&mut self, now: Time, rtt: &ReceiverRtt) -> bool {
        let mut ato = self.ato;
        if ato > self.delay_min {
            ato = ato.min(rtt.base().max(self.delay_min));
        }
        ato = ato.min(self.delay_max);
        if self.delayed_until <= now + Duration::from_nanos(ato.as_nanos() / 4) {
            return true;
        }
        let due = now + ato;
        // Nearly always the timer before this one was in the same slot.
        let is_in_latest = due < self.latest_slot && self.latest_slot.since(due) <= self.ticks.length();
        let expiry = if is_in_latest { self.latest_slot } else { self.find_slot(now, due) };
        self.delayed_until = self.delayed_until.min(expiry);
        false
    }

    /// When a timer fires that is armed at `now` for `due`.
    #[inline(never)]
    fn find_slot(&mut self, now: Time, due: Time) -> Time {
        if !self.timer_wheel {
            return self.ticks.at_or_after(due);
        }
        let (slot, is_single) = self.ticks.wheel_at(now, due);
        if is_single {
            self.latest_slot = slot;
        }
        slot
    }

    /// Whether an ACK is delayed.
    #[inline]
    pub fn is_delayed(&self) -> bool {
        self.delayed_until != Time::NEVER
    }

    /// Whether the delayed ACK leaves at `now`.
    #[inline]
    pub fn is_delayed_over(&self, now: Time) -> bool {
        now >= self.delayed_until
    }

    /// The ACK leaves with the timer, which is due at `now`.
    pub fn put_off_to(&mut self, now: Time) {
        self.delayed_until = now;
    }

    /// The delayed ACK leaves because nothing came: the sender paused for longer than expected, so the next one waits
    /// longer (`tcp_delack_timer_handler`).
    pub fn lengthen(&mut self, rtt: &ReceiverRtt) {
        self.ato = (self.ato * 2).min(self.rto(rtt));
    }

    /// Wakes up at this instant of the exact clock, if not before.
    #[inline(always)]
    pub fn wake_by(&mut self, at: Time) {
        self.exact_at = self.exact_at.min(at);
    }

    /// Wakes up at no instant of the exact clock.
    pub fn forget_exact(&mut self) {
        self.exact_at = Time::NEVER;
    }

    /// The instant of the exact clock at which it wakes up.
    #[inline(always)]
    pub fn exact_at(&self) -> Time {
        self.exact_at
    }

    /// When the next of both timers is due.
    #[inline(always)]
    pub fn next_timer(&self) -> Time {
        self.delayed_until.min(self.exact_at)
    }

    /// An ACK leaves; no other is pending afterwards (`tcp_event_ack_sent`).
    #[inline(always)]
    pub fn note_sent(&mut self) {
        if self.has_news && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.delay_min;
            }
        }
        self.has_news = false;
        self.is_due = false;
        self.delayed_until = Time::NEVER;
        self.exact_at = Time::NEVER;
    }

    /// The retransmission timeout this end would use for its own data.
    fn rto(&self, rtt: &ReceiverRtt) -> Duration {
        let rtt = rtt.base();
        rtt + (rtt * 2).max(self.rto_min)
    }

    #[cfg(test)]
    pub fn set_ato(&mut self, ato: Duration) {
        self.ato = ato;
    }

    /// Quick ACKs left, and the delayed-ACK time.
    #[cfg(test)]
    pub fn state(&self) -> (u32, Duration) {
        (self.quick, self.ato)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RightSizingRule;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    /// The timing of a connection of 100 ms whose first data came at 100 ms, and its round-trip time.
    fn begun(told: u32) -> (AckTiming, ReceiverRtt) {
        let mut timing = AckTiming::new(&TransportConfig::default());
        let mut rtt = ReceiverRtt::new(1448, RightSizingRule::Linux);
        rtt.set_handshake(ms(100));
        assert!(timing.accept(at(100)) && !timing.accept(at(200)) && timing.awaits_first_data());
        timing.begin(told);
        (timing, rtt)
    }

    #[test]
    fn half_the_window_is_acknowledged_quickly_at_least_two_and_at_most_sixteen_segments() {
        for (told, quick) in [(1, 2), (10, 5), (45, 16)] {
            assert_eq!(begun(told).0.state(), (quick, ms(40)));
        }
    }

    #[test]
    fn a_quick_ack_is_used_up_by_an_ack_with_news_alone() {
        let (mut timing, _) = begun(4);
        timing.note_sent();
        assert_eq!(timing.state().0, 2, "a duplicate ACK");
        timing.note_news();
        timing.note_sent();
        assert_eq!(timing.state().0, 1);
        timing.note_growth();
        assert!(timing.is_urgent(1));
        timing.end_quick();
        assert!(!timing.is_urgent(1) && timing.is_urgent(2));
    }

    #[test]
    fn the_delay_follows_the_gaps_and_a_pause_brings_quick_acks() {
        let (mut timing, rtt) = begun(45);
        timing.end_quick();
        timing.note_data(at(100));
        timing.adapt_to_gap(at(130), &rtt, || 45);
        assert_eq!(timing.state(), (0, ms(50)), "30 ms more than half of 40 ms");
        timing.note_data(at(130));
        timing.adapt_to_gap(at(131), &rtt, || 45);
        assert_eq!(timing.state(), (0, ms(45)), "half of it, and half of the smallest");
        timing.adapt_to_gap(at(430), &rtt, || 45);
        assert_eq!(timing.state(), (0, ms(45)), "no longer than the timeout of 300 ms");
        timing.adapt_to_gap(at(431), &rtt, || 45);
        assert_eq!(timing.state(), (16, ms(45)));
    }

    #[test]
    fn a_delayed_ack_leaves_at_once_where_the_timer_is_about_to_fire() {
        let (mut timing, rtt) = begun(45);
        assert!(!timing.delay(at(200), &rtt) && timing.is_delayed());
        let due = timing.next_timer();
        assert!((at(240)..=at(245)).contains(&due), "{due:?}");
        assert!(!timing.delay(at(220), &rtt) && timing.next_timer() == due, "the first one counts");
        assert!(timing.delay(at(231), &rtt), "less than a quarter is left");
        timing.wake_by(at(210));
        assert_eq!((timing.next_timer(), timing.exact_at()), (at(210), at(210)));
        timing.note_sent();
        assert_eq!(timing.next_timer(), Time::NEVER);
    }
}
