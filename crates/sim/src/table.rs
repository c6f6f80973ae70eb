//! Results as columns: the engine's side of an Arrow table.

/// A table: columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns, in order.
    pub columns: Vec<Column>,
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, with the unit where there is one: `goodput_mbps`.
    pub name: String,
    /// Values.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Floating point; NaN means "no value" and becomes null.
    Float(Vec<f64>),
    /// Counts.
    Count(Vec<u64>),
    /// Small numbers such as the index of a flow.
    Index(Vec<u32>),
    /// Text; repeated values are worth dictionary encoding.
    Text(Vec<String>),
    /// Text from a small set (modes, states).
    Name(Names),
}

/// Names that repeat from row to row: four bytes a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    names: Vec<String>,
    keys: Vec<u32>,
}

impl Names {
    /// Adds a row.
    pub fn push(&mut self, name: &str) {
        // Most rows repeat the one before.
        let last = self.keys.last().copied().filter(|key| self.names[*key as usize] == name);
        let key = last.unwrap_or_else(|| {
            let known = self.names.iter().position(|known| known == name);
            known.unwrap_or_else(|| {
                self.names.push(name.to_owned());
                self.names.len() - 1
            }) as u32
        });
        self.keys.push(key);
    }

    /// The different names, in the order of their first row, and for each row which of them it has.
    pub fn into_parts(self) -> (Vec<String>, Vec<u32>) {
        (self.names, self.keys)
    }

    /// The name of every row.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| self.names[*key as usize].as_str())
    }
}

impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<I: IntoIterator<Item = &'a str>>(rows: I) -> Names {
        let mut names = Names::default();
        rows.into_iter().for_each(|name| names.push(name));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_every_row_and_each_text_once() {
        let rows = ["open", "open", "loss", "open", "", "loss"];
        let names: Names = rows.into_iter().collect();
        assert!(names.iter().eq(rows));
        let (texts, keys) = names.into_parts();
        assert_eq!(texts, ["open", "loss", ""]);
        assert_eq!(keys, [0, 0, 1, 0, 2, 1]);
    }
}
