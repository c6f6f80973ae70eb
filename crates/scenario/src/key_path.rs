//! Names of places in an experiment file: `path.loss`, `flows[0].cc`, `flows[*].start`.

use std::fmt;

/// One step into a table or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Entry of a table.
    Key(String),
    /// Element of a list.
    Index(usize),
    /// Every element of a list.
    Each,
}

/// A place in an experiment file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyPath(pub Vec<Step>);

impl KeyPath {
    /// Reads `a.b[0].c`, `a[*].b` and `a."b c"`; the error says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<KeyPath, String> {
        let mut steps = Vec::new();
        let mut rest = text.trim();
        loop {
            let (key, after) = if let Some(quoted) = rest.strip_prefix('"') {
                quoted.split_once('"').ok_or_else(|| format!("`{text}` has a quote without its end"))?
            } else {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(rest.len());
                rest.split_at(end)
            };
            if key.is_empty() {
                return Err(format!("`{text}` is not a key path; write it like `path.loss` or `flows[0].cc`"));
            }
            steps.push(Step::Key(key.to_owned()));
            rest = after;
            while let Some(bracket) = rest.strip_prefix('[') {
                let (index, after) =
                    bracket.split_once(']').ok_or_else(|| format!("`{text}` has a `[` without its `]`"))?;
                steps.push(match index.trim() {
                    "*" => Step::Each,
                    digits => Step::Index(digits.parse().map_err(|_| {
                        format!("`[{index}]` in `{text}` is not an index; write a number from 0 or `*` for every one")
                    })?),
                });
                rest = after;
            }
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None if rest.is_empty() => return Ok(KeyPath(steps)),
                None => return Err(format!("unexpected `{rest}` in the key path `{text}`")),
            }
        }
    }

    /// The path of entry `key` in the table at this path.
    pub(crate) fn key(&self, key: &str) -> KeyPath {
        self.with(Step::Key(key.to_owned()))
    }

    /// The path of an entry of a table in this table, `keys` being joined by dots; this path when there are none.
    pub(crate) fn keys(&self, keys: &str) -> KeyPath {
        keys.split('.').filter(|key| !key.is_empty()).fold(self.clone(), |at, key| at.key(key))
    }

    /// The path of element `index` in the list at this path.
    pub(crate) fn index(&self, index: usize) -> KeyPath {
        self.with(Step::Index(index))
    }

    /// Whether one of both paths leads to the place of the other one, or into it.
    pub(crate) fn overlaps(&self, other: &KeyPath) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| match (own, other) {
            (Step::Key(own), Step::Key(other)) => own == other,
            (Step::Index(own), Step::Index(other)) => own == other,
            (Step::Each, Step::Index(_) | Step::Each) | (Step::Index(_), Step::Each) => true,
            _ => false,
        })
    }

    /// Whether the path leads to the file's entry `key`, or into it.
    pub(crate) fn is_of(&self, key: &str) -> bool {
        matches!(self.0.first(), Some(Step::Key(first)) if first == key)
    }

    fn with(&self, step: Step) -> KeyPath {
        let mut steps = self.0.clone();
        steps.push(step);
        KeyPath(steps)
    }

    /// The path of the table or list that holds this place.
    pub(crate) fn parent(&self) -> Option<KeyPath> {
        let (_, parent) = self.0.split_last()?;
        Some(KeyPath(parent.to_vec()))
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) => {
                    let dot = if i == 0 { "" } else { "." };
                    let bare = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
                    if bare { write!(f, "{dot}{key}")? } else { write!(f, "{dot}\"{key}\"")? }
                }
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Each => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_paths_print_as_they_are_read() {
        for text in
            ["duration", "path.loss", "flows[0].cc", "flows[*].cc.name", "presets.\"my own\".base", "a[1][2].b-c"]
        {
            assert_eq!(KeyPath::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_key_paths_are_explained() {
        for text in ["", ".", "a.", "a[", "a[x]", "a[-1]", "a b", "[0]", "a\"", "\"a"] {
            assert!(KeyPath::parse(text).is_err(), "{text}");
        }
    }
}
