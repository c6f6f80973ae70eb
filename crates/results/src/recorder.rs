//! Time series, sampled at a fixed interval.
//!
//! The recorder only looks: a run gives the same bytes in its summary tables whether it records or not.

use crate::packed::{GROUP, Group, Packed, Place, groups};
use crate::samples::{Arrived, FLOW_SERIES, FLOW_STATES, FlowSample, LINK_SERIES, LinkSample, Sample};
use crate::series::{Observed, Rows, Series};
use dumbbell_units::{Duration, Time};
use std::sync::Arc;

/// Records the series of a run. What has been recorded is [taken](Recorder::take) from time to time.
pub struct Recorder {
    interval: Option<Duration>,
    samples: u64,
    flows: Packed,
    /// Modes and states that were met.
    names: Vec<&'static str>,
    observed: Arc<Observed>,
    links: Packed,
    /// What a controller has let be observed, of which there were so many; behind it are zeros.
    values: Vec<[f64; GROUP]>,
    observed_last: usize,
}

impl Recorder {
    /// A recorder that wants a sample every `interval`; none where that is `None` or zero. `observables` gives for each
    /// flow the names of the values that its controller lets be observed.
    pub fn new<N: AsRef<str>>(interval: Option<Duration>, observables: impl Iterator<Item = Vec<N>>) -> Recorder {
        let observed = Observed::new(observables);
        let most = observed.places.iter().map(|places| places.len()).max().unwrap_or(0);
        Recorder {
            interval: interval.filter(|interval| *interval > Duration::ZERO),
            samples: 0,
            flows: Packed::new(FlowSample::WHOLE, FlowSample::GROUPS + groups(most)),
            names: Vec::new(),
            observed: Arc::new(observed),
            links: Packed::new(LinkSample::WHOLE, LinkSample::GROUPS),
            values: vec![[0.0; GROUP]; groups(most)],
            observed_last: 0,
        }
    }

    /// When the next sample is due; [`Time::NEVER`] without recording or after `end`.
    pub fn next(&self, end: Time) -> Time {
        match self.interval {
            Some(interval) => {
                let due = Time::ZERO + interval * (self.samples + 1);
                if due <= end { due } else { Time::NEVER }
            }
            None => Time::NEVER,
        }
    }

    /// Begins the sample that is due; its spacing, or `None` where nothing is recorded.
    pub fn begin(&mut self) -> Option<Duration> {
        self.samples += u64::from(self.interval.is_some());
        self.interval
    }

    /// Adds a flow to the sample. `observe` writes the values of its controller, in the order of their names.
    #[inline]
    pub fn flow(&mut self, now: Time, index: usize, sample: FlowSample, observe: impl FnOnce(&mut [f64])) {
        let observed = self.observe(index, observe);
        let names = &mut self.names;
        self.flows.push(place(now, index), &self.values[..observed], |before| sample.words(before, names));
    }

    /// Has the values of a controller written; returns how many groups they are.
    #[inline(always)]
    fn observe(&mut self, index: usize, observe: impl FnOnce(&mut [f64])) -> usize {
        let count = self.observed.count(index);
        if count != self.observed_last {
            self.values.fill([0.0; GROUP]);
            self.observed_last = count;
        }
        observe(&mut self.values.as_flattened_mut()[..count]);
        groups(count)
    }

    /// Adds a flow to the sample whose sender nothing has reached since the sample before; of this one only what arrived
    /// and what limits the sender need be known. Adds nothing, and returns false, where these are others than before:
    /// then it is to be [added](Self::flow) as a whole.
    #[inline]
    pub fn flow_again(&mut self, now: Time, index: usize, arrived: &Arrived, limited_by: &'static str) -> bool {
        let names = &self.names;
        let repeats = |words: &[Group]| FlowSample::repeats(arrived, limited_by, words, names);
        self.flows.push_again_if(place(now, index), repeats)
    }

    /// Whether the latest row of a flow shows this sample.
    pub fn is_latest(&mut self, index: usize, sample: &FlowSample, observe: impl FnOnce(&mut [f64])) -> bool {
        let observed = self.observe(index, observe);
        let (own, others) = self.flows.latest(place(Time::ZERO, index).index).split_at(FlowSample::GROUPS);
        let words = sample.words(own, &mut self.names);
        let values = self.values[..observed].iter().map(|values| values.map(f64::to_bits));
        words == *own && values.eq(others[..observed].iter().copied())
    }

    /// Adds a link to the sample.
    pub fn link(&mut self, now: Time, index: usize, sample: LinkSample) {
        self.links.push(place(now, index), &[], |_| sample.words());
    }

    /// Bytes of memory that the samples hold which have not been taken.
    pub fn memory(&self) -> u64 {
        self.flows.memory() + self.links.memory()
    }

    /// Bytes of memory that the samples hold, and that their tables will take besides.
    pub fn memory_with_tables(&self) -> u64 {
        self.memory() + self.table_bytes()
    }

    /// Bytes of memory that the tables of these samples would take.
    pub fn table_bytes(&self) -> u64 {
        let (index, floats) = (size_of::<u32>(), |columns: usize| columns * size_of::<f64>());
        let states = FLOW_STATES.len() * size_of::<u32>();
        let flow = index + floats(FLOW_SERIES.len() - 1 + self.observed.names.len()) + states;
        let link = index + floats(LINK_SERIES.len() - 1);
        (self.flows.rows() * flow + self.links.rows() * link) as u64
    }

    /// The series of the flows and of the links since they were taken last.
    pub fn take(&mut self) -> (Series, Series) {
        let (names, observed) = (self.names.clone(), self.observed.clone());
        let flows = Rows::Flows { packed: self.flows.take(), names, observed };
        let links = Rows::Links { packed: self.links.take() };
        (Series::new(flows), Series::new(links))
    }
}

#[inline]
fn place(at: Time, index: usize) -> Place {
    Place { at, index: u32::try_from(index).unwrap_or(u32::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Names, Table, Tells, Values};

    fn recorder(observables: &[&[&str]]) -> Recorder {
        Recorder::new(Some(Duration::from_millis(10)), observables.iter().map(|names| names.to_vec()))
    }

    fn column<'t>(table: &'t Table, name: &str) -> &'t Values {
        &table.columns.iter().find(|column| column.name == name).unwrap().values
    }

    #[test]
    fn samples_are_due_at_multiples_of_the_interval_up_to_the_end() {
        let mut recorder = recorder(&[]);
        let end = Time::ZERO + Duration::from_millis(20);
        let mut due = Vec::new();
        while recorder.next(end) != Time::NEVER {
            due.push(recorder.next(end).as_nanos() / 1_000_000);
            recorder.begin();
        }
        assert_eq!(due, [10, 20]);
        assert_eq!(Recorder::new(None, std::iter::empty::<Vec<&str>>()).next(end), Time::NEVER);
    }

    #[test]
    fn flows_whose_controllers_observe_other_values_share_columns_by_name() {
        let mut recorder = recorder(&[&["bw_mbps", "round"], &["round"]]);
        let sample = FlowSample { ca_state: "open", ..FlowSample::default() };
        recorder.begin();
        recorder.flow(Time::ZERO, 0, sample.clone(), |values| values.copy_from_slice(&[5.0, 1.0]));
        recorder.flow(Time::ZERO, 1, sample, |values| values.copy_from_slice(&[7.0]));
        let (flows, _) = recorder.take();
        let Values::Float(bandwidth) = column(&flows, "cc_bw_mbps") else { panic!("a number") };
        assert!(bandwidth[0] == 5.0 && bandwidth[1].is_nan());
        assert_eq!(column(&flows, "cc_round"), &Values::Float(vec![1.0, 7.0]));
        assert_eq!(column(&flows, "ca_state"), &Values::Name(["open", "open"].into_iter().collect::<Names>()));
    }

    #[test]
    fn a_row_is_repeated_if_there_was_one_and_the_same_arrived_and_limits_the_sender() {
        let mut recorder = recorder(&[&["round"], &[]]);
        let arrived = |goodput_bytes| Arrived { goodput_bytes, received_bytes: 0, mbps_per_byte: 0.1 };
        assert!(!recorder.flow_again(Time::ZERO, 0, &arrived(0), ""), "there was no row");
        let whole = FlowSample { cwnd: 7, arrived: arrived(10), limited_by: "cwnd", ..FlowSample::default() };
        recorder.flow(Time::ZERO, 0, whole.clone(), |values| values[0] = 3.0);
        let later = Time::from_nanos(1);
        assert!(!recorder.flow_again(later, 0, &arrived(11), "cwnd"));
        assert!(!recorder.flow_again(later, 0, &arrived(10), "timeout"));
        assert!(!recorder.flow_again(later, 1, &arrived(10), "cwnd"), "another flow");
        assert!(recorder.flow_again(later, 0, &arrived(10), "cwnd"));
        assert!(recorder.is_latest(0, &whole, |values| values[0] = 3.0));
        assert!(!recorder.is_latest(0, &whole, |values| values[0] = 4.0));
        let (flows, _) = recorder.take();
        assert_eq!(column(&flows, "t_s"), &Values::Float(vec![0.0, 1e-9]));
        assert_eq!(column(&flows, "cwnd"), &Values::Float(vec![7.0, 7.0]));
        assert_eq!(column(&flows, "cc_round"), &Values::Float(vec![3.0, 3.0]));
        assert!(!recorder.flow_again(later, 0, &arrived(10), "cwnd"), "rows that were taken are gone");
    }

    #[test]
    fn rows_keep_their_order_when_they_are_taken_between_two_of_any_number() {
        let mut recorder = recorder(&[&["bw_mbps", "round"], &["round"]]);
        let number = |row: u32| f64::from(row);
        let mut next = 0;
        for rows in [1, 63, 64, 65, 200, 0] {
            let wanted: Vec<_> = (next..next + rows).collect();
            for &row in &wanted {
                let sample =
                    FlowSample { cwnd: row, mode: ["drain", "startup"][row as usize / 3 % 2], ..FlowSample::default() };
                let observed = [number(row) / 2.0, -number(row)];
                let flow = row as usize % 2;
                recorder.flow(Time::ZERO, flow, sample, |values| values.copy_from_slice(&observed[flow..]));
                recorder.link(Time::ZERO, 0, LinkSample { drops: u64::from(row), ..LinkSample::default() });
            }
            next += rows;
            let (flows, links) = recorder.take();
            let floats = |of: &dyn Fn(u32) -> f64| Values::Float(wanted.iter().map(|&row| of(row)).collect());
            assert_eq!(column(&flows, "cwnd"), &floats(&number));
            assert_eq!(column(&flows, "cc_round"), &floats(&|row| -number(row)));
            assert_eq!(column(&links, "drops_total"), &floats(&number));
            let Values::Float(bandwidth) = column(&flows, "cc_bw_mbps") else { panic!("a number") };
            assert!(bandwidth.iter().zip(&wanted).all(|(&value, &row)| match row % 2 {
                0 => value == number(row) / 2.0,
                _ => value.is_nan(),
            }));
            let Values::Name(modes) = column(&flows, "mode") else { panic!("names") };
            assert!(modes.iter().eq(wanted.iter().map(|&row| ["drain", "startup"][row as usize / 3 % 2])));
            assert!(flows.columns.iter().all(|column| column.values.len() == wanted.len()));
        }
    }

    #[test]
    fn flows_may_have_any_number_of_values_of_their_controllers() {
        let names: Vec<_> = (0..40).map(|number| format!("v{number}")).collect();
        let counts = [0, 1, 3, 8, 9, 17, 40];
        let mut recorder = Recorder::new(None, counts.iter().map(|&count| names[..count].to_vec()));
        let value = |row: usize, number: usize| (row * number) as f64;
        for row in 0..200 {
            let observe = |values: &mut [f64]| (0..).zip(values).for_each(|(number, to)| *to = value(row, number));
            recorder.flow(Time::ZERO, row * 5 % counts.len(), FlowSample::default(), observe);
        }
        let (flows, _) = recorder.take();
        for (number, name) in names.iter().enumerate() {
            let Values::Float(values) = column(&flows, &format!("cc_{name}")) else { panic!("a number") };
            let is_right = |(row, &got): (usize, &f64)| match number < counts[row * 5 % counts.len()] {
                true => got == value(row, number),
                false => got.is_nan(),
            };
            assert!(values.iter().enumerate().all(is_right) && values.len() == 200, "{name}");
        }
    }

    #[test]
    fn the_memory_of_samples_grows_with_them_until_they_are_taken() {
        let mut recorder = recorder(&[&["bw_mbps"]]);
        assert_eq!((recorder.memory(), recorder.table_bytes()), (0, 0));
        let sample = |number: u32| FlowSample { cwnd: number, sent: number.into(), ..FlowSample::default() };
        for number in 0..1_000 {
            recorder.flow(Time::from_nanos(number.into()), 0, sample(number), |_| {});
            recorder.link(Time::from_nanos(number.into()), 0, LinkSample::default());
        }
        assert!((8_000..24_000).contains(&recorder.memory()), "{}", recorder.memory());
        // A flow: 17 numbers and one of its controller's own, its index, and three names.
        let bytes = 1_000 * (18 * 8 + 4 + 3 * 4) + 1_000 * (6 * 8 + 4);
        assert_eq!(recorder.table_bytes(), bytes);
        let (flows, links) = recorder.take();
        let of_table = |table: &Table| table.columns.iter().map(|column| column.values.memory()).sum::<u64>();
        assert_eq!((flows.len(), links.len()), (1_000, 1_000));
        assert!(of_table(&flows) + of_table(&links) - bytes < 1_000 * 4 * 3, "names have no room of their own");
        assert_eq!((recorder.memory(), recorder.table_bytes()), (0, 0));
    }

    /// The columns of a flow's sample in which there are numbers.
    fn numbers(sample: FlowSample) -> Vec<(String, f64)> {
        let mut recorder = recorder(&[&[]]);
        recorder.flow(Time::ZERO, 0, sample, |_| {});
        let (flows, _) = recorder.take();
        let numbers = flows.columns.iter().filter_map(|column| match &column.values {
            Values::Float(values) => Some((column.name.clone(), values[0])),
            _ => None,
        });
        numbers.filter(|(_, value)| !value.is_nan()).collect()
    }

    fn named(numbers: &[(&str, f64)]) -> Vec<(String, f64)> {
        numbers.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn of_a_sender_that_nobody_looks_into_only_arrivals_are_numbers() {
        let sample = FlowSample {
            tells: Tells::Nothing,
            arrived: Arrived { goodput_bytes: 3, received_bytes: 0, mbps_per_byte: 2.0 },
            ..FlowSample::default()
        };
        let known = [("t_s", 0.0), ("goodput_mbps", 6.0), ("received_mbps", 0.0)];
        assert_eq!(numbers(sample), named(&known));
    }

    #[test]
    fn of_a_sender_without_a_controller_arrivals_and_counts_are_numbers() {
        let sample =
            FlowSample { tells: Tells::Counts, sent: 7, rtt_us: Some(5_000), srtt_us_x8: 8, ..FlowSample::default() };
        let known = [
            ("t_s", 0.0),
            ("rtt_ms", 5.0),
            ("goodput_mbps", 0.0),
            ("received_mbps", 0.0),
            ("sent_total", 7.0),
            ("retransmits_total", 0.0),
        ];
        assert_eq!(numbers(sample), named(&known));
    }

    #[test]
    fn what_is_unknown_is_no_number() {
        let mut recorder = recorder(&[&[]]);
        recorder.flow(Time::ZERO, 0, FlowSample::default(), |_| {});
        recorder.link(Time::ZERO, 0, LinkSample::default());
        let (flows, links) = recorder.take();
        for (table, name) in [
            (&flows, "ssthresh"),
            (&flows, "rtt_ms"),
            (&flows, "srtt_ms"),
            (&flows, "min_rtt_ms"),
            (&links, "utilization"),
        ] {
            let Values::Float(values) = column(table, name) else { panic!("a number") };
            assert!(values[0].is_nan(), "{name}");
        }
    }
}
