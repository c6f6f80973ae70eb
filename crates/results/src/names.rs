//! A column of names from a small set, such as states and modes: each name once, and four bytes a row.

/// Names of many rows, each distinct name held once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    distinct: Vec<String>,
    keys: Vec<u32>,
}

impl Names {
    /// Adds a row. The search is linear: sets are small, and rows in succession have mostly the same name.
    pub fn push(&mut self, name: &str) {
        let latest = self.keys.last().copied().filter(|&key| self.distinct[key as usize] == name);
        let key = latest.unwrap_or_else(|| self.key(name));
        self.keys.push(key);
    }

    /// Adds rows. Names at one place in memory are the same, and are looked up once.
    pub(crate) fn extend<'n>(&mut self, rows: impl Iterator<Item = &'n str>) {
        self.keys.reserve(rows.size_hint().0);
        let mut met: Vec<(&str, u32)> = Vec::new();
        for name in rows {
            let known = met.iter().find(|(met, _)| std::ptr::eq(*met, name)).map(|&(_, key)| key);
            let key = known.unwrap_or_else(|| {
                let key = self.key(name);
                met.push((name, key));
                key
            });
            self.keys.push(key);
        }
    }

    /// The position of a name, which is a new one if it is not known.
    fn key(&mut self, name: &str) -> u32 {
        self.position(name).unwrap_or_else(|| {
            self.distinct.push(name.to_owned());
            index(self.distinct.len() - 1)
        })
    }

    fn position(&self, name: &str) -> Option<u32> {
        self.distinct.iter().position(|known| known == name).map(index)
    }

    /// The distinct names and, for each row, the position of its own among them.
    pub fn into_parts(self) -> (Vec<String>, Vec<u32>) {
        (self.distinct, self.keys)
    }

    /// The name in a row, if there is such a row.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.keys.get(row).map(|&key| &*self.distinct[key as usize])
    }

    /// The names row by row.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|&key| &*self.distinct[key as usize])
    }

    /// Bytes of memory held for the rows; the distinct names are few.
    pub(crate) fn memory(&self) -> usize {
        self.keys.capacity() * size_of::<u32>()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl<'n> FromIterator<&'n str> for Names {
    fn from_iter<I: IntoIterator<Item = &'n str>>(rows: I) -> Names {
        let mut names = Names::default();
        names.extend(rows.into_iter());
        names
    }
}

fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distinct_name_is_held_once_and_rows_keep_their_order() {
        let rows = ["startup", "startup", "drain", "probe_bw", "drain", "startup"];
        let names: Names = rows.into_iter().collect();
        assert_eq!(names.iter().collect::<Vec<_>>(), rows);
        assert_eq!((names.get(2), names.get(6), names.len(), names.is_empty()), (Some("drain"), None, 6, false));
        assert!(Names::default().is_empty());
        let (distinct, keys) = names.into_parts();
        assert_eq!(distinct, ["startup", "drain", "probe_bw"]);
        assert_eq!(keys, [0, 0, 1, 2, 1, 0]);
    }

    #[test]
    fn equal_names_at_other_places_in_memory_are_one_name() {
        let copies = [String::from("drain"), String::from("drain"), String::from("drain, again")];
        // One name is the beginning of another, at the same place.
        let rows = [&copies[0], &copies[1], &copies[2], &copies[2][..5]];
        let mut names: Names = ["startup"].into_iter().collect();
        names.extend(rows.into_iter());
        assert_eq!(
            names.into_parts(),
            (vec!["startup".into(), "drain".into(), "drain, again".into()], vec![0, 1, 1, 2, 1])
        );
    }
}
