//! Large sweeps: their points are resolved when they are needed, as they were when the file was checked.

use dumbbell_path::LinkRate;
use dumbbell_scenario::{Experiment, Point};
use std::collections::BTreeSet;

const MINIMAL: &str = "[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\n[[flows]]\ncc = \"bbr\"\n";
const SWEEP: &str = "[sweep]\n\"path.rtt\" = [\"20ms\", \"30ms\", \"40ms\", \"50ms\", \"60ms\", \"70ms\", \"80ms\"]\n\
                     \"transport.ack_every\" = [1, 2, 3, 4, 5, 6, 7]\nrepeat = 2\n";

#[test]
fn points_of_a_large_sweep_are_what_they_are_alone_in_any_order() {
    points_are_what_they_are_alone(SWEEP, 7 * 7 * 2);
}

#[test]
fn points_of_a_small_sweep_whose_file_is_forgotten_are_what_they_are_alone_in_any_order() {
    points_are_what_they_are_alone("[sweep]\n\"path.rtt\" = [\"20ms\", \"30ms\"]\nrepeat = 2\n", 2 * 2);
    points_are_what_they_are_alone("[sweep]\nrepeat = 2\n", 2);
}

#[expect(clippy::unwrap_used, reason = "a test may panic")]
fn points_are_what_they_are_alone(sweep: &str, count: usize) {
    let experiment = Experiment::from_toml(&format!("{MINIMAL}{sweep}"), "test.toml", &[]).unwrap();
    let points = experiment.points();
    let hashes: Vec<String> = points.iter().map(Point::content_hash).collect();
    for point in points.iter().rev() {
        let settings = point.label().into_iter();
        let settings = settings.map(|(key, value)| (key, value.as_str().map_or(value.to_string(), str::to_owned)));
        let text = format!("{MINIMAL}[sweep]\nrepeat = 2\n");
        let alone = Experiment::from_toml(&text, "test.toml", &settings.collect::<Vec<_>>()).unwrap();
        let alone = &alone.points()[point.repeat() as usize];
        assert_eq!(point.content_hash(), alone.content_hash());
        assert_eq!(point.content_hash(), hashes[point.index()]);
        assert_eq!(point.resolved_toml(), alone.resolved_toml());
        assert_eq!(point.seed(), alone.seed());
    }
    assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), count);
}

#[test]
fn files_that_points_name_are_read_once() {
    let folder = std::env::temp_dir().join(format!("dumbbell-read-once-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("my.up"), "1\n2\n3\n").unwrap();
    let text = MINIMAL.replace("rate = \"10mbit\"", "trace = \"my.up\"");
    let experiment = Experiment::from_toml(&format!("{text}{SWEEP}"), folder.join("test.toml").to_str().unwrap(), &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    for point in experiment.unwrap().points() {
        let LinkRate::Trace { opportunities_ms, .. } = &point.scenario().links[0].config.rate else {
            panic!("no trace")
        };
        assert_eq!(opportunities_ms[..], [1, 2, 3]);
    }
}
