//! The statements in `%{ … }%`: assertions about `struct tcp_info`, in the part of Python that scripts use.

use std::collections::HashMap;
use std::fmt;

/// A value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number; truth values are 0 and 1.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Text(value) => write!(f, "{value:?}"),
        }
    }
}

/// Why a block of code did not run to its end.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// An assertion does not hold; line within the block, its text, and the values of the names in it.
    False {
        /// Lines before it in the block.
        line: u32,
        /// Its text.
        text: String,
        /// Names in it and their values.
        values: String,
    },
    /// Something that is not known here.
    Unknown(String),
}

/// A constant of the kernel's headers.
pub fn constant(name: &str) -> Option<i64> {
    let value = match name {
        "TCP_CA_Open" => 0,
        "TCP_CA_Disorder" => 1,
        "TCP_CA_CWR" => 2,
        "TCP_CA_Recovery" => 3,
        "TCP_CA_Loss" => 4,
        "TCP_ESTABLISHED" | "TCPI_OPT_TIMESTAMPS" => 1,
        "TCPI_OPT_SACK" => 2,
        "TCPI_OPT_WSCALE" => 4,
        "TCPI_OPT_ECN" => 8,
        "TCPI_OPT_ECN_SEEN" => 16,
        "TCPI_OPT_SYN_DATA" => 32,
        "TCP_INFINITE_SSTHRESH" => 0x7fff_ffff,
        _ => return None,
    };
    Some(value)
}

/// Words and signs of a statement at most: brackets within brackets take room on the stack.
const MOST_TOKENS: usize = 1_000;

/// Statements with the variables they have set.
#[derive(Clone, Debug, Default)]
pub struct Code {
    variables: HashMap<String, Value>,
}

impl Code {
    /// Runs the statements of a block; `look_up` knows the names that no statement has set.
    pub fn run(&mut self, text: &str, look_up: &dyn Fn(&str) -> Option<Value>) -> Result<(), Trouble> {
        for (line, statement) in statements(text) {
            self.statement(line, &statement, look_up)?;
        }
        Ok(())
    }

    fn statement(&mut self, line: u32, text: &str, look_up: &dyn Fn(&str) -> Option<Value>) -> Result<(), Trouble> {
        let tokens = tokens(text)?;
        if tokens.len() > MOST_TOKENS {
            return Err(Trouble::Unknown(format!("a statement of more than {MOST_TOKENS} words")));
        }
        let mut reader = Reader { tokens: &tokens, at: 0, variables: &self.variables, look_up, used: Vec::new() };
        match tokens.first() {
            None => Ok(()),
            Some(Token::Name(name)) if name == "assert" => {
                reader.at = 1;
                let value = reader.expression()?;
                if !matches!(reader.peek(), None | Some(Token::Sign(","))) {
                    return Err(Trouble::Unknown(format!("the statement `{text}`")));
                }
                if truth(&value) {
                    return Ok(());
                }
                let values: Vec<_> = reader.used.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                Err(Trouble::False { line, text: text.to_owned(), values: values.join(", ") })
            }
            Some(Token::Name(name)) if name == "print" || name == "import" || name == "pass" => Ok(()),
            Some(Token::Name(name)) if tokens.get(1) == Some(&Token::Sign("=")) => {
                let name = name.clone();
                reader.at = 2;
                let value = reader.expression()?;
                self.variables.insert(name, value);
                Ok(())
            }
            Some(_) => Err(Trouble::Unknown(format!("the statement `{text}`"))),
        }
    }
}

/// Statements and the number of line breaks before each: lines, joined within brackets and behind a backslash, and
/// split at semicolons; comments are left out.
fn statements(text: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let mut current = String::new();
    let (mut line, mut first_line, mut depth) = (0, 0, 0);
    let mut quote: Option<char> = None;
    let mut chars = text.chars().peekable();
    let mut finish = |current: &mut String, first_line: u32| {
        let statement = std::mem::take(current).trim().to_owned();
        if !statement.is_empty() {
            found.push((first_line, statement));
        }
    };
    while let Some(c) = chars.next() {
        if current.trim().is_empty() {
            first_line = line;
        }
        line += u32::from(c == '\n');
        match (quote, c) {
            (Some(open), _) => {
                current.push(c);
                quote = (c != open).then_some(open);
            }
            (None, '"' | '\'') => {
                quote = Some(c);
                current.push(c);
            }
            (None, '#') => while chars.next_if(|&next| next != '\n').is_some() {},
            (None, '\\') if chars.peek() == Some(&'\n') => {
                chars.next();
                line += 1;
                current.push(' ');
            }
            (None, '\n' | ';') if depth == 0 => finish(&mut current, first_line),
            (None, _) => {
                depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
                current.push(c);
            }
        }
    }
    finish(&mut current, first_line);
    found
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Value(Value),
    Name(String),
    Sign(&'static str),
}

const SIGNS: [&str; 28] = [
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",", "<", ">", "=",
    "&", "|", "^", "~", ".", ":", "{",
];

fn tokens(text: &str) -> Result<Vec<Token>, Trouble> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let taken = if c.is_ascii_digit() {
            let mut length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(rest.len());
            let number = &rest[..length];
            if number.ends_with(['e', 'E']) && rest[length..].starts_with(['+', '-']) {
                length += 1 + rest[length + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - length - 1);
            }
            let number = &rest[..length];
            let value = match number.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16).ok().map(Value::Int),
                None => number.parse().ok().map(Value::Int).or_else(|| number.parse().ok().map(Value::Float)),
            };
            tokens.push(Token::Value(value.ok_or_else(|| Trouble::Unknown(format!("the number `{number}`")))?));
            length
        } else if c.is_ascii_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            tokens.push(match &rest[..length] {
                "True" => Token::Value(Value::Int(1)),
                "False" => Token::Value(Value::Int(0)),
                name => Token::Name(name.to_owned()),
            });
            length
        } else if c == '"' || c == '\'' {
            let end = rest[1..].find(c).ok_or_else(|| Trouble::Unknown("a text that does not end".to_owned()))?;
            tokens.push(Token::Value(Value::Text(rest[1..=end].to_owned())));
            end + 2
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            sign.len()
        } else {
            return Err(Trouble::Unknown(format!("`{c}` in `{text}`")));
        };
        rest = rest[taken..].trim_start();
    }
    Ok(tokens)
}

fn truth(value: &Value) -> bool {
    match value {
        Value::Int(value) => *value != 0,
        Value::Float(value) => *value != 0.0,
        Value::Text(value) => !value.is_empty(),
    }
}

struct Reader<'r> {
    tokens: &'r [Token],
    at: usize,
    variables: &'r HashMap<String, Value>,
    look_up: &'r dyn Fn(&str) -> Option<Value>,
    /// Names that were read, with their values.
    used: Vec<(String, Value)>,
}

type Evaluated = Result<Value, Trouble>;

/// Binary operators, from those that bind least.
const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "//", "%"]];

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn eat(&mut self, sign: &'static str) -> bool {
        let is_here = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is_here);
        is_here
    }

    fn eat_name(&mut self, name: &str) -> bool {
        let is_here = matches!(self.peek(), Some(Token::Name(other)) if other == name);
        self.at += usize::from(is_here);
        is_here
    }

    fn expression(&mut self) -> Evaluated {
        let value = self.disjunction()?;
        if self.eat_name("if") {
            let condition = self.disjunction()?;
            if !self.eat_name("else") {
                return Err(Trouble::Unknown("`if` without `else`".to_owned()));
            }
            let other = self.expression()?;
            return Ok(if truth(&condition) { value } else { other });
        }
        Ok(value)
    }

    fn disjunction(&mut self) -> Evaluated {
        let mut value = self.conjunction()?;
        while self.eat_name("or") {
            let other = self.conjunction()?;
            value = if truth(&value) { value } else { other };
        }
        Ok(value)
    }

    fn conjunction(&mut self) -> Evaluated {
        let mut value = self.negation()?;
        while self.eat_name("and") {
            let other = self.negation()?;
            value = if truth(&value) { other } else { value };
        }
        Ok(value)
    }

    fn negation(&mut self) -> Evaluated {
        if self.eat_name("not") {
            return Ok(Value::Int(i64::from(!truth(&self.negation()?))));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Evaluated {
        let mut left = self.level(0)?;
        let mut holds = None;
        while let Some(&Token::Sign(sign @ ("<" | ">" | "<=" | ">=" | "==" | "!="))) = self.peek() {
            self.at += 1;
            let right = self.level(0)?;
            let is_so = compare(sign, &left, &right);
            holds = Some(holds.unwrap_or(true) && is_so);
            left = right;
        }
        Ok(holds.map_or(left, |holds| Value::Int(i64::from(holds))))
    }

    fn level(&mut self, level: usize) -> Evaluated {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some(&Token::Sign(sign)) = self.peek()
            && signs.contains(&sign)
        {
            self.at += 1;
            let right = self.level(level + 1)?;
            left = arithmetic(sign, &left, &right)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Evaluated {
        if self.eat("-") {
            let value = self.unary()?;
            return arithmetic("-", &Value::Int(0), &value);
        }
        if self.eat("+") {
            return self.unary();
        }
        if self.eat("~") {
            return match self.unary()? {
                Value::Int(value) => Ok(Value::Int(!value)),
                other => Err(Trouble::Unknown(format!("`~{other}`"))),
            };
        }
        let base = self.atom()?;
        if self.eat("**") {
            let exponent = self.unary()?;
            return arithmetic("**", &base, &exponent);
        }
        Ok(base)
    }

    fn atom(&mut self) -> Evaluated {
        let token = self.peek().cloned();
        self.at += 1;
        match token {
            Some(Token::Value(value)) => Ok(value),
            Some(Token::Sign("(")) => {
                let value = self.expression()?;
                // Python's tuple: only as what is printed, where it does not matter.
                while self.eat(",") {
                    self.expression()?;
                }
                if self.eat(")") {
                    Ok(value)
                } else {
                    Err(Trouble::Unknown("a bracket that does not close".to_owned()))
                }
            }
            Some(Token::Name(name)) if self.peek() == Some(&Token::Sign("(")) => self.function(&name),
            Some(Token::Name(name)) => {
                let value = self.variables.get(&name).cloned().or_else(|| (self.look_up)(&name));
                let value = value.ok_or_else(|| Trouble::Unknown(format!("`{name}`")))?;
                if !self.used.iter().any(|(other, _)| *other == name) && name.starts_with(char::is_lowercase) {
                    self.used.push((name, value.clone()));
                }
                Ok(value)
            }
            _ => Err(Trouble::Unknown("an expression that ends too early".to_owned())),
        }
    }

    fn function(&mut self, name: &str) -> Evaluated {
        self.at += 1;
        let mut args = Vec::new();
        while !self.eat(")") {
            args.push(self.expression()?);
            if !self.eat(",") && self.peek() != Some(&Token::Sign(")")) {
                return Err(Trouble::Unknown(format!("the arguments of `{name}`")));
            }
        }
        let number = |value: &Value| match value {
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            Value::Text(_) => None,
        };
        let pick = |is_better: fn(f64, f64) -> bool| {
            args.iter().cloned().reduce(|best, value| match (number(&value), number(&best)) {
                (Some(a), Some(b)) if is_better(a, b) => value,
                _ => best,
            })
        };
        let value = match (name, &args[..]) {
            ("abs", [Value::Int(value)]) => Some(Value::Int(value.saturating_abs())),
            ("abs", [Value::Float(value)]) => Some(Value::Float(value.abs())),
            ("int", [value]) => number(value).map(|value| Value::Int(value as i64)),
            ("float", [value]) => number(value).map(Value::Float),
            ("round", [value]) => number(value).map(|value| Value::Int(value.round_ties_even() as i64)),
            ("str", [value]) => Some(Value::Text(value.to_string())),
            ("min", [_, ..]) => pick(|a, b| a < b),
            ("max", [_, ..]) => pick(|a, b| a > b),
            _ => None,
        };
        value.ok_or_else(|| Trouble::Unknown(format!("`{name}(…)`")))
    }
}

fn compare(sign: &str, left: &Value, right: &Value) -> bool {
    use std::cmp::Ordering;
    let order = match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Int(left), Value::Float(right)) => (*left as f64).partial_cmp(right),
        (Value::Float(left), Value::Int(right)) => left.partial_cmp(&(*right as f64)),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        _ => None,
    };
    match sign {
        "==" => order == Some(Ordering::Equal),
        "!=" => order != Some(Ordering::Equal),
        "<" => order == Some(Ordering::Less),
        ">" => order == Some(Ordering::Greater),
        "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn arithmetic(sign: &str, left: &Value, right: &Value) -> Evaluated {
    let refuse = || Trouble::Unknown(format!("`{left} {sign} {right}`"));
    let of_floats = |left: f64, right: f64| match sign {
        "+" => Some(left + right),
        "-" => Some(left - right),
        "*" => Some(left * right),
        "/" => Some(left / right),
        "//" => Some((left / right).floor()),
        "%" => Some(left - right * (left / right).floor()),
        "**" => Some(left.powf(right)),
        _ => None,
    };
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => {
            let shift = u32::try_from(*right).ok();
            match sign {
                "+" => left.checked_add(*right),
                "-" => left.checked_sub(*right),
                "*" => left.checked_mul(*right),
                "//" if *right > 0 => left.checked_div_euclid(*right),
                "%" if *right > 0 => left.checked_rem_euclid(*right),
                "<<" => shift.and_then(|shift| left.checked_shl(shift)),
                ">>" => shift.and_then(|shift| left.checked_shr(shift)),
                "**" => shift.and_then(|exponent| left.checked_pow(exponent)),
                "&" => Some(left & right),
                "|" => Some(left | right),
                "^" => Some(left ^ right),
                "/" if *right != 0 => return Ok(Value::Float(*left as f64 / *right as f64)),
                _ => None,
            }
            .map(Value::Int)
        }
        (Value::Text(left), Value::Text(right)) if sign == "+" => Some(Value::Text(format!("{left}{right}"))),
        // A text with values in it: only as a message, whose content does not matter.
        (Value::Text(left), _) if sign == "%" => Some(Value::Text(left.clone())),
        (Value::Int(left), Value::Float(right)) => of_floats(*left as f64, *right).map(Value::Float),
        (Value::Float(left), Value::Int(right)) => of_floats(*left, *right as f64).map(Value::Float),
        (Value::Float(left), Value::Float(right)) => of_floats(*left, *right).map(Value::Float),
        _ => None,
    }
    .ok_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Result<(), Trouble> {
        Code::default().run(text, &|name| match name {
            "tcpi_snd_cwnd" => Some(Value::Int(10)),
            "tcpi_rtt" => Some(Value::Int(100_000)),
            "TCP_CA_Recovery" => Some(Value::Int(3)),
            _ => None,
        })
    }

    #[test]
    fn what_python_holds_to_be_true_holds() {
        for expression in [
            "tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
            "tcpi_snd_cwnd == 10, 'cwnd: %d, rtt %d' % (tcpi_snd_cwnd, tcpi_rtt)",
            "(tcpi_snd_cwnd == 10 and not tcpi_rtt == 1) or False",
            "90000 <= tcpi_rtt < 110000",
            "abs(tcpi_rtt - 99 * 1000) <= 1000",
            "2 + 3 * 4 == 14 and 2 ** 3 ** 2 == 512 and -2 ** 2 == -4",
            "7 // 2 == 3 and 7 / 2 == 3.5 and 1 << 4 == 16 and (12 & 10 | 1) == 9",
            "max(1, 3, 2) == 3 and min(2, 1) == 1 and int(2.9) == 2 and float(2) == 2",
            "(3 if tcpi_rtt > 5 else 4) == TCP_CA_Recovery",
        ] {
            assert_eq!(run(&format!("assert {expression}")), Ok(()), "{expression}");
        }
    }

    #[test]
    fn an_assertion_that_fails_shows_its_text_and_the_values_in_it() {
        let trouble =
            run("\n  # the window\n  x = tcpi_snd_cwnd + 1; assert x == 11\n  assert (tcpi_snd_cwnd ==\n 11)");
        let text = "assert (tcpi_snd_cwnd == 11)".replace("== 11", "==\n 11");
        assert_eq!(trouble, Err(Trouble::False { line: 3, text, values: "tcpi_snd_cwnd = 10".to_owned() }));
    }

    #[test]
    fn what_is_not_known_is_named() {
        let unknown = |text: &str| match run(text) {
            Err(Trouble::Unknown(what)) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(unknown("assert tcpi_fackets == 1"), "`tcpi_fackets`");
        assert_eq!(unknown("for i in range(3): pass"), "the statement `for i in range(3): pass`");
        assert_eq!(unknown("assert len(tcpi_rtt)"), "`len(…)`");
        assert_eq!(unknown("assert 1 / 0"), "`1 / 0`");
        assert_eq!(unknown(&format!("assert {}1", "(".repeat(10_000))), "a statement of more than 1000 words");
    }
}
