//! Users who load web pages.

use crate::lab::{Run, assert_between, assert_near, mean, run};

/// A user over 1 Gbit/s and 100 ms whose pages have a document and twelve objects of ten segments each.
fn loaded_over(connections: u32) -> Run {
    run(&format!(
        r#"
        duration = "60s"
        record.series = false
        path = {{ rate = "1gbit", rtt = "100ms" }}
        traffic = [{{
            kind = "web-pages", cc = "cubic", connections = {connections}, parse = "0s", think = "500ms",
            document = "14480B", size = "14480B", objects = 12,
        }}]
        "#
    ))
}

#[test]
fn a_page_takes_the_round_trips_that_its_connections_need() {
    // The document takes a handshake and half a round trip, each further object of a connection a round trip, the first
    // one of a new connection what the document took.
    for (connections, milliseconds) in
        [(1, 150.0 + 12.0 * 100.0), (2, 150.0 + 7.0 * 100.0 - 50.0), (6, 400.0), (12, 300.0)]
    {
        let run = loaded_over(connections);
        let loads: Vec<f64> = run.pages("plt_s").into_iter().filter(|took| !took.is_nan()).collect();
        assert!(loads.len() > 20, "{} pages", loads.len());
        assert_near(&format!("{connections} connections"), mean(&loads) * 1e3, milliseconds, 0.02);
        // The last ACKs of a page may come after the next one has begun.
        let connections = f64::from(connections);
        assert_between("connections", run.traffic("max_active", 0), connections..=2.0 * connections);
        assert_eq!(run.traffic("pages", 0), loads.len() as f64);
        assert_near("the row of the source", run.traffic("p50_plt_s", 0), mean(&loads), 0.02);
    }
}

#[test]
fn a_user_loads_one_page_at_a_time_and_every_object_is_a_transfer() {
    let run = loaded_over(6);
    let (starts, loads) = (run.pages("start_s"), run.pages("plt_s"));
    for (page, load) in loads.iter().enumerate().take(loads.len() - 1) {
        assert!(starts[page + 1] > starts[page] + load, "page {page}");
    }
    let whole = loads.iter().filter(|took| !took.is_nan()).count();
    let transfers = run.completions("fct_s").iter().filter(|took| !took.is_nan()).count();
    assert!((13 * whole..13 * (whole + 1)).contains(&transfers), "{transfers} transfers of {whole} pages");
    assert!(run.pages("objects")[..whole].iter().all(|&objects| objects == 12.0));
    assert!(run.pages("bytes")[..whole].iter().all(|&bytes| bytes == 13.0 * 14_480.0));
}

#[test]
fn pages_that_have_begun_are_loaded_to_their_end_and_the_end_of_the_run_cuts_them() {
    let run = |stop: &str, rate: &str| {
        run(&format!(
            r#"
            duration = "30s"
            warmup = "5s"
            path = {{ rate = "{rate}", rtt = "40ms", buffer = "1bdp" }}
            traffic = [{{ kind = "web-pages", cc = "cubic", users = 50, think = "2s", stop = "{stop}" }}]
            "#
        ))
    };
    let stopped = run("10s", "50mbit");
    assert!(stopped.pages("start_s").iter().all(|&start| start < 10.0));
    assert!(stopped.pages("plt_s").iter().all(|took| !took.is_nan()));
    let measured: f64 = stopped.pages("measured").iter().sum();
    assert_eq!(
        (stopped.traffic("pages", 0), stopped.traffic("pages_total", 0)),
        (measured, stopped.pages("plt_s").len() as f64)
    );
    let narrow = run("30s", "500kbit");
    let cut = narrow.pages("plt_s").iter().filter(|took| took.is_nan()).count();
    assert_between("pages that were cut", cut as f64, 10.0..=50.0);
}

#[test]
fn pages_load_later_beside_a_download_in_one_queue_than_in_a_fair_one() {
    let p95 = |queue: &str| {
        let run = run(&format!(
            r#"
            duration = "120s"
            warmup = "10s"
            record.series = false
            path = {{ rate = "10mbit", rtt = "40ms", queue = {queue} }}
            flows = [{{ cc = "cubic" }}]
            traffic = [{{ kind = "web-pages", cc = "cubic", users = 3, think = "3s", transport = "quic" }}]
            "#
        ));
        run.traffic("p95_plt_s", 0)
    };
    let (shared, fair) = (p95(r#""droptail", buffer = "4bdp""#), p95(r#""fq_codel""#));
    assert!(shared > 1.5 * fair, "{shared} s and {fair} s");
}
