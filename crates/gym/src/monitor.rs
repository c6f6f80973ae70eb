//! What a sender sees of its connection, from one monitor interval to the next.

use dumbbell_cc::{Control, RateSample, View};
use dumbbell_units::Time;

/// Collects while an interval lasts. It is told of every ACK.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    begin: Time,
    before: Counts,
    acks: u64,
    /// Of the round-trip times: how many, and their sums with and without the instants at which they came.
    rtts: f64,
    rtt_s: f64,
    at_s: f64,
    at_at: f64,
    at_rtt: f64,
    /// The latest valid sample of the delivery rate.
    rate_sample_mbps: f64,
    /// Over the connection so far.
    min_rtt_s: f64,
    max_delivery_mbps: f64,
    latest_rtt_s: f64,
}

/// Totals of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sent: u64,
    delivered: u64,
    lost: u64,
    marked: u64,
}

impl Counts {
    fn of(view: &View) -> Counts {
        // Whatever has left has been delivered, is lost, or is in flight.
        let sent = view.delivered + view.lost + u64::from(view.in_flight());
        Counts { sent, delivered: view.delivered, lost: view.lost, marked: view.delivered_ce }
    }
}

/// What a sender saw in an interval. Packets carry a full segment each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Its length in seconds.
    pub length_s: f64,
    /// Packets that left.
    pub sent: f64,
    /// Packets whose delivery was reported.
    pub delivered: f64,
    /// Packets that the sender declared lost.
    pub lost: f64,
    /// Delivered packets that had a congestion mark.
    pub marked: f64,
    /// ACKs.
    pub acks: f64,
    /// Mean of the round-trip times, in seconds; the latest known where none was measured.
    pub rtt_s: f64,
    /// Seconds by which the round-trip time rises a second: the slope of a line through its samples.
    pub rtt_gradient: f64,
    /// Smallest round-trip time of the connection so far, in seconds.
    pub min_rtt_s: f64,
    /// Smoothed round-trip time in seconds.
    pub srtt_s: f64,
    /// Payload of the delivered packets over the length, in Mbit/s.
    pub delivery_mbps: f64,
    /// The largest of these of the connection so far.
    pub max_delivery_mbps: f64,
    /// The latest sample of the delivery rate, in Mbit/s.
    pub rate_sample_mbps: f64,
    /// Payload of the packets that left over the length, in Mbit/s.
    pub send_mbps: f64,
    /// Congestion window in packets at the end.
    pub cwnd: f64,
    /// Packets in flight at the end.
    pub in_flight: f64,
    /// Pacing rate in Mbit/s at the end.
    pub pacing_mbps: f64,
    /// Payload bytes of a packet.
    pub mss: f64,
}

impl Monitor {
    /// An ACK has been processed.
    #[inline]
    pub fn note(&mut self, view: &View, sample: &RateSample) {
        self.acks += 1;
        if sample.rtt_us >= 0 {
            let rtt = sample.rtt_us as f64 * 1e-6;
            let at = view.now.since(self.begin).as_nanos() as f64 * 1e-9;
            self.rtts += 1.0;
            self.rtt_s += rtt;
            self.at_s += at;
            self.at_at += at * at;
            self.at_rtt += at * rtt;
            self.latest_rtt_s = rtt;
            self.min_rtt_s = if self.min_rtt_s == 0.0 { rtt } else { self.min_rtt_s.min(rtt) };
        }
        if sample.delivered > 0 && sample.interval_us > 0 {
            let bits = f64::from(sample.delivered) * f64::from(view.mss) * 8.0;
            self.rate_sample_mbps = bits / sample.interval_us as f64;
        }
    }

    /// The connection is there: the first interval begins.
    pub fn begin(&mut self, view: &View) {
        self.latest_rtt_s = f64::from(view.srtt_us_x8) / 8e6;
        self.min_rtt_s = self.latest_rtt_s;
        self.restart(view.now, view);
    }

    fn restart(&mut self, now: Time, view: &View) {
        let Monitor { rate_sample_mbps, min_rtt_s, max_delivery_mbps, latest_rtt_s, .. } = *self;
        let kept = Monitor { rate_sample_mbps, min_rtt_s, max_delivery_mbps, latest_rtt_s, ..Monitor::default() };
        *self = Monitor { begin: now, before: Counts::of(view), ..kept };
    }

    /// When the present interval began.
    pub fn begun(&self) -> Time {
        self.begin
    }

    /// The interval ends at `now`, and the next one begins.
    pub fn end(&mut self, now: Time, view: &View, control: &Control) -> Interval {
        let (before, after) = (self.before, Counts::of(view));
        let length_s = now.since(self.begin).as_nanos() as f64 * 1e-9;
        let packet_megabits = f64::from(view.mss) * 8e-6;
        let per_s = |packets: f64| if length_s > 0.0 { packets * packet_megabits / length_s } else { 0.0 };
        // What was declared lost may be delivered after all.
        let [sent, delivered, lost, marked] = [
            (after.sent, before.sent),
            (after.delivered, before.delivered),
            (after.lost, before.lost),
            (after.marked, before.marked),
        ]
        .map(|(after, before)| after.saturating_sub(before) as f64);
        let delivery_mbps = per_s(delivered);
        self.max_delivery_mbps = self.max_delivery_mbps.max(delivery_mbps);
        let spread = self.rtts * self.at_at - self.at_s * self.at_s;
        let slope = (self.rtts * self.at_rtt - self.at_s * self.rtt_s) / spread;
        let interval = Interval {
            length_s,
            sent,
            delivered,
            lost,
            marked,
            acks: self.acks as f64,
            rtt_s: if self.rtts > 0.0 { self.rtt_s / self.rtts } else { self.latest_rtt_s },
            rtt_gradient: if self.rtts > 1.0 && spread > 1e-12 { slope } else { 0.0 },
            min_rtt_s: self.min_rtt_s,
            srtt_s: f64::from(view.srtt_us_x8) / 8e6,
            delivery_mbps,
            max_delivery_mbps: self.max_delivery_mbps,
            rate_sample_mbps: self.rate_sample_mbps,
            send_mbps: per_s(sent),
            cwnd: f64::from(control.cwnd),
            in_flight: f64::from(view.in_flight()),
            pacing_mbps: control.pacing_rate as f64 * 8e-6,
            mss: f64::from(view.mss),
        };
        self.restart(now, view);
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_units::Duration;

    fn at(millis: u64) -> View {
        let now = Time::ZERO + Duration::from_millis(millis);
        View { now, srtt_us_x8: 8 * 40_000, ..View::new(1_250) }
    }

    #[test]
    fn an_interval_counts_what_happened_in_it_and_fits_a_line_through_its_round_trips() {
        let mut monitor = Monitor::default();
        monitor.begin(&View { delivered: 7, ..at(100) });
        for (millis, rtt_us) in [(110, 40_000), (120, 41_000), (130, 42_000)] {
            let sample = RateSample { rtt_us, delivered: 10, interval_us: 10_000, ..RateSample::invalid() };
            monitor.note(&at(millis), &sample);
        }
        let view = View { delivered: 27, lost: 5, packets_out: 3, delivered_ce: 2, ..at(150) };
        let control = Control { cwnd: 12, pacing_rate: 125_000, ..Control::default() };
        let seen = monitor.end(view.now, &view, &control);
        assert_eq!((seen.sent, seen.delivered, seen.lost, seen.marked, seen.acks), (28.0, 20.0, 5.0, 2.0, 3.0));
        assert!((seen.delivery_mbps - 4.0).abs() < 1e-9 && (seen.rate_sample_mbps - 10.0).abs() < 1e-9);
        assert!((seen.rtt_s - 0.041).abs() < 1e-12 && (seen.min_rtt_s - 0.04).abs() < 1e-12);
        assert!((seen.rtt_gradient - 0.1).abs() < 1e-9, "a millisecond every ten: {}", seen.rtt_gradient);
        assert_eq!((seen.cwnd, seen.in_flight, seen.pacing_mbps), (12.0, 3.0, 1.0));

        let view = View { now: Time::ZERO + Duration::from_millis(200), ..view };
        let empty = monitor.end(view.now, &view, &control);
        assert_eq!((empty.sent, empty.acks, empty.rtt_gradient), (0.0, 0.0, 0.0));
        assert!((empty.rtt_s - 0.042).abs() < 1e-12, "the latest known");
        assert!((empty.max_delivery_mbps - 4.0).abs() < 1e-9 && (empty.length_s - 0.05).abs() < 1e-12);
    }

    #[test]
    fn an_ack_that_tells_nothing_counts_and_changes_nothing_else() {
        let mut monitor = Monitor::default();
        monitor.begin(&at(100));
        let sample = RateSample { rtt_us: 41_000, delivered: 10, interval_us: 10_000, ..RateSample::invalid() };
        monitor.note(&at(110), &sample);
        for nothing in [
            RateSample::invalid(),
            RateSample { delivered: 0, interval_us: 10_000, ..RateSample::invalid() },
            RateSample { delivered: 10, interval_us: 0, ..RateSample::invalid() },
        ] {
            monitor.note(&at(120), &nothing);
        }
        let seen = monitor.end(at(150).now, &at(150), &Control::default());
        assert_eq!((seen.acks, seen.rate_sample_mbps, seen.rtt_gradient), (4.0, 10.0, 0.0));
        assert!((seen.rtt_s - 0.041).abs() < 1e-12);
        // The smoothed round trip that the connection began with is the smallest so far.
        assert_eq!((seen.min_rtt_s, seen.srtt_s), (0.04, 0.04));
    }

    #[test]
    fn samples_at_one_instant_have_no_slope_and_an_interval_without_length_no_rate() {
        let mut monitor = Monitor::default();
        monitor.begin(&at(100));
        for rtt_us in [10_000, 40_000] {
            monitor.note(&at(110), &RateSample { rtt_us, ..RateSample::invalid() });
        }
        let later = View { delivered: 9, ..at(100) };
        let seen = monitor.end(at(100).now, &later, &Control::default());
        assert_eq!((seen.length_s, seen.delivered, seen.delivery_mbps, seen.send_mbps), (0.0, 9.0, 0.0, 0.0));
        assert_eq!((seen.rtt_gradient, seen.rtt_s, seen.min_rtt_s), (0.0, 0.025, 0.01));
        assert_eq!(monitor.begun(), at(100).now);
    }

    #[test]
    fn what_was_declared_lost_and_came_after_all_is_no_negative_count() {
        let mut monitor = Monitor::default();
        monitor.begin(&View { lost: 5, delivered: 10, ..at(100) });
        let seen = monitor.end(at(200).now, &View { lost: 3, delivered: 12, ..at(200) }, &Control::default());
        assert_eq!((seen.lost, seen.delivered, seen.sent), (0.0, 2.0, 0.0));
    }
}
