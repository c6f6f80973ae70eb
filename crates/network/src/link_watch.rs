//! Samples of the links of a run, and which of them are full, as samples show it.

use crate::report::link_sample;
use crate::{Entry, for_each_link};
use dumbbell_path::{Media, Packet};
use dumbbell_results::LinkSample;
use dumbbell_units::{Duration, Time};

/// Samples in succession that are judged together: one may fall between two packets of a slow link.
const SAMPLES: usize = 4;
/// A link that carries this share of what it could is full.
const FULL: f64 = 0.95;
/// So is one that carries this share while packets wait.
const NEARLY_FULL: f64 = 0.9;

/// The links of a run, of which samples are taken.
#[derive(Debug)]
pub struct LinkWatch {
    /// Bytes that had left each link at the sample before.
    departed: Vec<u64>,
    recent: Vec<Recent>,
}

/// The latest samples of a link, which take turns.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    departed_bits: [f64; SAMPLES],
    capacity_bits: [f64; SAMPLES],
    has_queue: [bool; SAMPLES],
    /// The place of the oldest.
    oldest: usize,
    /// What they show, once somebody has asked.
    is_full: Option<bool>,
}

impl LinkWatch {
    /// So many links, of which no sample has been taken.
    pub fn new(links: usize) -> LinkWatch {
        LinkWatch { departed: vec![0; links], recent: vec![Recent::default(); links] }
    }

    /// Takes a sample of every link at `now`, `interval` after the one before, in the order of the scenario.
    pub fn sample<P: Packet + Send>(
        &mut self,
        media: &mut Media<P>,
        entries: &[Entry],
        (now, interval): (Time, Duration),
        mut take: impl FnMut(usize, LinkSample),
    ) {
        let mut index = 0;
        for_each_link(media, entries, |medium, port| {
            let sample = link_sample(medium, port, now, interval, &mut self.departed[index]);
            self.recent[index].note(&sample);
            take(index, sample);
            index += 1;
        });
    }

    /// Whether a link was full at its latest sample: packets have waited in the latest four samples, or it has carried
    /// 95 % of what it could over these, 90 % if packets wait now.
    #[inline]
    pub fn is_full(&mut self, link: usize) -> bool {
        self.recent[link].is_full()
    }
}

impl Recent {
    #[inline]
    fn note(&mut self, sample: &LinkSample) {
        let place = self.oldest % SAMPLES;
        self.departed_bits[place] = sample.departed_bits;
        self.capacity_bits[place] = sample.capacity_bits.map_or(f64::INFINITY, |bits| bits as f64);
        self.has_queue[place] = sample.queue_packets > 0;
        self.oldest = (place + 1) % SAMPLES;
        self.is_full = None;
    }

    #[inline]
    fn is_full(&mut self) -> bool {
        self.is_full.unwrap_or_else(|| {
            let is_full = self.finds_full();
            self.is_full = Some(is_full);
            is_full
        })
    }

    fn finds_full(&self) -> bool {
        let in_order =
            |of: &[f64; SAMPLES]| (0..SAMPLES).map(|number| of[(self.oldest + number) % SAMPLES]).sum::<f64>();
        let capacity = in_order(&self.capacity_bits);
        let share = if capacity > 0.0 { in_order(&self.departed_bits) / capacity } else { 0.0 };
        let waits = self.has_queue[(self.oldest + SAMPLES - 1) % SAMPLES];
        share >= FULL || (waits && (share >= NEARLY_FULL || self.has_queue.iter().all(|&has_queue| has_queue)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(departed_bits: f64, queue_packets: u64) -> LinkSample {
        LinkSample { departed_bits, queue_packets, capacity_bits: Some(10_000), ..LinkSample::default() }
    }

    /// Whether a link is full after these samples: bits that left of 10,000 that could, and packets that wait.
    fn is_full(samples: &[(f64, u64)]) -> bool {
        let mut recent = Recent::default();
        samples.iter().for_each(|&(bits, waits)| recent.note(&sample(bits, waits)));
        recent.is_full()
    }

    #[test]
    fn a_slow_link_is_full_though_no_packet_leaves_within_a_sample() {
        assert!(is_full(&[(12_000.0, 1), (12_000.0, 2), (12_000.0, 0), (12_000.0, 1), (0.0, 1)]));
        assert!(is_full(&[(12_000.0, 0); 4]));
    }

    #[test]
    fn a_burst_on_an_idle_link_does_not_fill_it() {
        assert!(!is_full(&[(0.0, 0), (0.0, 0), (0.0, 0), (12_000.0, 3)]));
        assert!(!is_full(&[(5_000.0, 1), (5_000.0, 0), (5_000.0, 1), (5_000.0, 1)]));
    }

    #[test]
    fn a_link_that_stands_is_full_while_packets_wait() {
        assert!(is_full(&[(0.0, 5); 4]));
        assert!(!is_full(&[(0.0, 0); 4]));
    }

    #[test]
    fn a_link_is_full_for_as_long_as_its_latest_samples_say_so() {
        let samples = [(9_600.0, 1), (9_600.0, 0), (0.0, 0), (9_600.0, 1), (9_600.0, 0), (9_600.0, 0), (9_600.0, 0)];
        let mut recent = Recent::default();
        let shown = samples.map(|(bits, waits)| {
            recent.note(&sample(bits, waits));
            (recent.is_full(), recent.is_full())
        });
        // Where there was no sample yet, nothing could have left.
        assert_eq!(shown, [true, true, false, false, false, false, true].map(|is_full| (is_full, is_full)));
    }

    #[test]
    fn a_link_without_a_rate_is_never_full() {
        let mut recent = Recent::default();
        let unlimited = LinkSample { departed_bits: 1e12, capacity_bits: None, ..LinkSample::default() };
        (0..9).for_each(|_| recent.note(&unlimited));
        assert!(!recent.is_full());
    }
}
