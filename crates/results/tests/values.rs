//! Every column of every table holds what its row says, in the unit that it names.

use dumbbell_results::{
    Arrived, Completion, DatagramSummary, FlowCounts, FlowSample, FlowSummary, Histogram, LinkCounts, LinkSample,
    LinkSummary, PageLoad, Recorder, StreamSummary, Table, Tells, TrafficSummary, UNKNOWN, Values, columns,
    completions, datagrams, flows, links, pages, traffic,
};
use dumbbell_units::{Duration, Time};

/// The cells of a row as text; `-` where there is no value.
fn cells(table: &Table, row: usize) -> Vec<(&str, String)> {
    let cell = |values: &Values| match values {
        Values::Float(rows) if rows[row].is_nan() => "-".to_owned(),
        // Powers of ten are not exact; the twelfth digit is of no interest here.
        Values::Float(rows) => ((rows[row] * 1e9).round() / 1e9).to_string(),
        Values::Count(rows) if rows[row] == UNKNOWN => "-".to_owned(),
        Values::Count(rows) => rows[row].to_string(),
        Values::Index(rows) => rows[row].to_string(),
        Values::Text(rows) => rows[row].to_string(),
        Values::Name(rows) => rows.get(row).unwrap_or("-").to_owned(),
    };
    table.columns.iter().map(|column| (column.name.as_str(), cell(&column.values))).collect()
}

#[track_caller]
fn assert_cells(table: &Table, row: usize, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|&(name, value)| (name, value.to_owned())).collect();
    assert_eq!(cells(table, row), expected);
}

/// 101 samples: `least`, `least + 1`, and so on. Each percentile has a bin of its own, in whose middle it is taken to
/// lie.
fn histogram(least: u64) -> Histogram {
    let mut histogram = Histogram::default();
    (least..=least + 100).for_each(|sample| histogram.add(sample));
    histogram
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Counts that all differ: `first`, `first + 1`, and so on.
fn flow_counts(first: u64) -> FlowCounts {
    FlowCounts {
        sent: first,
        retransmits: first + 1,
        lost: first + 2,
        network_drops: first + 3,
        rtos: first + 4,
        spurious_losses: first + 15,
        probes: first + 5,
        undos: first + 6,
        duplicates: first + 7,
        acks: first + 8,
        arrived: first + 9,
        delivered_bytes: first + 10,
        sent_bytes: first + 11,
        frames: first + 12,
        late_frames: first + 13,
        lost_frames: first + 14,
    }
}

fn link_counts(first: u64) -> LinkCounts {
    LinkCounts {
        arrivals: first,
        drops: first + 1,
        drops_full: first + 2,
        drops_aqm: first + 3,
        drops_policed: first + 4,
        losses: first + 5,
        marks: first + 6,
        aggregates: first + 7,
        frame_retries: first + 8,
        collisions: first + 9,
        drops_ack_filter: first + 10,
        ecn_changed: first + 11,
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a row of every column")]
fn a_flow() {
    let row = FlowSummary {
        flow: 3,
        label: "late".into(),
        cc: "bbr".into(),
        algorithm: "bbr-1".into(),
        start: Time::ZERO + ms(1_500),
        base_rtt: ms(40),
        measured_s: 2.0,
        measured: FlowCounts { arrived: 8, delivered_bytes: 750_000, ..flow_counts(100) },
        total: FlowCounts { delivered_bytes: 900_000, ..flow_counts(500) },
        wire_bytes: 1_000_000,
        wire_bytes_total: 1_200_000,
        rtt: histogram(20),
        one_way_delays: ms(200),
        finished_at: Some(Time::ZERO + ms(9_750)),
        streams: Some(Box::new(StreamSummary { messages: histogram(30), waits: histogram(40), waited: 25 })),
    };
    let unfinished = FlowSummary { finished_at: None, streams: None, ..row.clone() };
    let table = flows([row, unfinished]);
    assert_cells(
        &table,
        0,
        &[
            ("flow", "3"),
            ("label", "late"),
            ("cc", "bbr"),
            ("algorithm", "bbr-1"),
            ("start_s", "1.5"),
            ("goodput_mbps", "3"),
            ("throughput_mbps", "4"),
            ("mean_rtt_ms", "0.07"),
            ("p50_rtt_ms", "0.07"),
            ("p95_rtt_ms", "0.115"),
            ("p99_rtt_ms", "0.119"),
            ("min_rtt_ms", "0.02"),
            ("mean_one_way_delay_ms", "25"),
            ("completion_s", "8.25"),
            ("transfer_mbps", "0.872727273"),
            ("base_rtt_ms", "40"),
            ("retransmits", "101"),
            ("retransmits_total", "501"),
            ("lost", "102"),
            ("lost_total", "502"),
            ("spurious_losses", "115"),
            ("spurious_losses_total", "515"),
            ("network_drops", "103"),
            ("network_drops_total", "503"),
            ("rto_count", "104"),
            ("rto_count_total", "504"),
            ("probe_count", "105"),
            ("probe_count_total", "505"),
            ("undo_count", "106"),
            ("undo_count_total", "506"),
            ("sent", "100"),
            ("sent_total", "500"),
            ("duplicates", "107"),
            ("duplicates_total", "507"),
            ("acks", "108"),
            ("acks_total", "508"),
            ("delivered_bytes", "750000"),
            ("delivered_bytes_total", "900000"),
            ("throughput_bytes_total", "1200000"),
            ("messages", "101"),
            ("mean_message_ms", "0.08"),
            ("p95_message_ms", "0.125"),
            ("mean_hol_ms", "0.09"),
            ("p99_hol_ms", "0.1395"),
            ("hol_share", "0.247524752"),
        ],
    );
    assert!(cells(&table, 1).contains(&("completion_s", "-".to_owned())));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a row of every column")]
fn a_radio_link() {
    let row = LinkSummary {
        link: 1,
        name: "wifi".to_owned(),
        measured_s: 4.0,
        departed_bytes: 1_000_000,
        framed_bytes: 1_200_000,
        capacity_bits: Some(16_000_000),
        mean_queue_bytes: 1.5,
        p95_queue_bytes: 2.5,
        max_queue_bytes: 3.5,
        airtime_s: Some(3.0),
        aggregated_packets: Some(535),
        measured: link_counts(100),
        total: link_counts(500),
    };
    let wire = LinkSummary { capacity_bits: None, airtime_s: None, aggregated_packets: None, ..row.clone() };
    let idle =
        LinkSummary { capacity_bits: Some(0), measured: LinkCounts { aggregates: 0, ..row.measured }, ..row.clone() };
    let table = links(&[row, wire, idle]);
    assert_cells(
        &table,
        0,
        &[
            ("link", "1"),
            ("name", "wifi"),
            ("utilization", "0.6"),
            ("throughput_mbps", "2"),
            ("capacity_mbps", "4"),
            ("mean_queue_bytes", "1.5"),
            ("p95_queue_bytes", "2.5"),
            ("max_queue_bytes", "3.5"),
            ("arrivals", "100"),
            ("arrivals_total", "500"),
            ("drops", "101"),
            ("drops_total", "501"),
            ("drops_full", "102"),
            ("drops_full_total", "502"),
            ("drops_aqm", "103"),
            ("drops_aqm_total", "503"),
            ("drops_ack_filter", "110"),
            ("drops_ack_filter_total", "510"),
            ("drops_policed", "104"),
            ("drops_policed_total", "504"),
            ("losses", "105"),
            ("losses_total", "505"),
            ("marks", "106"),
            ("marks_total", "506"),
            ("ecn_changed", "111"),
            ("ecn_changed_total", "511"),
            ("airtime", "0.75"),
            ("mean_aggregate", "5"),
            ("aggregates", "107"),
            ("aggregates_total", "507"),
            ("frame_retries", "108"),
            ("frame_retries_total", "508"),
            ("collisions", "109"),
            ("collisions_total", "509"),
        ],
    );
    for (row, without) in [
        (1, ["utilization", "capacity_mbps", "airtime", "mean_aggregate"].as_slice()),
        (2, &["utilization", "mean_aggregate"]),
    ] {
        let empty: Vec<_> =
            cells(&table, row).into_iter().filter(|(_, cell)| cell == "-").map(|(name, _)| name).collect();
        assert_eq!(empty, without);
    }
}

#[test]
fn a_flow_at_an_instant() {
    let sample = FlowSample {
        cwnd: 10,
        ssthresh: Some(11),
        inflight: 12,
        pacing_rate: 1_250_000,
        srtt_us_x8: 80_000,
        rtt_us: Some(11_000),
        min_rtt_us: Some(9_000),
        delivery_mbps: Some(7.5),
        arrived: Arrived { goodput_bytes: 1_000, received_bytes: 3_000, mbps_per_byte: 0.25 },
        delivered: 20,
        sent: 21,
        lost: Some(22),
        retransmits: 23,
        sacked_out: 24,
        packets_out: 25,
        ca_state: "recovery",
        mode: "drain",
        limited_by: "pacing",
        tells: Tells::All,
    };
    let mut recorder = Recorder::new(Some(ms(10)), [vec!["bw"], vec!["bw"]].into_iter());
    assert_eq!(recorder.begin(), Some(ms(10)));
    recorder.flow(Time::ZERO + ms(10), 1, sample, |values| values[0] = 0.5);
    let (series, _) = recorder.take();
    assert_cells(
        &series,
        0,
        &[
            ("t_s", "0.01"),
            ("flow", "1"),
            ("cwnd", "10"),
            ("ssthresh", "11"),
            ("inflight", "12"),
            ("pacing_mbps", "10"),
            ("srtt_ms", "10"),
            ("rtt_ms", "11"),
            ("min_rtt_ms", "9"),
            ("delivery_mbps", "7.5"),
            ("goodput_mbps", "250"),
            ("received_mbps", "750"),
            ("acked_total", "20"),
            ("sent_total", "21"),
            ("lost_total", "22"),
            ("retransmits_total", "23"),
            ("sacked", "24"),
            ("packets_out", "25"),
            ("cc_bw", "0.5"),
            ("ca_state", "recovery"),
            ("mode", "drain"),
            ("limited_by", "pacing"),
        ],
    );
}

#[test]
fn a_link_at_an_instant() {
    let sample = LinkSample {
        queue_bytes: 3_000,
        queue_packets: 2,
        departed_bits: 2_500.0,
        capacity_bits: Some(10_000),
        drops: 4,
        losses: 5,
    };
    let mut recorder = Recorder::new(Some(ms(10)), std::iter::empty::<Vec<&str>>());
    recorder.link(Time::ZERO + ms(20), 6, sample);
    recorder.link(Time::ZERO + ms(20), 7, LinkSample { capacity_bits: Some(0), ..sample });
    let (_, series) = recorder.take();
    assert_cells(
        &series,
        0,
        &[
            ("t_s", "0.02"),
            ("link", "6"),
            ("queue_bytes", "3000"),
            ("queue_packets", "2"),
            ("utilization", "0.25"),
            ("drops_total", "4"),
            ("losses_total", "5"),
        ],
    );
    assert!(cells(&series, 1).contains(&("utilization", "-".to_owned())), "nothing could have left");
}

fn source_of_traffic() -> TrafficSummary {
    TrafficSummary {
        source: 2,
        label: "web".to_owned(),
        kind: "pages",
        cc: "cubic".to_owned(),
        algorithm: "cubic-6.18".to_owned(),
        measured_s: 2.0,
        started: (31, 32),
        completed: (33, 34),
        max_active: 35,
        measured: FlowCounts { delivered_bytes: 750_000, ..flow_counts(100) },
        total: FlowCounts { delivered_bytes: 900_000, ..flow_counts(500) },
        wire_bytes: 1_000_000,
        rtt: histogram(20),
        pages: (36, 37),
        page_loads: histogram(10),
        rounds: (38, 39),
        round_times: histogram(10),
    }
}

#[test]
fn a_source_of_traffic() {
    assert_cells(
        &traffic(&[source_of_traffic()]),
        0,
        &[
            ("source", "2"),
            ("label", "web"),
            ("kind", "pages"),
            ("cc", "cubic"),
            ("algorithm", "cubic-6.18"),
            ("started", "31"),
            ("started_total", "32"),
            ("completed", "33"),
            ("completed_total", "34"),
            ("max_active", "35"),
            ("goodput_mbps", "3"),
            ("throughput_mbps", "4"),
            ("mean_rtt_ms", "0.07"),
            ("p95_rtt_ms", "0.115"),
            ("sent", "100"),
            ("sent_total", "500"),
            ("retransmits", "101"),
            ("retransmits_total", "501"),
            ("network_drops", "103"),
            ("network_drops_total", "503"),
            ("rto_count", "104"),
            ("rto_count_total", "504"),
            ("delivered_bytes", "750000"),
            ("delivered_bytes_total", "900000"),
            ("pages", "36"),
            ("pages_total", "37"),
            ("mean_plt_s", "0.00006"),
            ("p50_plt_s", "0.00006"),
            ("p95_plt_s", "0.000105"),
            ("p99_plt_s", "0.000109"),
            ("rounds", "38"),
            ("rounds_total", "39"),
            ("mean_qct_s", "0.00006"),
            ("p50_qct_s", "0.00006"),
            ("p95_qct_s", "0.000105"),
            ("p99_qct_s", "0.000109"),
        ],
    );
}

#[test]
fn a_transfer_and_a_page() {
    let sources = ["mail", "web"].map(|label| TrafficSummary { label: label.to_owned(), ..Default::default() });
    let transfer = Completion {
        source: 1,
        number: 4,
        start: Time::ZERO + ms(2_500),
        is_measured: true,
        bytes: 5_000,
        took: Some(ms(300)),
        ideal: ms(200),
    };
    let table =
        completions(vec![transfer, Completion { is_measured: false, number: 5, took: None, ..transfer }], &sources);
    assert_cells(
        &table,
        0,
        &[
            ("source", "1"),
            ("label", "web"),
            ("number", "4"),
            ("start_s", "2.5"),
            ("measured", "1"),
            ("bytes", "5000"),
            ("fct_s", "0.3"),
            ("ideal_s", "0.2"),
            ("slowdown", "1.5"),
        ],
    );
    assert_eq!(
        cells(&table, 1)[4..7],
        [("measured", "0".to_owned()), ("bytes", "5000".to_owned()), ("fct_s", "-".to_owned())]
    );
    let page = PageLoad {
        source: 0,
        number: 6,
        start: Time::ZERO + ms(3_500),
        is_measured: true,
        objects: 7,
        bytes: 8_000,
        took: Some(ms(400)),
    };
    let cut_short = PageLoad { is_measured: false, number: 7, took: None, ..page };
    let later = PageLoad { start: page.start + ms(1), number: 0, ..page };
    let table = pages(vec![later, cut_short, page], &sources);
    assert_cells(
        &table,
        0,
        &[
            ("source", "0"),
            ("label", "mail"),
            ("number", "6"),
            ("start_s", "3.5"),
            ("measured", "1"),
            ("objects", "7"),
            ("bytes", "8000"),
            ("plt_s", "0.4"),
        ],
    );
    assert_eq!(cells(&table, 1)[4], ("measured", "0".to_owned()));
    assert_eq!(cells(&table, 1)[7], ("plt_s", "-".to_owned()));
    assert_eq!(cells(&table, 2)[3], ("start_s", "3.501".to_owned()), "pages stand in the order of their beginning");
}

#[test]
fn a_call() {
    let row = DatagramSummary {
        flow: 2,
        label: "call".into(),
        kind: "real-time",
        measured_s: 2.0,
        counts: FlowCounts { sent_bytes: 750_000, lost: 25, ..flow_counts(100) },
        knows_losses: true,
        has_frames: true,
        one_way: histogram(20),
        rtt: histogram(10),
        frames: histogram(15),
    };
    assert_cells(
        &datagrams(&[row]),
        0,
        &[
            ("flow", "2"),
            ("label", "call"),
            ("kind", "real-time"),
            ("sent", "100"),
            ("lost", "25"),
            ("loss", "0.25"),
            ("rate_mbps", "3"),
            ("mean_one_way_ms", "0.07"),
            ("p50_one_way_ms", "0.07"),
            ("p95_one_way_ms", "0.115"),
            ("p99_one_way_ms", "0.119"),
            ("min_rtt_ms", "0.01"),
            ("mean_rtt_ms", "0.06"),
            ("p50_rtt_ms", "0.06"),
            ("p95_rtt_ms", "0.105"),
            ("p99_rtt_ms", "0.109"),
            ("frames", "112"),
            ("late_frames", "113"),
            ("lost_frames", "114"),
            ("p50_frame_ms", "0.065"),
            ("p95_frame_ms", "0.11"),
            ("p99_frame_ms", "0.114"),
        ],
    );
}

#[test]
fn counts_grow_and_add_up_field_by_field() {
    let (large, small) = (flow_counts(500), flow_counts(100));
    let fields = |counts: FlowCounts| format!("{counts:?}").matches(": 400").count();
    assert_eq!(fields(large.since(small)), 16);
    assert_eq!(large.since(small).plus(small), large);
    let unknown = FlowCounts { lost: UNKNOWN, ..small };
    assert_eq!(large.since(unknown).lost, UNKNOWN);
    assert_eq!(FlowCounts { lost: UNKNOWN, ..large }.since(small).lost, UNKNOWN);
    assert_eq!((large.plus(unknown).lost, unknown.plus(large).lost), (UNKNOWN, UNKNOWN));
    let links = format!("{:?}", link_counts(500).since(link_counts(100)));
    assert_eq!(links.matches(": 400").count(), 12);
}

#[test]
fn what_only_an_endpoint_knows_that_can_be_looked_into_comes_from_the_simulator_alone() {
    let simulated: Vec<String> = columns::catalogue()
        .into_iter()
        .filter(|column| ["flows", "links", "series", "link_series"].contains(&column.table))
        .filter(|column| column.grounds == [columns::Ground::Simulator])
        .map(|column| column.name)
        .collect();
    let of_flows = ["lost", "lost_total", "probe_count", "probe_count_total", "undo_count", "undo_count_total"];
    let of_streams = ["messages", "mean_message_ms", "p95_message_ms", "mean_hol_ms", "p99_hol_ms", "hol_share"];
    let duplicates = ["duplicates", "duplicates_total"];
    let expected: Vec<&str> =
        of_flows.into_iter().chain(duplicates).chain(of_streams).chain(["rtt_ms", "lost_total"]).collect();
    assert_eq!(simulated, expected);
    assert_eq!((columns::Ground::Simulator.name(), columns::Ground::Linux.name()), ("simulator", "linux"));
}
