//! Draws values that a JSON schema describes.
//!
//! The schema is the one that editors read (`dumbbell schema`). It names every key of an experiment with its type, its
//! range, its unit and examples, so a key, a queue or an algorithm that is added later is drawn without a line here.
//! Choices are read from bytes: those of a seed, or those that a coverage-guided fuzzer chooses.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

/// How far values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Values of networks as they are, so that most experiments can be run.
    Usual,
    /// Also the ends of ranges, as far as they are allowed.
    Ends,
    /// Zero, the ends of ranges, values beyond them and values of other types, too.
    Wild,
}

/// Draws from a schema.
pub struct Drawer<'a> {
    bytes: Unstructured<'a>,
    schema: &'a Value,
    reach: Reach,
}

/// Tables within tables go no deeper.
const MAX_DEPTH: u32 = 12;

impl<'a> Drawer<'a> {
    /// Draws what `schema` describes by the choices in `bytes`. Where they end, every choice is the first one.
    pub fn new(bytes: &'a [u8], schema: &'a Value, reach: Reach) -> Drawer<'a> {
        Drawer { bytes: Unstructured::new(bytes), schema, reach }
    }

    /// A whole number within `range`.
    ///
    /// # Errors
    /// None that a caller meets: where bytes end, it is the smallest.
    pub fn number(&mut self, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
        self.bytes.int_in_range(range)
    }

    /// Whether something happens that has `part` chances of `whole`.
    ///
    /// # Errors
    /// As [`Drawer::number`].
    pub fn chance(&mut self, part: u8, whole: u8) -> Result<bool> {
        Ok(self.bytes.int_in_range(1..=whole)? > whole - part)
    }

    /// One of several.
    ///
    /// # Errors
    /// `items` is empty.
    pub fn one_of<'t, T>(&mut self, items: &'t [T]) -> Result<&'t T> {
        self.bytes.choose(items)
    }

    /// A value of a named definition of the schema.
    ///
    /// # Errors
    /// The schema offers nothing to choose from.
    pub fn definition(&mut self, name: &str) -> Result<Value> {
        let schema = self.schema;
        self.value(&schema["$defs"][name], name, 0)
    }

    /// A value of the whole schema.
    ///
    /// # Errors
    /// As [`Drawer::definition`].
    pub fn document(&mut self) -> Result<Value> {
        let schema = self.schema;
        self.value(schema, "", 0)
    }

    fn value(&mut self, schema: &'a Value, key: &str, depth: u32) -> Result<Value> {
        if depth > MAX_DEPTH {
            return Ok(Value::Null);
        }
        if self.reach == Reach::Wild && self.chance(1, 60)? {
            return self.something_else();
        }
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            let whole = self.schema;
            return self.value(&whole["$defs"][name], key, depth + 1);
        }
        if let Some(constant) = schema.get("const") {
            return Ok(constant.clone());
        }
        if let Some(allowed) = schema["enum"].as_array() {
            return Ok(self.one_of(allowed)?.clone());
        }
        if let Some(quantity) = schema["x-quantity"].as_str() {
            return self.quantity(quantity);
        }
        let branches = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
        if let Some(branches) = branches {
            let offered: Vec<_> = branches.iter().filter(|branch| branch["type"] != "null").collect();
            let branch = *self.one_of(&offered)?;
            return self.value(branch, key, depth + 1);
        }
        if let Some(branches) = schema["allOf"].as_array() {
            // Forms are written as conditions: `if` it is a table of this kind, `then` it looks so.
            let forms = branches.iter().map(|branch| &branch["then"]);
            let forms: Vec<_> = forms.filter(|form| form["type"].is_string() || form["$ref"].is_string()).collect();
            let form = *self.one_of(&forms)?;
            return self.value(form, key, depth + 1);
        }
        self.typed(schema, key, depth)
    }

    /// A value of one of the types that a schema allows.
    fn typed(&mut self, schema: &'a Value, key: &str, depth: u32) -> Result<Value> {
        let types: Vec<&str> = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect(),
            name => name.as_str().into_iter().collect(),
        };
        // A number that may be written as a text: what the text looks like is only in words.
        let is_number = types.contains(&"number") && schema["pattern"].is_string();
        let types = if is_number && self.reach != Reach::Wild { vec!["number"] } else { types };
        if types.is_empty() {
            return Ok(Value::Null);
        }
        match *self.one_of(&types)? {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, key, depth),
            "boolean" => Ok(Value::Bool(self.bytes.arbitrary()?)),
            "integer" => self.integer(schema),
            "number" => self.real(schema),
            _ => self.text(schema),
        }
    }

    /// A table with what it requires and some of the rest.
    fn object(&mut self, schema: &'a Value, depth: u32) -> Result<Value> {
        let mut table = Map::new();
        let Some(properties) = schema["properties"].as_object() else { return Ok(Value::Object(table)) };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let optional: Vec<&String> = properties.keys().filter(|name| !required.contains(&name.as_str())).collect();
        let mut names = required;
        if !optional.is_empty() {
            for _ in 0..self.bytes.int_in_range(0..=4)? {
                let name = *self.one_of(&optional)?;
                names.push(name);
                // Some keys mean something only beside another one.
                names.extend(properties[name]["x-with"].as_str().filter(|with| properties.contains_key(*with)));
            }
        }
        for name in names {
            if !table.contains_key(name) && name != "include" {
                let value = self.value(&properties[name], name, depth + 1)?;
                table.insert(name.to_owned(), value);
            }
        }
        Ok(Value::Object(table))
    }

    fn array(&mut self, schema: &'a Value, key: &str, depth: u32) -> Result<Value> {
        if let Some(items) = schema["prefixItems"].as_array() {
            return items.iter().map(|item| self.value(item, key, depth + 1)).collect();
        }
        let bound = |name: &str| schema[name].as_u64();
        let fewest = bound("minItems").unwrap_or(0);
        let most = bound("maxItems").unwrap_or(u64::MAX).min(fewest + 4);
        let count = self.bytes.int_in_range(fewest..=most)?;
        let mut items = (0..count).map(|_| self.value(&schema["items"], key, depth + 1)).collect::<Result<Vec<_>>>()?;
        if self.reach != Reach::Wild {
            in_order(&mut items);
        }
        Ok(Value::Array(items))
    }

    fn integer(&mut self, schema: &Value) -> Result<Value> {
        let lowest = schema["minimum"].as_u64().unwrap_or(0);
        let highest = schema["maximum"].as_u64().unwrap_or(u64::MAX >> 1).max(lowest);
        if self.reach == Reach::Wild && self.chance(1, 4)? {
            let edges = [0, lowest, lowest.wrapping_sub(1), highest, highest + 1, u64::from(u32::MAX), u64::MAX];
            return Ok(json!(*self.one_of(&edges)?));
        }
        if self.reach == Reach::Ends && self.chance(1, 2)? {
            return Ok(json!(*self.one_of(&[lowest, lowest + 1, highest, highest.min(u64::from(u32::MAX))])?));
        }
        let near = schema["default"].as_u64().unwrap_or(10).max(1);
        let drawn = match self.bytes.int_in_range(0..=2)? {
            0 => self.bytes.int_in_range(near / 2..=near.saturating_mul(2))?,
            1 => self.bytes.int_in_range(0..=16)?,
            _ => self.bytes.int_in_range(0..=near.saturating_mul(20))?,
        };
        Ok(json!(drawn.clamp(lowest, highest)))
    }

    fn real(&mut self, schema: &Value) -> Result<Value> {
        let lowest = schema["minimum"].as_f64().unwrap_or(0.0);
        let highest = schema["maximum"].as_f64().unwrap_or(1e3).max(lowest);
        if self.reach == Reach::Wild && self.chance(1, 4)? {
            return Ok(json!(*self.one_of(&[0.0, -1.0, lowest, highest, 1e308, 1e-308])?));
        }
        if self.reach == Reach::Ends && self.chance(1, 2)? {
            return Ok(json!(*self.one_of(&[lowest, highest])?));
        }
        let near = schema["default"].as_f64().unwrap_or(1.0);
        let factor = f64::from(self.bytes.int_in_range(0..=400u32)?) / 100.0;
        Ok(json!((near * factor).clamp(lowest, highest)))
    }

    /// A text: an example with another number, or a name.
    fn text(&mut self, schema: &Value) -> Result<Value> {
        let Some(examples) = schema["examples"].as_array() else {
            return Ok(json!(*self.one_of(&["a", "b", "c", "a-b", "b-c"])?));
        };
        let example = self.one_of(examples)?.as_str().unwrap_or_default();
        let digits = example.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(example.len());
        let Ok(number) = example[..digits].parse::<f64>() else { return Ok(json!(example)) };
        let factor = f64::from(self.bytes.int_in_range(0..=300u32)?) / 100.0;
        let (places, unit) = (usize::from(number * factor < 10.0) * 2, &example[digits..]);
        Ok(json!(format!("{:.places$}{unit}", number * factor)))
    }

    /// A duration, a rate, a size or a ratio.
    fn quantity(&mut self, quantity: &str) -> Result<Value> {
        if self.reach == Reach::Wild && self.chance(1, 3)? {
            let odd = match quantity {
                "time" => ["0s", "-1s", "1e300s", "584y", "0.1ns", "9223372036854775807ns", "20", "ms"],
                "rate" => ["0bit", "1bit", "1e30gbit", "18446744073709551615bit", "10MBps", "0.5bit", "10", "-1mbit"],
                "bytes" => ["0B", "1B", "1e30B", "18446744073709551615B", "0.5B", "16EiB", "-1B", "kB"],
                _ => ["0%", "100%", "100.1%", "1e-300", "-1%", "NaN", "1e30", "%"],
            };
            return Ok(json!(*self.one_of(&odd)?));
        }
        if self.reach == Reach::Ends && self.chance(1, 2)? {
            let ends = match quantity {
                "time" => ["0s", "1ns", "1h", "584y"],
                "rate" => ["0bit", "1bit", "100tbit", "1kbit"],
                "bytes" => ["0B", "1B", "1000B", "18000000TB"],
                _ => ["0%", "100%", "1e-9", "4294967295"],
            };
            return Ok(json!(*self.one_of(&ends)?));
        }
        // Small and large values are as likely.
        let decade = self.bytes.int_in_range(0..=3u32)?;
        let digits = f64::from(self.bytes.int_in_range(10..=99u32)?) / 10.0;
        let value = digits * 10f64.powi(i32::try_from(decade).unwrap_or(0));
        Ok(match quantity {
            "time" => json!(format!("{:.1}ms", value / 10.0)),
            "rate" => json!(format!("{:.0}kbit", value * 10.0)),
            "bytes" => json!(format!("{:.0}B", value * 100.0)),
            _ => json!(format!("{:.3}%", value / 100.0)),
        })
    }

    /// What the schema does not allow.
    fn something_else(&mut self) -> Result<Value> {
        let odd = [
            json!(null),
            json!(true),
            json!(-1),
            json!(1e308),
            json!(""),
            json!("\u{1b}[31m\u{202e}"),
            json!([]),
            json!({}),
            json!([[[[]]]]),
            json!("10mbps "),
            json!("a".repeat(300)),
        ];
        Ok(self.one_of(&odd)?.clone())
    }
}

/// Steps (`[["0s", ...], ["2s", ...]]`) begin at 0 and are in the order of time; other lists of numbers rise.
fn in_order(items: &mut [Value]) {
    if items.iter().all(Value::is_u64) {
        items.sort_by_key(Value::as_u64);
        return;
    }
    let is_steps = items.iter().all(|item| item.as_array().is_some_and(|pair| pair.len() == 2 && pair[0].is_string()));
    if is_steps {
        for (index, item) in items.iter_mut().enumerate() {
            item[0] = json!(format!("{}ms", index * 300));
        }
    }
}
