//! Ports of a switch that share its memory.

use crate::lab::{Run, assert_between, run};

/// A switch with three ports of 100 Mbit/s, into the first `busy` of which two flows press each.
fn switch(busy: usize, buffer: &str) -> Run {
    let links = (0..3).map(|port| {
        format!(r#"{{ name = "port{port}", from = "switch", to = "host{port}", rate = "100mbit", delay = "5ms", buffer = {buffer} }},"#)
    });
    let flows = (0..busy).map(|port| format!(r#"{{ cc = "reno", count = 2, from = "switch", to = "host{port}" }},"#));
    run(&format!(
        r#"
        duration = "20s"
        pools = [{{ name = "memory", size = "300kB" }}]
        links = [{}]
        flows = [{}]
        "#,
        links.collect::<String>(),
        flows.collect::<String>()
    ))
}

#[test]
fn a_queue_grows_up_to_alpha_times_what_is_free_and_shares_with_those_that_press() {
    let longest = |run: &Run, port: usize| run.link("max_queue_bytes", 2 * port);
    let alone = switch(1, r#"{ pool = "memory" }"#);
    assert_between("alone, half of the memory", longest(&alone, 0), 147e3..=150e3);
    let greedy = switch(1, r#"{ pool = "memory", alpha = 4 }"#);
    assert_between("with alpha 4, four fifths", longest(&greedy, 0), 236e3..=240e3);
    let limited = switch(1, r#"{ pool = "memory", alpha = 4, bytes = "90kB" }"#);
    assert_between("with a limit of its own", longest(&limited, 0), 88e3..=90e3);
    let three = switch(3, r#"{ pool = "memory" }"#);
    for port in 0..3 {
        assert!(three.link("utilization", 2 * port) > 0.95);
        assert!(three.link("drops", 2 * port) > 0.0, "queues are full");
    }
    let drops = |run: &Run| run.link("drops", 0);
    assert!(drops(&three) > drops(&alone), "less memory for each: {} and {}", drops(&three), drops(&alone));
}

#[test]
fn disciplines_decide_as_they_do_with_a_queue_of_their_own() {
    let run = |queue: &str| {
        run(&format!(
            r#"
            duration = "10s"
            pools = [{{ name = "memory", size = "10MB" }}]
            path = {{ rate = "50mbit", rtt = "20ms", queue = "{queue}", buffer = {{ pool = "memory", alpha = 1000, bytes = "500kB" }} }}
            flows = [{{ cc = "cubic", count = 2 }}]
            "#
        ))
    };
    let alone = |queue: &str| {
        crate::lab::run(&format!(
            r#"
            duration = "10s"
            path = {{ rate = "50mbit", rtt = "20ms", queue = "{queue}", buffer = "500kB" }}
            flows = [{{ cc = "cubic", count = 2 }}]
            "#
        ))
    };
    for queue in ["droptail", "codel", "fq_codel", "pie"] {
        let (shared, own) = (run(queue), alone(queue));
        assert_eq!(format!("{:?}", shared.output.flows), format!("{:?}", own.output.flows), "{queue}");
        assert_eq!(format!("{:?}", shared.output.links), format!("{:?}", own.output.links), "{queue}");
    }
}
