//! The first and the last value of each parameter that is allowed, and the next ones, which are not.

use super::table;
use crate::Catalog;
use crate::catalog::BuildError;
use serde_json::{Value, json};

/// Whether an algorithm takes a value. A refusal has to name its parameter.
fn takes(algorithm: &str, key: &str, value: &Value) -> bool {
    let parameters = table(json!({ key: value }));
    match Catalog::builtin().recipe(algorithm, &parameters) {
        Ok(_) => true,
        Err(BuildError::Parameter { key: named, message }) => {
            assert_eq!(named, key, "{algorithm}: {message}");
            assert!(message.contains(&format!("`{key} = ")), "{algorithm}: {message}");
            false
        }
        Err(other) => panic!("{other}"),
    }
}

fn check(algorithms: &[&str], key: &str, taken: &[Value], refused: &[Value]) {
    for algorithm in algorithms {
        for (values, expected) in [(taken, true), (refused, false)] {
            for value in values {
                assert_eq!(takes(algorithm, key, value), expected, "{algorithm}: {key} = {value}");
            }
        }
    }
}

/// Whole numbers from `least` on, up to `most` if there is one.
fn range(algorithms: &[&str], keys: &[&str], least: u32, most: Option<u32>) {
    for key in keys {
        check(algorithms, key, &[json!(least)], &[least.checked_sub(1).map_or(json!(-1), |below| json!(below))]);
        if let Some(most) = most {
            check(algorithms, key, &[json!(most)], &[json!(u64::from(most) + 1)]);
        }
    }
}

const BBR: &[&str] = &["bbr", "bbr2", "bbr3"];
const NEW_BBR: &[&str] = &["bbr2", "bbr3"];

#[test]
fn gains_of_bbr_are_positive_and_shares_below_one() {
    let least = json!("1/256");
    let (most, one) = (json!("255/256"), json!(1));
    for key in ["startup_pacing_gain", "startup_window_gain", "steady_window_gain"] {
        check(BBR, key, &[least.clone(), json!(8)], &[json!(0)]);
    }
    for key in ["up_pacing_gain", "down_pacing_gain", "cruise_pacing_gain", "up_window_gain"] {
        check(NEW_BBR, key, &[least.clone(), json!(8)], &[json!(0)]);
    }
    check(BBR, "drain_gain", &[least, most.clone()], &[json!(0), one.clone()]);
    for key in ["loss_threshold", "beta", "headroom"] {
        check(NEW_BBR, key, &[json!(0), most.clone()], std::slice::from_ref(&one));
    }
    for key in ["probe_rtt_window_gain", "ecn_alpha_gain", "ecn_alpha_init", "ecn_factor", "ecn_threshold"] {
        check(NEW_BBR, key, &[json!(0), one.clone()], &[json!("257/256")]);
    }
    check(BBR, "pacing_margin", &[json!("0%"), json!("99.9%")], &[json!("100%")]);
}

#[test]
fn counts_of_bbr_have_bounds() {
    range(BBR, &["min_window", "burst_min", "burst_min_slow", "burst_max", "full_rounds"], 1, None);
    range(&["bbr"], &["bw_window_rounds", "initial_window"], 1, None);
    range(NEW_BBR, &["ecn_startup_rounds"], 1, None);
    range(NEW_BBR, &["startup_loss_events"], 1, Some(15));
    range(NEW_BBR, &["aggregation_startup_rounds"], 1, Some(31));
    range(BBR, &["aggregation_window_rounds"], 1, Some(31));
    range(BBR, &["aggregation_epoch_packets"], 2, None);
    range(BBR, &["budget_bursts"], 0, Some(1_000));
    range(BBR, &["small_queue_shift"], 0, Some(31));
    check(NEW_BBR, "burst_rtt_step", &[json!("1us")], &[json!("0s"), json!("999ns")]);
    check(NEW_BBR, "probe_wait_random", &[json!("1h")], &[json!("3600001ms")]);
    // Four and sixteen rounds are the defaults.
    check(&["bbr"], "policer_min_rounds", &[json!(16)], &[json!(17)]);
}

#[test]
fn the_cycle_of_bbr_has_3_to_64_phases_of_which_it_draws_at_least_one() {
    let gains = |phases: usize, gain: u32| json!(vec![gain; phases]);
    check(&["bbr"], "cycle_gains", &[gains(64, 1), gains(7, 1)], &[gains(65, 1), gains(2, 1), gains(8, 0)]);
    let of_three = |phases: u32| {
        let parameters = table(json!({ "cycle_gains": gains(3, 1), "cycle_random_phases": phases }));
        Catalog::builtin().recipe("bbr", &parameters).is_ok()
    };
    assert_eq!([0, 1, 3, 4].map(of_three), [false, true, true, false]);
}

#[test]
fn parameters_of_cubic_and_reno_have_bounds() {
    for key in ["beta", "beta_ecn"] {
        check(&["cubic"], key, &[json!("1/1024"), json!("1023/1024")], &[json!(0), json!(1)]);
    }
    for key in ["beta", "beta_ecn"] {
        check(&["reno"], key, &[json!(0), json!(1)], &[json!("1025/1024")]);
    }
    range(&["cubic", "reno"], &["emulated_connections"], 1, Some(16));
    range(&["cubic", "reno"], &["min_ssthresh"], 1, Some(2_147_483_646));
    range(&["reno"], &["increase", "stretch_limit"], 1, None);
    range(&["cubic"], &["bic_scale"], 1, Some(100_000));
    range(&["cubic"], &["initial_ssthresh"], 2, None);
    let counts = ["plateau_windows", "first_epoch_max_acks", "min_acks_per_increment", "hystart_delay_divisor"];
    range(&["cubic"], &counts, 1, None);
    // The default of the other bound.
    check(&["cubic"], "hystart_delay_min", &[json!("16ms")], &[json!("16001us")]);
}

#[test]
fn parameters_of_the_other_algorithms_have_bounds() {
    // 10 packets of pad, 2 of which are its buffer, are NV's defaults, 2 and 4 packets those of Vegas.
    check(&["nv"], "pad_buffer", &[json!(10)], &[json!(11)]);
    check(&["vegas"], "alpha", &[json!(4)], &[json!(5)]);
    // A tenth of a packet and ten packets are the defaults of Illinois, an eighth and a half.
    check(&["illinois"], "alpha_min", &[json!("1/128"), json!(10)], &[json!(0), json!("1281/128")]);
    check(&["illinois"], "beta_min", &[json!(0), json!("1/2")], &[json!("33/64")]);
    check(&["westwood"], "initial_rtt", &[json!("1ns")], &[json!("0s")]);
    check(&["prague"], "min_virtual_rtt", &[json!("0s"), json!("10s")], &[json!("10001ms")]);
    for (algorithm, key) in [("ledbat", "target"), ("ledbat++", "target"), ("hybla", "rtt0")] {
        check(&[algorithm], key, &[json!("1ms"), json!("1h")], &[json!("999us"), json!("3600001ms")]);
    }
}

/// Every declared parameter of the algorithms that are no variants: algorithm, key and schema.
fn declared() -> Vec<(String, String, Value)> {
    let entries = Catalog::builtin().entries().filter(|entry| entry.base().is_none());
    let declared = entries.flat_map(|entry| {
        let properties = entry.parameter_schema()["properties"].as_object().unwrap().clone();
        properties.into_iter().map(|(key, property)| (entry.name().to_owned(), key, property))
    });
    declared.collect()
}

#[test]
fn declared_ranges_hold_at_both_ends() {
    let mut refused = 0;
    for (algorithm, key, property) in declared() {
        for (bound, beyond) in [("minimum", -1.0), ("maximum", 1.0)] {
            let Some(value) = property.get(bound).filter(|_| property["type"] == "integer") else { continue };
            let value = value.as_f64().unwrap();
            if value < f64::from(u32::MAX) && value + beyond >= 0.0 {
                #[expect(clippy::cast_possible_truncation, reason = "a bound of 32 bits and its neighbour")]
                let next = (value + beyond) as i64;
                assert!(!takes(&algorithm, &key, &json!(next)), "{algorithm}: {key} = {next}");
                refused += 1;
            }
        }
    }
    assert!(refused > 30, "{refused}");
}

#[test]
fn ends_that_are_declared_as_open_are_refused_themselves() {
    let mut refused = 0;
    for (algorithm, key, property) in declared() {
        let ends = ["exclusiveMinimum", "exclusiveMaximum", "x-above", "x-below"];
        for end in ends.iter().filter_map(|name| property.get(*name)) {
            assert!(!takes(&algorithm, &key, end), "{algorithm}: {key} = {end}");
            refused += 1;
        }
    }
    assert!(refused > 20, "{refused}");
}
