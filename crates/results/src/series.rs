//! Time series: packed as they were recorded, and a table once somebody reads them.

use crate::columns::Declared;
use crate::packed::{GROUP, Packed, Place, groups};
use crate::samples::{FLOW_SERIES, FLOW_STATES, FlowSample, LINK_SERIES, LinkSample, Row, Sample};
use crate::{Column, Table, Values};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// So many rows are made into columns at a time: what they take stays in the processor's cache meanwhile.
const CHUNK: usize = 64;

/// What a value is that a controller lets be observed.
const OBSERVED: &str = "Value of the controller's own; its unit is part of its name.";

/// The names of the values that controllers let be observed, each once, and for each flow which of them it has.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub names: Vec<String>,
    /// In the order in which its controller gives them.
    pub places: Vec<Arc<[usize]>>,
}

impl Observed {
    pub fn new<N: AsRef<str>>(flows: impl Iterator<Item = Vec<N>>) -> Observed {
        let mut observed = Observed { names: Vec::new(), places: Vec::with_capacity(flows.size_hint().0) };
        for names in flows {
            let places = match observed.places.last() {
                Some(latest) if observed.are_at(latest, &names) => latest.clone(),
                _ => names.iter().map(|name| observed.place(name.as_ref())).collect(),
            };
            observed.places.push(places);
        }
        observed
    }

    /// Whether the columns of these names are at those `places`.
    fn are_at<N: AsRef<str>>(&self, places: &[usize], names: &[N]) -> bool {
        places.iter().map(|&place| self.names[place].as_str()).eq(names.iter().map(AsRef::as_ref))
    }

    fn place(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// How many values a flow has.
    #[inline]
    pub fn count(&self, flow: usize) -> usize {
        self.places.get(flow).map_or(0, |places| places.len())
    }
}

/// Packed rows, and what their words mean.
#[derive(Debug)]
pub(crate) enum Rows {
    Flows { packed: Packed, names: Vec<&'static str>, observed: Arc<Observed> },
    Links { packed: Packed },
}

impl Rows {
    fn packed(&self) -> &Packed {
        match self {
            Rows::Flows { packed, .. } | Rows::Links { packed } => packed,
        }
    }

    fn table(&self) -> Table {
        match self {
            Rows::Flows { packed, names, observed } => {
                let mut columns = Columns::<FlowSample>::new(FLOW_SERIES.iter().chain(FLOW_STATES), packed.rows());
                let mut values = vec![Vec::with_capacity(packed.rows()); observed.names.len()];
                packed.read(
                    |flow| FlowSample::GROUPS + groups(observed.count(flow as usize)),
                    |place, words| {
                        columns.push(row(place, words, names));
                        values.iter_mut().for_each(|values| values.push(f64::NAN));
                        let own = observed.places.get(place.index as usize).into_iter().flat_map(|own| own.iter());
                        for (&column, &word) in own.zip(&words[FlowSample::GROUPS * GROUP..]) {
                            if let Some(value) = values[column].last_mut() {
                                *value = f64::from_bits(word);
                            }
                        }
                    },
                );
                let mut columns = columns.end();
                let states = columns.split_off(FLOW_SERIES.len());
                columns.extend(observed.names.iter().zip(values).map(|(name, values)| Column {
                    name: format!("cc_{name}"),
                    unit: "",
                    meaning: OBSERVED,
                    values: Values::Float(values),
                }));
                columns.extend(states);
                Table { columns }
            }
            Rows::Links { packed } => {
                let mut columns = Columns::<LinkSample>::new(LINK_SERIES.iter(), packed.rows());
                packed.read(|_| LinkSample::GROUPS, |place, words| columns.push(row(place, words, &[])));
                Table { columns: columns.end() }
            }
        }
    }
}

fn row<S: Sample>(place: Place, words: &[u64], names: &[&'static str]) -> Row<S> {
    Row { t_s: place.at.as_secs_f64(), index: place.index, sample: S::read(words, names) }
}

/// Columns that grow by some rows at a time.
struct Columns<S: 'static> {
    latest: Vec<Row<S>>,
    columns: Vec<(&'static Declared<Row<S>>, Values)>,
}

impl<S> Columns<S> {
    /// Columns with room for so many rows.
    fn new(declared: impl Iterator<Item = &'static Declared<Row<S>>>, rows: usize) -> Columns<S> {
        let columns = declared.map(|column| (column, column.none(rows))).collect();
        Columns { latest: Vec::with_capacity(CHUNK), columns }
    }

    fn push(&mut self, row: Row<S>) {
        self.latest.push(row);
        if self.latest.len() >= CHUNK {
            self.settle();
        }
    }

    fn settle(&mut self) {
        for (declared, values) in &mut self.columns {
            declared.extend(&self.latest, values);
        }
        self.latest.clear();
    }

    fn end(mut self) -> Vec<Column> {
        self.settle();
        self.columns.into_iter().map(|(declared, values)| declared.with(values)).collect()
    }
}

/// The time series of the flows or of the links of a run, or a piece of it.
///
/// It reads as a [`Table`], which is made when somebody looks at it first. Before that a row takes some tens of bytes
/// instead of 160 and more.
#[derive(Clone, Default)]
pub struct Series {
    rows: Option<Arc<Rows>>,
    table: OnceLock<Table>,
}

impl Series {
    pub(crate) fn new(rows: Rows) -> Series {
        Series { rows: Some(Arc::new(rows)), table: OnceLock::new() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.as_ref().map_or(0, |rows| rows.packed().rows())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that the rows take without their table.
    pub fn memory(&self) -> u64 {
        self.rows.as_ref().map_or(0, |rows| rows.packed().memory())
    }

    /// The table.
    pub fn into_table(self) -> Table {
        let Series { rows, table } = self;
        table.into_inner().or_else(|| rows.map(|rows| rows.table())).unwrap_or_default()
    }
}

impl Deref for Series {
    type Target = Table;

    fn deref(&self) -> &Table {
        self.table.get_or_init(|| self.rows.as_ref().map(|rows| rows.table()).unwrap_or_default())
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
