//! CDG (Hayes and Armitage, 2011; Linux's `tcp_cdg.c`): CAIA Delay-Gradient, which backs off when the delay rises, not
//! when it is long.
//!
//! Once a round the smallest and the largest round-trip time are compared with those of the round before. The steeper
//! they rise, the likelier is a back-off to 0.71 of the window. Back-offs without effect are given up after five, which
//! is how it lives beside loss-based flows, and a shadow window remembers what a loss should have found. For low delay
//! at home and for background traffic; it needs no knowledge of the path's smallest delay.

use super::delayed_acks::DelayedAcks;
use dumbbell_cc_contract::parameters::{Factor, ParameterSet};
use dumbbell_cc_contract::{Algorithm, Control, Controller, Event, Hooks, Needs, View};
use dumbbell_units::Rng;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Rounds in the moving sums of gradients (`window`).
const WINDOW: usize = 8;
/// A fall of a moving sum by this much, in microseconds, shows that a back-off had an effect.
const EFFECT_US: i64 = -32;
/// `65536 exp(-0.000256 * 2^i)`, less one: the chance of no back-off for each bit of the exponent above the lowest
/// eight.
const NEGATIVE_EXP: [u32; 16] =
    [65518, 65501, 65468, 65401, 65267, 65001, 64470, 63422, 61378, 57484, 50423, 38795, 22965, 8047, 987, 14];
/// What each unit of the exponent takes of the chance, which is a share of 2^32, while it is small.
const NEGATIVE_EXP_STEP: u64 = u32::MAX as u64 / 1_000_000;
/// HyStart: longest gap between two ACKs of a train, and its shortest length that counts, in microseconds.
const TRAIN_GAP_US: u64 = 3_000;
const SHORTEST_US: u32 = 125;
/// HyStart: round-trip times that a round must have to be judged.
const HYSTART_SAMPLES: u32 = 8;

/// Constants of [`Cdg`]; the defaults are Linux's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Share of the window that remains after a back-off.
    #[schemars(range(max = 1), extend("x-source" = "tcp_cdg.c: backoff_beta = 724/1024"))]
    pub backoff_beta: Factor,
    /// How likely a back-off is: `1 - exp(-this * 10^-6 * S)` for a sum S of gradients in microseconds.
    #[schemars(extend("x-source" = "tcp_cdg.c: backoff_factor; the paper's G = 3 ms"))]
    pub backoff_factor: u32,
    /// Back-offs without effect, after which none follows until one would have had an effect; 0 is no limit.
    #[schemars(extend("x-source" = "tcp_cdg.c: use_ineff"))]
    pub use_ineff: u32,
    /// A loss halves what the window would have been without back-offs.
    #[schemars(extend("x-source" = "tcp_cdg.c: use_shadow"))]
    pub use_shadow: bool,
    /// A loss while delays do not rise is taken for a random one and costs nothing.
    #[schemars(extend("x-source" = "tcp_cdg.c: use_tolerance"))]
    pub use_tolerance: bool,
    /// Slow start ends when a train of ACKs lasts half the smallest round-trip time.
    #[schemars(extend("x-source" = "tcp_cdg.c: hystart_detect, bit 0"))]
    pub hystart_train: bool,
    /// Slow start ends when the delay has grown by an eighth.
    #[schemars(extend("x-source" = "tcp_cdg.c: hystart_detect, bit 1"))]
    pub hystart_delay: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            backoff_beta: Factor::new(724),
            backoff_factor: 42,
            use_ineff: 5,
            use_shadow: true,
            use_tolerance: false,
            hystart_train: true,
            hystart_delay: true,
        }
    }
}

impl ParameterSet for Parameters {}

/// Smallest and largest value of a round; 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MinMax {
    min: i64,
    max: i64,
}

/// What the gradients say about the queue (`enum cdg_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Queue {
    #[default]
    Unknown,
    NotFull,
    Full,
    /// A back-off is under way.
    BackedOff,
}

/// The CDG controller.
#[derive(Clone, Debug)]
pub struct Cdg {
    name: Arc<str>,
    parameters: Arc<Parameters>,
    rng: Rng,
    rtt: MinMax,
    previous: MinMax,
    /// Gradients of the last rounds, their sums, and where the next one goes.
    gradients: [MinMax; WINDOW],
    sum: MinMax,
    tail: usize,
    is_filled: bool,
    queue: Queue,
    delayed_acks: DelayedAcks,
    /// The round ends when more than this is acknowledged (`rtt_seq`).
    round_end: u64,
    /// What the window would be without back-offs (`shadow_wnd`).
    shadow: u32,
    /// Back-offs since one had an effect (`backoff_cnt`).
    backoffs: u32,
    /// HyStart: samples of the round, smallest round-trip time, last ACK and first ACK of the train.
    samples: u32,
    delay_min_us: u32,
    last_ack_us: Option<u64>,
    train_start_us: u64,
    wants_reduction: bool,
}

impl Cdg {
    /// A controller with these constants; `rng` decides about back-offs.
    pub fn new(parameters: impl Into<Arc<Parameters>>, rng: Rng) -> Cdg {
        Cdg {
            name: Cdg::EXACT_NAME.into(),
            parameters: parameters.into(),
            rng,
            rtt: MinMax::default(),
            previous: MinMax::default(),
            gradients: [MinMax::default(); WINDOW],
            sum: MinMax::default(),
            tail: 0,
            is_filled: false,
            queue: Queue::Unknown,
            delayed_acks: DelayedAcks::default(),
            round_end: 0,
            shadow: 0,
            backoffs: 0,
            samples: 0,
            delay_min_us: 0,
            last_ack_us: None,
            train_start_us: 0,
            wants_reduction: false,
        }
    }

    /// HyStart on the round so far (`tcp_cdg_hystart_update`).
    fn end_slow_start(&mut self, view: &View, control: &mut Control) {
        let round_min = u32::try_from(self.rtt.min).unwrap_or(u32::MAX);
        if self.delay_min_us == 0 || (round_min > 0 && round_min < self.delay_min_us) {
            self.delay_min_us = round_min;
        }
        if self.delay_min_us == 0 {
            return;
        }
        if self.parameters.hystart_train && self.train_fills_path(view, control) {
            control.ssthresh = control.cwnd;
            return;
        }
        if self.parameters.hystart_delay {
            if self.samples < HYSTART_SAMPLES {
                self.samples += 1;
            } else if round_min > (self.delay_min_us + self.delay_min_us / 8).max(SHORTEST_US) {
                control.ssthresh = control.cwnd;
            }
        }
    }

    fn train_fills_path(&mut self, view: &View, control: &Control) -> bool {
        let now = view.mstamp_us;
        match self.last_ack_us {
            Some(last) if view.is_cwnd_limited(control) => {
                if now >= last + TRAIN_GAP_US {
                    return false;
                }
                self.last_ack_us = Some(now);
                now > self.train_start_us + u64::from((self.delay_min_us / 2).max(SHORTEST_US))
            }
            _ => {
                self.last_ack_us = Some(now);
                self.train_start_us = now;
                false
            }
        }
    }

    /// The sum of gradients over the last rounds, in microseconds (`tcp_cdg_grad`).
    fn gradient(&mut self) -> i64 {
        let new = MinMax { min: self.rtt.min - self.previous.min, max: self.rtt.max - self.previous.max };
        let old = std::mem::replace(&mut self.gradients[self.tail], new);
        self.tail = (self.tail + 1) % WINDOW;
        self.sum.min += new.min - old.min;
        self.sum.max += new.max - old.max;
        let MinMax { min, max } = self.sum;
        let mut gradient = if min > 0 { min } else { max };
        if !self.is_filled {
            if self.tail == 0 {
                self.is_filled = true;
            } else {
                #[expect(clippy::cast_possible_wrap, reason = "at most 8")]
                let (window, filled) = (WINDOW as i64, self.tail as i64);
                gradient = gradient * window / filled;
            }
        }
        if min <= EFFECT_US || max <= EFFECT_US {
            self.backoffs = 0;
        }
        if self.parameters.use_tolerance {
            // Small changes count as none.
            let [min, max] = [min, max].map(|sum| (sum + 32 * sum.signum()) / 64);
            if min > 0 && max <= 0 {
                self.queue = Queue::Full;
            } else if (min > 0 && max > 0) || max < 0 {
                self.queue = Queue::NotFull;
            }
        }
        gradient
    }

    /// Whether to back off from this gradient (`tcp_cdg_backoff`).
    fn backs_off(&mut self, gradient: i64) -> bool {
        let exponent = gradient.unsigned_abs().saturating_mul(u64::from(self.parameters.backoff_factor));
        if u64::from(self.random_u32()) <= chance_of_none(exponent) {
            return false;
        }
        if self.parameters.use_ineff > 0 {
            self.backoffs += 1;
            if self.backoffs > self.parameters.use_ineff {
                return false;
            }
        }
        true
    }

    fn random_u32(&mut self) -> u32 {
        (self.rng.next_u64() >> 32) as u32
    }
}

/// `exp(-exponent * 10^-6)` as a share of 2^32: a straight line for the lowest eight bits, and a factor for each other
/// (`nexp_u32`).
fn chance_of_none(exponent: u64) -> u64 {
    let mut bits = exponent >> 8;
    if bits > u64::from(u16::MAX) {
        return 0;
    }
    let mut chance = u64::from(u32::MAX) - (exponent & 0xff) * NEGATIVE_EXP_STEP;
    for factor in NEGATIVE_EXP {
        if bits & 1 == 1 {
            chance = (chance * u64::from(factor + 1)) >> 16;
        }
        bits >>= 1;
    }
    chance
}

impl Algorithm for Cdg {
    type Parameters = Parameters;
    const NAME: &str = "cdg";
    const EXACT_NAME: &str = "cdg-linux-6.18";
    const SUMMARY: &str =
        "CDG: backs off when the delay rises, by chance; for low delay at home links and for background transfers";
    const SOURCE: &str = "Linux 6.18, net/ipv4/tcp_cdg.c; Hayes and Armitage, Networking 2011";
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn build(parameters: Arc<Parameters>, rng: Rng, exact_name: Arc<str>) -> Cdg {
        Cdg { name: exact_name, ..Cdg::new(parameters, rng) }
    }
}

impl Controller for Cdg {
    fn algorithm(&self) -> &str {
        &self.name
    }

    fn init(&mut self, view: &View, control: &mut Control) {
        self.round_end = view.snd_nxt;
        self.shadow = control.cwnd;
        // Linux tells a module of the answer to the SYN before it calls its `init`, and this one keeps what it was
        // told.
        let handshake_us = i64::from(view.srtt_us_x8 / 8);
        self.rtt = MinMax { min: handshake_us, max: handshake_us };
    }

    fn hooks(&self) -> Hooks {
        Hooks { pkts_acked: true, ..Hooks::NONE }
    }

    fn needs(&self) -> Needs {
        Needs { reductions: true, ..Needs::NONE }
    }

    fn ssthresh(&mut self, _view: &View, control: &Control) -> u32 {
        match self.queue {
            Queue::BackedOff => return self.parameters.backoff_beta.share_of(control.cwnd).max(2),
            Queue::NotFull if self.parameters.use_tolerance => return control.cwnd,
            _ => {}
        }
        self.shadow = (self.shadow >> 1).min(control.cwnd);
        if self.parameters.use_shadow { control.half().max(self.shadow) } else { control.half() }
    }

    fn cong_avoid(&mut self, view: &View, control: &mut Control, acked: u32) {
        if control.in_slow_start() {
            self.end_slow_start(view, control);
        }
        if view.snd_una > self.round_end && self.rtt != MinMax::default() {
            let gradient = if self.previous == MinMax::default() { 0 } else { self.gradient() };
            self.round_end = view.snd_nxt;
            self.previous = std::mem::take(&mut self.rtt);
            self.last_ack_us = None;
            self.samples = 0;
            if gradient > 0 && self.backs_off(gradient) {
                self.shadow = self.shadow.max(control.cwnd);
                self.queue = Queue::BackedOff;
                self.wants_reduction = true;
                return;
            }
        }
        if !view.is_cwnd_limited(control) {
            self.shadow = self.shadow.min(control.cwnd);
            return;
        }
        let before = control.cwnd;
        control.grow_like_reno(view, acked);
        self.shadow = self.shadow.saturating_add(control.cwnd - before);
    }

    fn begins_reduction(&mut self) -> bool {
        std::mem::take(&mut self.wants_reduction)
    }

    fn pkts_acked(&mut self, view: &View, _control: &mut Control, acked: u32, rtt_us: i64, _in_flight: u32) {
        if rtt_us <= 0 {
            return;
        }
        if view.sacked_out == 0 && self.delayed_acks.take(acked) {
            // It can only be right about a minimum.
            self.rtt.min = self.rtt.min.min(rtt_us);
            return;
        }
        self.rtt.min = if self.rtt.min == 0 { rtt_us } else { self.rtt.min.min(rtt_us) };
        self.rtt.max = self.rtt.max.max(rtt_us);
    }

    fn event(&mut self, view: &View, control: &mut Control, event: Event) {
        match event {
            Event::CwndRestart => {
                *self = Cdg {
                    round_end: view.snd_nxt,
                    shadow: control.cwnd,
                    name: Arc::clone(&self.name),
                    ..Cdg::new(Arc::clone(&self.parameters), self.rng.clone())
                };
            }
            Event::CompleteCwr => {
                self.queue = Queue::Unknown;
                self.round_end = view.snd_nxt;
                self.previous = std::mem::take(&mut self.rtt);
            }
            _ => {}
        }
    }

    fn observables(&self) -> Vec<Cow<'static, str>> {
        ["shadow_packets", "gradient_ms", "backoffs"].map(Cow::Borrowed).to_vec()
    }

    #[expect(clippy::cast_precision_loss, reason = "microseconds")]
    fn observe(&self, _view: &View, _control: &Control, values: &mut [f64]) {
        let gradient = self.sum.min as f64 * 1e-3;
        values.copy_from_slice(&[f64::from(self.shadow), gradient, f64::from(self.backoffs)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Side, round};

    fn begun(parameters: Parameters) -> (Cdg, Side) {
        let mut cdg = Cdg::new(parameters, Rng::new(7));
        let mut c = Side::limited(40, 10);
        cdg.init(&c.view, &mut c.control);
        (cdg, c)
    }

    #[test]
    fn the_share_of_rounds_with_a_back_off_is_exponential_in_the_gradient() {
        // The delay grows by `slope` a round, so that the sum over eight rounds is eight times that.
        for slope in [500, 2_000, 5_000] {
            let (mut cdg, mut c) = begun(Parameters { use_ineff: 0, ..Parameters::default() });
            let (mut rtt_us, mut backoffs) = (50_000, 0);
            for n in 0..4_020 {
                round(&mut cdg, &mut c, rtt_us);
                c.control.cwnd = 40;
                rtt_us += slope;
                backoffs += u32::from(cdg.begins_reduction() && n >= 20);
            }
            let (share, law) = (f64::from(backoffs) / 4_000.0, 1.0 - (-42e-6 * 8.0 * slope as f64).exp());
            assert!((share - law).abs() < 0.03, "{slope} us a round: {share}, expected {law}");
        }
    }

    #[test]
    fn slow_start_ends_when_a_round_takes_more_than_an_eighth_longer_than_the_shortest() {
        let (mut cdg, mut c) = begun(Parameters { hystart_train: false, hystart_delay: true, ..Parameters::default() });
        cdg.samples = HYSTART_SAMPLES;
        for (round_us, shortest_us, ends) in
            [(50_000, 50_000, false), (40_000, 40_000, false), (45_000, 40_000, false), (45_001, 40_000, true)]
        {
            cdg.rtt.min = round_us;
            c.control.ssthresh = u32::MAX;
            cdg.end_slow_start(&c.view, &mut c.control);
            assert_eq!((cdg.delay_min_us, c.control.ssthresh == c.control.cwnd), (shortest_us, ends), "{round_us} us");
        }
    }

    #[test]
    fn the_answer_to_the_syn_begins_the_first_round() {
        let (mut cdg, mut c) = (Cdg::new(Parameters::default(), Rng::new(7)), Side::limited(10, u32::MAX));
        c.view.srtt_us_x8 = 8 * 60_000;
        cdg.init(&c.view, &mut c.control);
        (c.view.snd_nxt, c.view.snd_una) = (10, 1);
        cdg.pkts_acked(&c.view, &mut c.control, 1, 60_600, 1);
        cdg.cong_avoid(&c.view, &mut c.control, 1);
        assert_eq!(cdg.previous, MinMax { min: 60_000, max: 60_600 }, "that of the SYN, and that of the first segment");
    }

    #[test]
    fn the_chance_of_no_back_off_is_the_exponential_function() {
        for exponent in [256, 42 * 8_000, 1_000_000, 5_000_000] {
            let law = (-(exponent as f64) * 1e-6).exp();
            let chance = chance_of_none(exponent) as f64 / 2f64.powi(32);
            assert!((chance - law).abs() < 2e-3, "{exponent}: {chance}, expected {law}");
        }
        assert_eq!(chance_of_none(1 << 24), 0);
        assert_eq!(chance_of_none(255), u64::from(u32::MAX) - 255 * 4294);
    }

    #[test]
    fn after_five_back_offs_without_effect_there_are_no_more_until_the_delay_falls() {
        let (mut cdg, mut c) = begun(Parameters::default());
        let mut rtt_us = 50_000;
        let rounds = |cdg: &mut Cdg, c: &mut Side, rtt_us: &mut i64, step: i64| {
            (0..40)
                .filter(|_| {
                    *rtt_us += step;
                    round(cdg, c, *rtt_us);
                    c.control.cwnd = 40;
                    cdg.begins_reduction()
                })
                .count()
        };
        assert_eq!(rounds(&mut cdg, &mut c, &mut rtt_us, 20_000), 5);
        assert_eq!(rounds(&mut cdg, &mut c, &mut rtt_us, -10_000), 0, "the delay falls");
        assert_eq!(rounds(&mut cdg, &mut c, &mut rtt_us, 20_000), 5);
    }

    #[test]
    fn a_back_off_keeps_71_percent_and_a_loss_halves_the_shadow() {
        let (mut cdg, mut c) = begun(Parameters::default());
        c.control.cwnd = 100;
        cdg.shadow = 160;
        cdg.queue = Queue::BackedOff;
        assert_eq!(cdg.ssthresh(&c.view, &c.control), 70);
        cdg.event(&c.view, &mut c.control, Event::CompleteCwr);
        assert_eq!(cdg.ssthresh(&c.view, &c.control), 80, "half of the shadow");
        assert_eq!(cdg.ssthresh(&c.view, &c.control), 50, "half of the window");
    }

    #[test]
    fn acks_of_single_segments_among_delayed_ones_only_lower_the_minimum() {
        let (mut cdg, mut c) = begun(Parameters::default());
        for (acked, rtt_us) in [(2, 50_000), (2, 51_000), (1, 90_000), (1, 49_000)] {
            cdg.pkts_acked(&c.view, &mut c.control, acked, rtt_us, 40);
        }
        assert_eq!(cdg.rtt, MinMax { min: 49_000, max: 51_000 });
        cdg.pkts_acked(&c.view, &mut c.control, 1, 90_000, 40);
        assert_eq!(cdg.rtt.max, 90_000, "no more delayed ACKs are expected");
    }
}
