//! Runs in steps.

use crate::lab::scenario;
use dumbbell_cc::parameters::NoParameters;
use dumbbell_cc::{Algorithm, Control, Controller, View};
use dumbbell_scenario::{Experiment, Scenario};
use dumbbell_sim::{Bounds, RunOutput, Stepper, run};
use dumbbell_units::{Duration, Rng, Time};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

static CANCEL: AtomicBool = AtomicBool::new(false);

fn begin(scenario: Scenario) -> Stepper<'static> {
    Stepper::new(Arc::new(scenario), Bounds { cancel: &CANCEL, max_memory: u64::MAX, series: None, plain: false })
        .unwrap()
}

/// All that a run says, as a text in which not a number is no different from itself.
fn said(output: &RunOutput) -> Vec<String> {
    let RunOutput { flows, series, links, link_series, traffic, completions, pages, rounds, datagrams, summary } =
        output;
    let tables = [flows, series, links, link_series, traffic, completions, pages, rounds, datagrams];
    let mut said: Vec<String> = tables.map(|table| format!("{table:?}")).into();
    // How many events make the same run depends on how often somebody looks.
    said.push(format!("{} packets", summary.packets));
    said
}

const QUEUES: [&str; 6] = ["fifo", "codel", "fq_codel", "dualpi2", "drophead", "red"];
const ALGORITHMS: [&str; 6] = ["cubic", "bbr", "bbr3", "reno", "prague", "copa"];

prop_compose! {
    /// An experiment with up to four flows over one link or two, short flows or none.
    fn experiment()(
        queue in 0..QUEUES.len(),
        mbit in 1u32..60,
        rtt_ms in 1u32..120,
        buffer in 2u32..300,
        loss in prop_oneof![Just("0%"), Just("0.5%"), Just("3%")],
        flows in proptest::collection::vec((0..ALGORITHMS.len(), 0usize..3, 1u32..150), 1..5),
        has_traffic in any::<bool>(),
        has_two_links in any::<bool>(),
    ) -> String {
        let queue = QUEUES[queue];
        let flows: Vec<_> = flows.iter().map(|&(algorithm, transport, own_rtt)| {
            let transport = ["tcp", "tcp", "quic"][transport];
            let rtt = if has_two_links { ", from = 'a', to = 'c'".to_owned() } else { format!(", rtt = '{}ms'", rtt_ms + own_rtt) };
            format!("{{ cc = '{}', transport = '{transport}'{rtt} }}", ALGORITHMS[algorithm])
        }).collect();
        let network = if has_two_links {
            format!("links = [{{ from = 'a', to = 'b', rate = '{}mbit', delay = '{rtt_ms}ms' }}, \
                     {{ from = 'b', to = 'c', rate = '{mbit}mbit', delay = '3ms', buffer = '{buffer}packets', \
                     queue = '{queue}', loss = '{loss}' }}]", mbit + 20)
        } else {
            format!("path = {{ rate = '{mbit}mbit', rtt = '{rtt_ms}ms', buffer = '{buffer}packets', \
                     queue = '{queue}', loss = '{loss}' }}")
        };
        let ends = if has_two_links { ", from = 'a', to = 'c'" } else { "" };
        let traffic = match has_traffic {
            true => format!("traffic = [{{ kind = 'short-flows', cc = 'cubic', load = '20%', size = '30kB'{ends} }}]"),
            false => String::new(),
        };
        format!("duration = '2500ms'\nwarmup = '1s'\nrecord.interval = '70ms'\n{network}\nflows = [{}]\n{traffic}\n",
                flows.join(", "))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_run_in_steps_gives_what_a_whole_run_gives_to_the_last_bit(
        text in experiment(),
        steps_us in proptest::collection::vec(prop_oneof![1u64..2_000, 1u64..150_000], 1..60),
    ) {
        let scenario = scenario(&text);
        let whole = run(&scenario, &CANCEL).unwrap();
        let mut stepped = begin(scenario);
        for step in steps_us.iter().cycle() {
            if stepped.is_over() {
                break;
            }
            stepped.run_until(stepped.now() + Duration::from_micros(*step)).unwrap();
            // Nobody is disturbed by a look, nor by one who speaks and changes nothing.
            stepped.sending(0);
            stepped.steer(0, &mut |_, _, _| {});
        }
        let (whole, stepped) = (said(&whole), said(&stepped.finish().unwrap()));
        for (one, other) in whole.iter().zip(&stepped) {
            prop_assert_eq!(one, other, "{}", text);
        }
    }
}

/// Sends a packet a second through a window of 100, until it is told otherwise.
struct Slow;

impl Controller for Slow {
    fn algorithm(&self) -> &str {
        Slow::EXACT_NAME
    }
    fn init(&mut self, _: &View, control: &mut Control) {
        (control.cwnd, control.pacing_rate) = (100, 1_400);
    }
    fn full_control(&self) -> bool {
        true
    }
    fn wants_pacing(&self) -> bool {
        true
    }
    fn ssthresh(&mut self, _: &View, control: &Control) -> u32 {
        control.ssthresh
    }
}

impl Algorithm for Slow {
    type Parameters = NoParameters;
    const NAME: &str = "slow";
    const EXACT_NAME: &str = "slow-1";
    const SUMMARY: &str = "a packet a second";
    const SOURCE: &str = "this test";
    const VERSION: &str = "1";
    fn build(_: Arc<NoParameters>, _: Rng, _: Arc<str>) -> Slow {
        Slow
    }
}

/// A flow that has run for five and a half seconds.
fn slow(transport: &str) -> Stepper<'static> {
    let mut catalog = dumbbell_cc_family::catalog().clone();
    catalog.register::<Slow>().unwrap();
    let text = format!(
        "duration = '10s'\npath = {{ rate = '20mbit', rtt = '40ms' }}\nflows = [{{ cc = 'slow', transport = '{transport}' }}]"
    );
    let experiment = Experiment::from_toml_with(&catalog, &text, "", &[]).unwrap();
    let mut run = begin(Scenario::clone(&experiment.points()[0].scenario()));
    run.run_until(Time::ZERO + Duration::from_millis(5_500)).unwrap();
    run
}

fn sent(run: &Stepper<'_>) -> u64 {
    run.sending(0).unwrap().stats.sent_segments
}

#[test]
fn a_faster_rate_shortens_the_pause_that_has_begun() {
    // Over QUIC a packet leaves up to a millisecond early, and the next pause begins.
    for (transport, tolerance) in [("tcp", 1_000), ("quic", 2_000_000)] {
        let mut run = slow(transport);
        let pause = |run: &Stepper<'_>| run.sending(0).unwrap().view.next_departure.since(run.now());
        let left = pause(&run);
        assert!(left > Duration::from_millis(50), "{transport}: {left}");
        let before = sent(&run);
        run.steer(0, &mut |_, _, control| control.pacing_rate *= 1_000);
        let is = pause(&run).as_nanos();
        assert!(is.abs_diff(left.as_nanos() / 1_000) <= tolerance, "{transport}: {is} ns of {left}");
        run.run_until(run.now() + Duration::from_millis(50)).unwrap();
        // 1.4 MB/s for 50 ms are 47 packets.
        let packets = sent(&run) - before;
        assert!((40..=70).contains(&packets), "{transport}: {packets}");
    }
}

#[test]
fn a_window_that_is_opened_at_a_pause_is_filled_at_that_instant() {
    for transport in ["tcp", "quic"] {
        let mut run = slow(transport);
        let before = sent(&run);
        // Without a rate nothing but the window holds packets back.
        run.steer(0, &mut |_, _, control| (control.cwnd, control.pacing_rate) = (30, 0));
        assert_eq!(sent(&run) - before, 30, "{transport}");
        assert_eq!(run.sending(0).unwrap().view.last_sent, run.now(), "{transport}");
    }
}

#[test]
fn nothing_is_sent_because_somebody_looks() {
    let mut run = slow("tcp");
    let before = sent(&run);
    run.steer(0, &mut |_, view, control| {
        assert_eq!((view.now, control.cwnd), (Time::ZERO + Duration::from_millis(5_500), 100))
    });
    assert_eq!(sent(&run), before);
}

#[test]
fn a_flow_without_a_connection_or_a_controller_is_told_apart() {
    let mut run = begin(scenario(
        "duration = '2s'\npath = { rate = '20mbit', rtt = '40ms' }\n\
         flows = [{ cc = 'cubic' }, { transport = 'udp', rate = '1mbit' }]",
    ));
    assert!(run.sending(0).is_none(), "there is no connection yet");
    run.run_until(Time::ZERO + Duration::from_millis(500)).unwrap();
    assert!(run.sending(0).is_some() && run.sending(1).is_none() && run.sending(2).is_none());
    assert!(!run.steer(1, &mut |_, _, _| panic!("nobody is there")));
    run.run_until(Time::NEVER).unwrap();
    assert!(run.is_over() && !run.steer(0, &mut |_, _, _| panic!("the run is over")));
}
