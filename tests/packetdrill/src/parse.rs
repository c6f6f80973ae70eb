//! Reads a script. The language is packetdrill's; what of it has no meaning for a simulator becomes [`What::Foreign`].

use crate::script::{
    Arg, ByteCounters, Call, Direction, Event, Flags, Moment, Options, Packet, Place, Script, What, When,
};
use dumbbell_path::Ecn;
use dumbbell_units::Duration;

/// Why a text is not a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ParseError {
    /// Where.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Reads the text of a script.
pub fn parse(text: &str) -> Result<Script, ParseError> {
    let mut scanner = Scanner { text, at: 0, depth: 0 };
    let mut script = Script::default();
    loop {
        scanner.skip_blank()?;
        if scanner.is_at_end() {
            return Ok(script);
        }
        if scanner.rest().starts_with("--") {
            script.options.push(scanner.option()?);
        } else {
            let event = scanner.event()?;
            script.events.push(event);
        }
    }
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// Lists within lists.
    depth: u32,
}

/// Times of a script at most: longer than any timeout.
const LONGEST: Duration = Duration::from_secs(1_000_000);
/// Lists within lists at most.
const DEEPEST: u32 = 32;

type Parsed<T> = Result<T, ParseError>;

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'t> Scanner<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    fn place_of(&self, at: usize) -> Place {
        let before = &self.text[..at];
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().map_or(0, |tail| tail.chars().count()) as u32 + 1;
        Place { line, column }
    }

    fn place(&self) -> Place {
        self.place_of(self.at)
    }

    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(ParseError { place: self.place(), message: message.into() })
    }

    /// What stands here, for messages.
    fn found(&self) -> String {
        match self.rest().split_whitespace().next() {
            Some(token) => format!("`{}`", token.chars().take(30).collect::<String>()),
            None => "the end of the file".to_owned(),
        }
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        self.error(format!("expected {what}, found {}", self.found()))
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Parsed<()> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") || (trimmed.starts_with("#!") && self.at == 0) {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                match trimmed.find("*/") {
                    Some(end) => self.at += end + 2,
                    None => return self.error("this comment does not end: `*/` is missing"),
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Takes `token` if it stands here, behind blanks.
    fn eat(&mut self, token: &str) -> Parsed<bool> {
        self.skip_blank()?;
        let is_here = self.rest().starts_with(token);
        if is_here {
            self.at += token.len();
        }
        Ok(is_here)
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token)? { Ok(()) } else { self.expected(&format!("`{token}`")) }
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Everything up to `end`, which is taken, too.
    fn take_until(&mut self, end: &str, what: &str) -> Parsed<&'t str> {
        let rest = self.rest();
        match rest.find(end) {
            Some(length) => {
                self.at += length + end.len();
                Ok(&rest[..length])
            }
            None => self.error(format!("this {what} does not end: `{end}` is missing")),
        }
    }

    fn word(&mut self, what: &str) -> Parsed<&'t str> {
        self.skip_blank()?;
        match self.rest().chars().next() {
            Some(c) if c.is_ascii_alphabetic() || c == '_' => Ok(self.take_while(is_word)),
            _ => self.expected(what),
        }
    }

    /// Takes `word` if it stands here as a whole word.
    fn eat_word(&mut self, word: &str) -> Parsed<bool> {
        self.skip_blank()?;
        let rest = self.rest();
        let is_here = rest.starts_with(word) && !rest[word.len()..].starts_with(is_word);
        if is_here {
            self.at += word.len();
        }
        Ok(is_here)
    }

    fn integer(&mut self, what: &str) -> Parsed<i64> {
        self.skip_blank()?;
        let start = self.at;
        let is_negative = self.eat("-")?;
        let digits = self.take_while(|c| c.is_ascii_alphanumeric());
        let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => i64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        match parsed {
            Ok(value) => Ok(if is_negative { -value } else { value }),
            Err(_) => {
                self.at = start;
                self.expected(what)
            }
        }
    }

    fn number_u32(&mut self, what: &str) -> Parsed<u32> {
        let start = self.at;
        let value = self.integer(what)?;
        u32::try_from(value).or_else(|_| {
            self.at = start;
            self.error(format!("{what} is {value}; it must be between 0 and 4294967295"))
        })
    }

    fn option(&mut self) -> Parsed<(String, String)> {
        self.at += 2;
        let name = self.take_while(|c| is_word(c) || c == '-').to_owned();
        let value = if self.rest().starts_with('=') {
            self.at += 1;
            self.take_while(|c| !c.is_whitespace()).to_owned()
        } else {
            String::new()
        };
        if name.is_empty() { self.expected("an option such as `--tolerance_usecs=4000`") } else { Ok((name, value)) }
    }

    fn event(&mut self) -> Parsed<Event> {
        let place = self.place();
        // A command before everything else needs no time.
        let when = if self.rest().starts_with('`') {
            When::At(Moment { is_relative: true, span: Duration::ZERO })
        } else {
            self.when()?
        };
        let until = if self.eat("...")? { Some(self.moment()?) } else { None };
        self.skip_blank()?;
        let what = match self.rest().chars().next() {
            Some('`') => {
                self.at += 1;
                What::Shell(self.take_until("`", "command")?.trim().to_owned())
            }
            Some('%') => {
                self.expect("%{")?;
                What::Code(self.take_until("}%", "block of code")?.to_owned())
            }
            Some('<') => self.packet(Direction::Inbound)?,
            Some('>') => self.packet(Direction::Outbound)?,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => What::Call(self.call()?),
            _ => return self.expected("a packet (`<`, `>`), a system call, a command in backquotes or `%{`"),
        };
        Ok(Event { place, when, until, what })
    }

    fn when(&mut self) -> Parsed<When> {
        if self.eat("*")? {
            return Ok(When::Any);
        }
        let first = self.moment()?;
        if self.eat("~")? {
            let mut last = self.moment()?;
            last.is_relative |= first.is_relative;
            return Ok(When::Between(first, last));
        }
        Ok(When::At(first))
    }

    fn moment(&mut self) -> Parsed<Moment> {
        self.skip_blank()?;
        let start = self.at;
        let is_relative = self.eat("+")?;
        self.skip_blank()?;
        let whole = self.take_while(|c| c.is_ascii_digit());
        let mut nanos = whole.parse::<u64>().unwrap_or(0).saturating_mul(1_000_000_000);
        let mut digits = whole.len();
        let rest = self.rest();
        if rest.starts_with('.') && !rest.starts_with("...") {
            self.at += 1;
            let fraction = self.take_while(|c| c.is_ascii_digit());
            digits += fraction.len();
            let padded: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
            nanos = nanos.saturating_add(padded.parse().unwrap_or(0));
        }
        if digits == 0 {
            self.at = start;
            return self.expected("a time such as `0.1`, `+0.1` or `*`");
        }
        let span = Duration::from_nanos(nanos);
        if span > LONGEST {
            self.at = start;
            return self.error(format!("this time is beyond {} s", LONGEST.as_secs_f64()));
        }
        Ok(Moment { is_relative, span })
    }

    /// Skips what cannot be read, up to a line that begins with a time.
    fn foreign(&mut self, what: impl Into<String>) -> What {
        loop {
            let rest = self.rest();
            let Some(end) = rest.find('\n') else {
                self.at = self.text.len();
                break;
            };
            self.at += end + 1;
            let next = self.rest().trim_start();
            if next.starts_with(|c: char| c.is_ascii_digit() || "+*.".contains(c)) {
                break;
            }
        }
        What::Foreign(what.into())
    }

    fn packet(&mut self, direction: Direction) -> Parsed<What> {
        self.at += 1;
        self.skip_blank()?;
        let mut ecn = None;
        while self.eat("[")? {
            let bits = self.take_until("]", "list of IP header fields")?.trim();
            ecn = Some(match bits {
                "ect0" => Ecn::Ect0,
                "ect1" => Ecn::Ect1,
                "ce" => Ecn::Ce,
                "noecn" => Ecn::NotEct,
                _ => {
                    let what = format!("IP header field `{bits}`");
                    return Ok(self.foreign(what));
                }
            });
        }
        self.skip_blank()?;
        let start = self.at;
        let letters = self.take_while(|c| !c.is_whitespace());
        let mut flags = Flags::NONE;
        for letter in letters.chars().filter(|&letter| letter != '-') {
            match Flags::of_letter(letter) {
                Some(flag) => flags = flags | flag,
                None if ('0'..='7').contains(&letter) => flags = flags | Flags::of_ace(letter as u8 - b'0'),
                None => {
                    return match letters {
                        "icmp" | "udp" | "ipv4" | "ipv6" | "gre" | "mpls" | "icmpv6" | "raw" | "(inbound)" => {
                            Ok(self.foreign(format!("`{letters}` packets")))
                        }
                        _ => {
                            self.at = start;
                            self.expected("TCP flags such as `S.`, `P.` or `.`")
                        }
                    };
                }
            }
        }
        let seq = self.number_u32("a sequence number")?;
        self.expect(":")?;
        let end = self.number_u32("a sequence number")?;
        self.expect("(")?;
        let length_at = self.at;
        let len = self.number_u32("a length")?;
        self.expect(")")?;
        if seq.wrapping_add(len) != end {
            self.at = length_at;
            return self.error(format!("{seq}:{end}({len}): the length would be {}", i64::from(end) - i64::from(seq)));
        }
        let ack = if self.eat_word("ack")? { Some(self.number_u32("an acknowledgement number")?) } else { None };
        let window = if self.eat_word("win")? { Some(self.number_u32("a window")?) } else { None };
        if self.eat_word("urg")? {
            return Ok(self.foreign("urgent data"));
        }
        let options = if self.eat("<")? { self.options()? } else { Some(Options::default()) };
        if self.eat("[")? {
            return Ok(self.foreign("packets inside an ICMP message"));
        }
        Ok(What::Packet(Packet { direction, ecn, flags, seq, len, ack, window, options }))
    }

    fn options(&mut self) -> Parsed<Option<Options>> {
        if self.eat("...")? {
            self.expect(">")?;
            return Ok(None);
        }
        let mut options = Options::default();
        loop {
            self.skip_blank()?;
            let start = self.at;
            let name = self.take_while(|c| is_word(c) || c == '-');
            match name {
                "nop" | "eol" => {}
                "mss" => options.mss = Some(self.number_u32("an MSS")?),
                "wscale" => options.wscale = Some(self.number_u32("a window scale")?),
                "sackOK" => options.sack_ok = true,
                "TS" => {
                    self.expect("val")?;
                    let val = self.number_u32("a timestamp")?;
                    self.expect("ecr")?;
                    options.timestamp = Some((val, self.number_u32("a timestamp")?));
                }
                "sack" => {
                    while !self.is_at_option_end()? {
                        let block_start = self.number_u32("the beginning of a SACK block")?;
                        self.expect(":")?;
                        options.sack.push((block_start, self.number_u32("the end of a SACK block")?));
                    }
                }
                "ECN" => options.counters = Some(self.byte_counters()?),
                "" => return self.expected("a TCP option"),
                _ => {
                    let rest = self.rest();
                    let end = rest.find([',', '>']).unwrap_or(rest.len());
                    self.at += end;
                    options.foreign.get_or_insert(self.text[start..self.at].trim().to_owned());
                }
            }
            if !self.eat(",")? {
                break;
            }
        }
        self.expect(">")?;
        Ok(Some(options))
    }

    /// `e1b 1 ceb 0 e0b 1`, in this order or the other one.
    fn byte_counters(&mut self) -> Parsed<ByteCounters> {
        let mut counters = ByteCounters::default();
        let mut is_first = true;
        while !self.is_at_option_end()? {
            let start = self.at;
            let name = self.take_while(is_word);
            let Some(counter) = counters.named_mut(name) else {
                self.at = start;
                return self.expected("`e0b`, `ceb` or `e1b`");
            };
            *counter = Some(self.number_u32("a number of bytes")?);
            counters.ect0_first |= is_first && name == "e0b";
            is_first = false;
        }
        Ok(counters)
    }

    fn is_at_option_end(&mut self) -> Parsed<bool> {
        self.skip_blank()?;
        Ok(self.rest().starts_with([',', '>']) || self.is_at_end())
    }

    fn call(&mut self) -> Parsed<Call> {
        let name = self.word("a system call")?.to_owned();
        self.expect("(")?;
        let args = self.args(")")?;
        let mut call = Call { name, args, result: None, errno: None };
        if !self.eat("=")? {
            return Ok(call);
        }
        self.skip_blank()?;
        if self.eat("?")? {
            return Ok(call);
        }
        match self.rest().chars().next() {
            Some(c) if c.is_ascii_digit() || c == '-' => call.result = Some(self.integer("a result")?),
            _ => {
                self.arg()?;
            }
        }
        // The rest of the line: an error, and what the C library says about it.
        let line = self.rest().split('\n').next().unwrap_or_default().trim_start();
        if line.starts_with(|c: char| c.is_ascii_uppercase()) {
            call.errno = Some(self.word("an error")?.to_owned());
        }
        if self.eat("(")? {
            self.take_until(")", "description of an error")?;
        }
        Ok(call)
    }

    fn args(&mut self, end: &str) -> Parsed<Vec<Arg>> {
        let mut args = Vec::new();
        if self.eat(end)? {
            return Ok(args);
        }
        loop {
            args.push(self.arg()?);
            if !self.eat(",")? {
                self.expect(end)?;
                return Ok(args);
            }
        }
    }

    fn arg(&mut self) -> Parsed<Arg> {
        if self.eat("...")? {
            return Ok(Arg::Ellipsis);
        }
        self.skip_blank()?;
        match self.rest().chars().next() {
            Some('"') => {
                self.at += 1;
                Ok(Arg::Text(self.take_until("\"", "text")?.to_owned()))
            }
            Some('[') => {
                self.at += 1;
                self.depth += 1;
                if self.depth > DEEPEST {
                    return self.error(format!("more than {DEEPEST} lists within each other"));
                }
                let items = self.args("]")?;
                self.depth -= 1;
                Ok(Arg::List(items))
            }
            Some('{') => {
                self.at += 1;
                self.structure()
            }
            Some(c) if c.is_ascii_digit() || c == '-' => {
                let mut value = self.integer("a number")?;
                while self.eat("*")? {
                    value = value.saturating_mul(self.integer("a number")?);
                }
                Ok(Arg::Int(value))
            }
            _ => {
                let start = self.at;
                self.eat("&")?;
                self.word("an argument")?;
                while self.eat("|")? {
                    self.skip_blank()?;
                    self.take_while(is_word);
                }
                let word = self.text[start..self.at].split_whitespace().collect();
                Ok(Arg::Word(word))
            }
        }
    }

    /// A structure, up to its closing brace.
    fn structure(&mut self) -> Parsed<Arg> {
        let start = self.at;
        let mut depth = 1;
        for (offset, c) in self.rest().char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.at += offset + 1;
                return Ok(Arg::Struct(self.text[start..self.at - 1].trim().to_owned()));
            }
        }
        self.error("this structure does not end: `}` is missing")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Event {
        let mut events = parse(text).unwrap().events;
        assert_eq!(events.len(), 1);
        events.remove(0)
    }

    fn packet(text: &str) -> Packet {
        match only(text).what {
            What::Packet(packet) => packet,
            other => panic!("{other:?}"),
        }
    }

    fn call(text: &str) -> Call {
        match only(text).what {
            What::Call(call) => call,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_packet_has_flags_numbers_window_and_options() {
        let text = "0.100 < [ect0] PW. 1:1001(1000) ack 1 win 257 <sack 2001:3001 4001:5001,nop,nop,TS val 100 ecr 7>";
        let packet = packet(text);
        assert_eq!(
            packet.to_string(),
            "< [ect0] PW. 1:1001(1000) ack 1 win 257 <TS val 100 ecr 7,sack 2001:3001 4001:5001>"
        );
        assert_eq!((packet.direction, packet.len), (Direction::Inbound, 1000));
    }

    #[test]
    fn the_counters_of_accurate_ecn_are_a_digit_of_the_flags_and_an_option() {
        let packet = packet("+0 < [ect0] P.6 1:1(0) ack 1 win 264 <ECN e0b 1005 ceb 996 e1b 1,nop>");
        assert_eq!(packet.to_string(), "< [ect0] PWA. 1:1(0) ack 1 win 264 <ECN e0b 1005 ceb 996 e1b 1>");
        assert_eq!(packet.flags.ace(), 6);
        let error = parse("+0 < . 1:1(0) ack 1 <ECN e2b 7>").unwrap_err().to_string();
        assert_eq!(error, "1:26: expected `e0b`, `ceb` or `e1b`, found `e2b`");
    }

    #[test]
    fn options_can_be_left_open_and_those_without_meaning_are_named() {
        assert_eq!(packet("+0 > S. 0:0(0) ack 1 <...>").options, None);
        let options = packet("+0 < S 0:0(0) win 65535 <mss 1000,sackOK,FO 0a1b,nop,wscale 7>").options.unwrap();
        assert_eq!((options.mss, options.wscale, options.foreign.as_deref()), (Some(1000), Some(7), Some("FO 0a1b")));
    }

    #[test]
    fn times_are_absolute_relative_ranges_or_any() {
        let second = |span| Duration::from_millis(span);
        let at = |text: &str| only(text).when;
        assert_eq!(at("1.5 `true`"), When::At(Moment { is_relative: false, span: second(1500) }));
        assert_eq!(at("+.1 `true`"), When::At(Moment { is_relative: true, span: second(100) }));
        assert_eq!(at("* > . 1:1(0) ack 1"), When::Any);
        let [from, to] = [100, 200].map(|span| Moment { is_relative: true, span: second(span) });
        assert_eq!(at("+0.1~+0.2 > . 1:1(0) ack 1"), When::Between(from, to));
        let event = only("0.1...0.2 accept(3, ..., ...) = 4");
        assert_eq!(event.until, Some(Moment { is_relative: false, span: second(200) }));
    }

    #[test]
    fn calls_have_numbers_constants_lists_structures_and_errors() {
        let call = call(
            "+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR | SO_X, [1], {a=1, b={2}}, \"cubic\", 2*3) = -1 EAGAIN (Try again)",
        );
        assert_eq!(call.args[2], Arg::Word("SO_REUSEADDR|SO_X".to_owned()));
        assert_eq!(call.args[3].int(), Some(1));
        assert_eq!(call.args[4], Arg::Struct("a=1, b={2}".to_owned()));
        assert_eq!(call.args[6], Arg::Int(6));
        assert_eq!((call.result, call.errno.as_deref()), (Some(-1), Some("EAGAIN")));
    }

    #[test]
    fn comments_of_c_and_cpp_and_options_of_the_file_are_read() {
        let script =
            parse("--tolerance_usecs=10000\n// one\n/* two\n */ +0 `true` // three\n+0 %{\nassert 1\n}%\n").unwrap();
        assert_eq!(script.options, [("tolerance_usecs".to_owned(), "10000".to_owned())]);
        assert_eq!(script.events.len(), 2);
        assert_eq!(script.events.iter().map(|event| event.place.to_string()).collect::<Vec<_>>(), ["4:5", "5:1"]);
    }

    #[test]
    fn errors_name_line_column_what_was_expected_and_what_was_found() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            message("+0 `true`\n+0 < Q. 1:1(0)"),
            "2:6: expected TCP flags such as `S.`, `P.` or `.`, found `Q.`"
        );
        assert_eq!(message("+0 > . 1:1001(999)"), "1:15: 1:1001(999): the length would be 1000");
        assert_eq!(message("zero < . 1:1(0)"), "1:1: expected a time such as `0.1`, `+0.1` or `*`, found `zero`");
        assert_eq!(message("+0 %{ assert 1"), "1:6: this block of code does not end: `}%` is missing");
        assert_eq!(message("+0 > . 1:1(0) ack <"), "1:19: expected an acknowledgement number, found `<`");
    }

    #[test]
    fn what_would_take_the_machine_is_refused() {
        let message = |text: &str| parse(text).unwrap_err().message;
        assert_eq!(message("99999999999 `true`"), "this time is beyond 1000000 s");
        assert_eq!(message(&format!("0 f({}", "[".repeat(100_000))), "more than 32 lists within each other");
    }

    #[test]
    fn packets_of_other_protocols_are_foreign_and_the_script_goes_on_behind_them() {
        let script =
            parse("+0 < icmp unreachable frag_needed mtu 1200\n      [1:1461(1460)]\n+0 > . 1:1(0) ack 1").unwrap();
        assert!(matches!(&script.events[0].what, What::Foreign(what) if what == "`icmp` packets"));
        assert!(matches!(&script.events[1].what, What::Packet(_)));
    }
}
