//! What the application does, and who is called when.

use crate::digest::Digest;
use crate::network::{Fates, Way};
use dumbbell_transport::{ReceiverStats, SenderStats};
use dumbbell_units::{Duration, Rng, Time};
use std::fmt::Write;

/// Two ends that a story can drive.
pub trait Ends {
    type Data: Clone;
    type Answer: Clone;

    fn establish(&mut self, now: Time, rtt: Duration);
    fn write(&mut self, now: Time, packets: u32, last_len: u16);
    fn close(&mut self, now: Time);
    /// What the near end sends now.
    fn poll_near(&mut self, now: Time) -> Option<Self::Data>;
    /// What the far end sends now.
    fn poll_far(&mut self, now: Time) -> Option<Self::Answer>;
    fn on_data(&mut self, now: Time, data: Self::Data, is_marked: bool);
    fn on_answer(&mut self, now: Time, answer: Self::Answer);
    fn next_timer(&self) -> Time;
    fn on_timer(&mut self, now: Time);
    fn note_data(digest: &mut Digest, data: &Self::Data);
    fn note_answer(digest: &mut Digest, answer: &Self::Answer);
    /// What the ends show.
    fn note(&self, digest: &mut Digest);
    /// What the ends show, in a few words.
    fn words(&self) -> String;
    fn sent(&self) -> SenderStats;
    fn received(&self) -> ReceiverStats;
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Write(u32, u16),
    Close,
    Row,
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// What happens to two ends.
#[derive(Clone, Debug)]
pub struct Plan {
    there: Fates,
    back: Fates,
    /// Times in milliseconds.
    acts: Vec<(u64, Act)>,
}

impl Plan {
    /// The story that is told in rows.
    pub fn told() -> Plan {
        let ways = Fates { delay: Duration::from_millis(5), late_by: Duration::from_micros(3_500), ..Fates::default() };
        let there = Fates {
            service: Duration::from_millis(1),
            marked_behind: 6,
            dropped_behind: 14,
            lost: 83,
            late: 59,
            copied: 71,
            outage: (ms(4_000), ms(4_700)),
            ..ways
        };
        let back = Fates { lost: 43, late: 61, copied: 97, ..ways };
        let mut acts = vec![
            (20, Act::Write(1, 100)),
            (60, Act::Write(60, 700)),
            (200, Act::Row),
            (300, Act::Write(200, 700)),
            (700, Act::Row),
            // A pause, and small pieces.
            (3_000, Act::Write(30, 1)),
        ];
        acts.extend((0..20).map(|piece| (3_100 + 15 * piece, Act::Write(1, 500))));
        acts.extend([
            (3_600, Act::Row),
            // An outage begins amid this.
            (3_980, Act::Write(60, 700)),
            (6_000, Act::Write(12, 700)),
            (8_000, Act::Row),
            (8_000, Act::Write(400, 700)),
            (8_300, Act::Close),
            (12_000, Act::Row),
        ]);
        Plan { there, back, acts }
    }

    /// Another one, drawn by its number: slow and fast paths, long and short ones, with few accidents and with many.
    pub fn drawn(number: u64) -> Plan {
        let mut rng = Rng::new(number);
        let mut draw = |from: u32, to: u32| u64::from(from + rng.below(to - from + 1));
        let mut way = |service: Duration, dropped_behind: u64| {
            let begins = ms(draw(0, 4_000));
            let mut every = || if draw(0, 2) == 0 { 0 } else { draw(11, 150) };
            Fates {
                service,
                dropped_behind,
                marked_behind: dropped_behind / 2,
                lost: every(),
                late: every(),
                copied: every(),
                delay: Duration::from_micros(250 * draw(2, 160)),
                late_by: Duration::from_micros(250 * draw(1, 40)),
                outage: (begins, begins + Duration::from_millis(draw(0, 1) * draw(20, 900))),
            }
        };
        let (there, back) =
            (way(Duration::from_micros(250 * (1 + number % 6)), 3 + 5 * (number % 5)), way(Duration::ZERO, 0));
        let mut at = 100;
        let mut acts = Vec::new();
        for _ in 0..12 {
            let (packets, last_len) = (if draw(0, 1) == 0 { draw(1, 4) } else { draw(10, 250) }, draw(1, 500));
            acts.push((at, Act::Write(u32::try_from(packets).unwrap(), u16::try_from(last_len).unwrap())));
            at += if draw(0, 2) == 0 { draw(1, 30) } else { draw(100, 900) };
        }
        acts.extend([(at, Act::Close), (at + 5_000, Act::Row)]);
        Plan { there, back, acts }
    }
}

pub struct Story<E: Ends> {
    ends: E,
    there: Way<E::Data>,
    back: Way<E::Answer>,
    acts: Vec<(u64, Act)>,
    now: Time,
    digest: Digest,
}

impl<E: Ends> Story<E> {
    pub fn new(ends: E, plan: Plan) -> Story<E> {
        let Plan { there, back, acts } = plan;
        let (there, back) = (Way::new(there), Way::new(back));
        Story { ends, there, back, acts, now: Time::ZERO, digest: Digest::new() }
    }

    /// A row of the table for each stage.
    pub fn tell(mut self, name: &str, table: &mut String) {
        self.now = ms(12);
        self.ends.establish(self.now, Duration::from_millis(12));
        writeln!(table, "{name}").unwrap();
        for (at, act) in std::mem::take(&mut self.acts) {
            self.run_until(ms(at));
            match act {
                Act::Write(packets, last_len) => self.ends.write(self.now, packets, last_len),
                Act::Close => self.ends.close(self.now),
                Act::Row => self.write_row(table),
            }
            self.transmit();
        }
    }

    fn next(&self) -> Time {
        self.there.next().min(self.back.next()).min(self.ends.next_timer())
    }

    fn run_until(&mut self, end: Time) {
        let mut steps = 0;
        while self.next() < end {
            self.now = self.now.max(self.next());
            while let Some((data, is_marked)) = self.there.take(self.now) {
                self.ends.on_data(self.now, data, is_marked);
                self.answer();
            }
            while let Some((answer, _)) = self.back.take(self.now) {
                self.ends.on_answer(self.now, answer);
                self.transmit();
            }
            self.ends.on_timer(self.now);
            self.transmit();
            self.answer();
            self.ends.note(&mut self.digest);
            steps += 1;
            assert!(steps < 100_000, "the clock stands still at {}", self.now);
        }
        self.now = end;
    }

    fn transmit(&mut self) {
        while let Some(data) = self.ends.poll_near(self.now) {
            self.digest.add(self.now.as_nanos());
            E::note_data(&mut self.digest, &data);
            self.there.send(self.now, data);
        }
    }

    fn answer(&mut self) {
        while let Some(answer) = self.ends.poll_far(self.now) {
            self.digest.add(self.now.as_nanos());
            E::note_answer(&mut self.digest, &answer);
            self.back.send(self.now, answer);
        }
    }

    fn write_row(&mut self, table: &mut String) {
        let (sent, received) = (self.ends.sent(), self.ends.received());
        for value in [
            sent.sent_bytes,
            sent.recovery_count,
            sent.dsacked_segments,
            received.delivered_bytes,
            received.arrived_bytes,
            received.arrived_segments,
        ] {
            self.digest.add(value);
        }
        writeln!(
            table,
            "{:>8}: {} sent {} again {} RTOs {} probes {} undone {}; delivered {} twice {} marked {} ACKs {}; {}",
            format!("{} ms", self.now.as_nanos() / 1_000_000),
            self.digest,
            sent.sent_segments,
            sent.retransmitted_segments,
            sent.rto_count,
            sent.probe_count,
            sent.undo_count,
            received.delivered_segments,
            received.duplicate_segments,
            received.ce_segments,
            received.acks_sent,
            self.ends.words()
        )
        .unwrap();
    }
}
