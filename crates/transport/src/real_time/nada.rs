//! The sender's half of NADA: from the congestion signal to rates (RFC 8698, section 4.3).

use super::{RealTimeConfig, Report};
use dumbbell_cc_contract::StandsFor;
use dumbbell_units::Duration;

/// `GAMMA_MAX`: by how much the rate exceeds what arrives, at most, while it ramps up.
const MAX_RAMP: f64 = 0.5;
/// `QBOUND`: the queue that a ramp-up may build, in milliseconds.
const RAMP_QUEUE_MS: f64 = 50.0;
/// `DFILT`: what the receiver's filters take, in milliseconds.
const FILTER_MS: f64 = 120.0;
/// `BETA_V`, `BETA_S`: how much what waits in the sender slows the encoder down and hastens packets.
const ENCODER_BACKLOG: f64 = 0.1;
const SENDING_BACKLOG: f64 = 0.1;

/// The reference rate and what follows from it. Rates are in bits per second.
pub(super) struct Nada {
    fps: f64,
    min: f64,
    max: f64,
    /// Time from one report to the next, in milliseconds.
    delta_ms: f64,
    reference_ms: f64,
    priority: f64,
    kappa: f64,
    eta: f64,
    tau_ms: f64,
    /// `r_ref`.
    reference_rate: f64,
    /// `x_prev`.
    last_signal_ms: f64,
}

impl Nada {
    pub(super) fn new(config: &RealTimeConfig) -> Nada {
        let min = config.min_rate.as_bits_per_sec() as f64;
        Nada {
            fps: f64::from(config.fps),
            min,
            max: config.max_rate.as_bits_per_sec() as f64,
            delta_ms: in_ms(config.feedback),
            reference_ms: in_ms(config.reference),
            priority: config.priority,
            kappa: config.kappa,
            eta: config.eta,
            tau_ms: in_ms(config.tau),
            reference_rate: min,
            last_signal_ms: 0.0,
        }
    }

    /// A report comes, `since_last` after the one before, over a path with this round-trip time.
    pub(super) fn on_report(&mut self, report: &Report, since_last: Duration, rtt: Duration) {
        let rate = self.reference_rate;
        let next = if report.may_ramp_up {
            let gamma = MAX_RAMP.min(RAMP_QUEUE_MS / (in_ms(rtt) + self.delta_ms + FILTER_MS));
            rate.max((1.0 + gamma) * report.receive_rate)
        } else {
            let offset = report.signal_ms - self.priority * self.reference_ms * self.max / rate;
            let change = report.signal_ms - self.last_signal_ms;
            let delta = in_ms(since_last) / self.tau_ms;
            rate - self.kappa * delta * (offset / self.tau_ms) * rate
                - self.kappa * self.eta * (change / self.tau_ms) * rate
        };
        self.reference_rate = next.max(self.min).min(self.max);
        self.last_signal_ms = report.signal_ms;
    }

    /// The rate of the encoder while so many bytes wait to leave (`r_vin`).
    pub(super) fn encoder_rate(&self, backlog: u64) -> f64 {
        (self.reference_rate - ENCODER_BACKLOG * 8.0 * backlog as f64 * self.fps).max(self.min)
    }

    /// The rate at which packets leave (`r_send`).
    pub(super) fn sending_rate(&self, backlog: u64) -> f64 {
        (self.reference_rate + SENDING_BACKLOG * 8.0 * backlog as f64 * self.fps).min(self.max)
    }
}

/// The rule of a call itself, for reports.
pub struct OwnRule;

impl StandsFor for OwnRule {
    const NAME: &'static str = "nada";
    const EXACT_NAME: &'static str = "nada-rfc8698";
    const SUMMARY: &'static str = "the rate of a call follows delay, loss and marks";
    const SOURCE: &'static str = "RFC 8698";
}

fn in_ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELTA: Duration = Duration::from_millis(100);
    const RTT: Duration = Duration::from_millis(80);

    fn report(may_ramp_up: bool, signal_ms: f64, receive_rate: f64) -> Report {
        Report { may_ramp_up, signal_ms, receive_rate, lost: 0, sent: 0, held: 0 }
    }

    #[test]
    fn an_empty_path_is_ramped_up_by_what_a_queue_of_50_ms_allows() {
        let mut nada = Nada::new(&RealTimeConfig::default());
        nada.on_report(&report(true, 0.0, 400_000.0), DELTA, RTT);
        assert!((nada.reference_rate - 400_000.0 * (1.0 + 50.0 / 300.0)).abs() < 1e-6);
        nada.on_report(&report(true, 0.0, 100_000.0), DELTA, RTT);
        assert!(nada.reference_rate > 400_000.0, "a ramp never goes down");
        nada.on_report(&report(true, 0.0, 1e9), DELTA, RTT);
        assert_eq!(nada.reference_rate, 1_500_000.0);
    }

    #[test]
    fn a_steady_signal_ends_at_the_rate_that_it_stands_for() {
        // x = PRIO XREF RMAX / r.
        for (signal_ms, rate) in [(20.0, 750_000.0), (50.0, 300_000.0), (10.0, 1_500_000.0)] {
            let mut nada = Nada::new(&RealTimeConfig::default());
            nada.on_report(&report(true, 0.0, 1e9), DELTA, RTT);
            for _ in 0..5_000 {
                nada.on_report(&report(false, signal_ms, 0.0), DELTA, RTT);
            }
            assert!((nada.reference_rate / rate - 1.0).abs() < 1e-3, "{signal_ms}: {}", nada.reference_rate);
        }
    }

    #[test]
    fn one_report_of_a_growing_queue_takes_off_what_the_formula_says() {
        let mut nada = Nada::new(&RealTimeConfig::default());
        nada.on_report(&report(true, 0.0, 1e9), DELTA, RTT);
        nada.on_report(&report(false, 40.0, 0.0), DELTA, RTT);
        // 1 - 0.5 0.2 (30 / 500) - 0.5 2 (40 / 500)
        assert!((nada.reference_rate - 1_500_000.0 * 0.914).abs() < 1e-6, "{}", nada.reference_rate);
    }

    #[test]
    fn a_flow_of_twice_the_priority_stands_twice_the_signal() {
        let mut nada = Nada::new(&RealTimeConfig { priority: 2.0, ..RealTimeConfig::default() });
        nada.on_report(&report(true, 0.0, 1e9), DELTA, RTT);
        nada.on_report(&report(false, 40.0, 0.0), DELTA, RTT);
        // 1 - 0.5 0.2 (20 / 500) - 0.5 2 (40 / 500)
        assert!((nada.reference_rate - 1_500_000.0 * 0.916).abs() < 1e-6, "{}", nada.reference_rate);
    }

    #[test]
    fn what_waits_slows_the_encoder_and_hastens_packets_within_the_bounds() {
        let mut nada = Nada::new(&RealTimeConfig::default());
        nada.reference_rate = 600_000.0;
        assert_eq!((nada.encoder_rate(5_000), nada.sending_rate(5_000)), (480_000.0, 720_000.0));
        assert_eq!((nada.encoder_rate(1 << 20), nada.sending_rate(1 << 20)), (150_000.0, 1_500_000.0));
    }
}
