//! What stations of different speed and category get of a channel.

use super::bench::{channel, channel_with, link, of_frames, plain, run, saturate, secs};
use crate::dscp::Dscp;
use crate::medium::Medium;
use crate::wifi::{AccessCategory, Away, Wifi};
use dumbbell_units::{Duration, Time};

/// Frames a second of an MCS 9 and an MCS 0 station whose aggregates have eight frames, to the access point or from it.
fn mixed(airtime_fairness: bool, uplink: bool) -> [f64; 2] {
    mixed_with_airtime(airtime_fairness, uplink).map(|(frames, _)| frames)
}

/// The frames a second of [`mixed`], each with the seconds that the station uses the channel for.
fn mixed_with_airtime(airtime_fairness: bool, uplink: bool) -> [(f64, f64); 2] {
    let wifi = |mcs| Wifi { mcs, airtime_fairness, ..of_frames(8) };
    let ends = |station| if uplink { (station, 0) } else { (0, station) };
    let links = [(1, 9), (2, 0)].map(|(station, mcs)| link(wifi(mcs), ends(station).0, ends(station).1, 0.0, 1));
    let mut channel = channel(links.to_vec());
    let packets = saturate(&mut channel, &[0, 1], secs(50));
    [0u16, 1].map(|port| {
        let airtime = channel.radio(port).unwrap().airtime.as_secs_f64();
        (packets[usize::from(port)] as f64 / 50.0, airtime)
    })
}

fn alone(mcs: u8) -> f64 {
    let mut channel = channel(vec![link(Wifi { mcs, ..of_frames(8) }, 0, 1, 0.0, 1)]);
    saturate(&mut channel, &[0], secs(10))[0] as f64 / 10.0
}

#[test]
fn a_slow_station_drags_a_fast_one_down_to_its_rate() {
    let [fast, slow] = mixed(false, true);
    assert!((fast / slow - 1.0).abs() < 0.02, "{fast} {slow}");
    assert!(fast < alone(9) / 8.0 && slow > alone(0) * 0.8, "{fast} {slow} {} {}", alone(9), alone(0));
    let [fast, slow] = mixed(false, false);
    assert!((fast / slow - 1.0).abs() < 0.01, "an access point that serves them in turn does the same: {fast} {slow}");
}

#[test]
fn with_airtime_fairness_both_use_the_channel_for_as_long() {
    let [(fast, fast_airtime), (slow, slow_airtime)] = mixed_with_airtime(true, false);
    assert!((fast_airtime / slow_airtime - 1.0).abs() < 0.01, "{fast_airtime} {slow_airtime}");
    // Idle slots before an exchange are nobody's: the fast one has the more of them.
    assert!((0.5..0.6).contains(&(fast / alone(9))), "{fast} of {}", alone(9));
    assert!((0.4..0.5).contains(&(slow / alone(0))), "{slow} of {}", alone(0));
}

#[test]
fn a_station_that_is_away_leaves_the_channel_to_the_other() {
    let away = Away { every: Duration::from_millis(200), span: Duration::from_millis(80), from: Time::ZERO };
    for (uplink, prebuild) in [(true, false), (true, true), (false, false), (false, true)] {
        let ends = |station| if uplink { (station, 0) } else { (0, station) };
        let wifi = |away| Wifi { away, prebuild, ..of_frames(8) };
        let links = [(1, Some(away)), (2, None)]
            .map(|(station, away)| link(wifi(away), ends(station).0, ends(station).1, 0.0, 1));
        let mut channel = channel(links.to_vec());
        let mut while_away = 0;
        let packets = run(&mut channel, &[0, 1], secs(10), |_, now, port, _| {
            // What was begun before the station left arrives within a millisecond.
            let phase = now.as_micros() % 200_000;
            while_away += u32::from(port == 0 && (1_000..80_000).contains(&phase));
        });
        assert_eq!(while_away, 0, "uplink {uplink}, prebuild {prebuild}");
        let frames = packets.iter().sum::<u64>() as f64 / 10.0;
        assert!((0.97..1.05).contains(&(frames / alone(9))), "{frames} of {}", alone(9));
        let share = packets[0] as f64 / packets[1] as f64;
        assert!(if uplink { (0.40..0.46).contains(&share) } else { (0.4..1.0).contains(&share) }, "{share}");
    }
}

#[test]
fn what_a_station_sends_itself_counts_as_its_airtime() {
    // Station 1 also sends: the access point sends it the less.
    let ends = [(0, 1), (0, 2), (1, 0)];
    let links = ends.map(|(from, to)| link(of_frames(8), from, to, 0.0, 1)).to_vec();
    let mut channel = channel(links);
    saturate(&mut channel, &[0, 1, 2], secs(10));
    let airtime = [0, 1, 2].map(|port| channel.radio(port).unwrap().airtime.as_secs_f64());
    assert!(airtime[0] < 0.02 * airtime[1] && airtime[2] > 0.9 * airtime[1], "{airtime:?}");
}

#[test]
fn voice_goes_before_best_effort_and_background_comes_last() {
    use AccessCategory::{Background, BestEffort, Voice};
    let with = |category| Wifi { category, ..of_frames(4) };
    let links = [Voice, BestEffort, Background].into_iter().enumerate();
    let links = links.map(|(index, category)| link(with(category), index + 1, 0, 0.0, 1)).collect();
    let packets = saturate(&mut channel(links), &[0, 1, 2], secs(5));
    assert!(packets[0] > 5 * packets[1] && packets[1] > 2 * packets[2], "{packets:?}");
}

#[test]
fn flows_choose_their_category() {
    // The test packets belong to flow 0.
    let links = vec![link(plain(), 1, 0, 0.0, 1), link(plain(), 2, 0, 0.0, 1)];
    let mut channel = channel_with(links, &[AccessCategory::Voice]);
    channel.assign(0, 0, Some(Dscp::Ef));
    saturate(&mut channel, &[0], secs(1));
    let radio = channel.radio(0).unwrap();
    let mean = radio.packets as f64 / radio.aggregates as f64;
    assert!((40.0..=42.0).contains(&mean));
    let airtime = radio.airtime.as_secs_f64();
    assert!(airtime > 0.94, "the backoff of voice is 13.5 us on average: {airtime}");
}
