//! Files of recorded delays: two numbers a line, the time and the delay from then on, in milliseconds.

use dumbbell_units::{Duration, Time};

/// Reads the text of a delay trace: starts and delays in milliseconds, which may have decimals. Between the numbers stand
/// blanks, tabs or a comma; empty lines and lines that begin with `#` are skipped.
///
/// # Errors
/// A sentence that names the line, says what was read and what would be right.
pub fn parse_delay_trace(text: &str) -> Result<Vec<(Time, Duration)>, String> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.trim().starts_with('#'));
    lines.map(|(line, number)| step(line).ok_or_else(|| not_two_numbers(line, number))).collect()
}

fn step(line: &str) -> Option<(Time, Duration)> {
    let mut numbers = line.split([' ', '\t', ',']).filter(|word| !word.is_empty()).map(milliseconds);
    let (start, delay) = (numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some((Time::ZERO + start, delay))
}

fn milliseconds(word: &str) -> Option<Duration> {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_number.then(|| format!("{word}ms").parse().ok())?
}

fn not_two_numbers(line: &str, number: usize) -> String {
    let read: String = line.chars().take(40).collect();
    format!("line {number} reads {read:?}: expected two numbers, a time and a delay in milliseconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_time_and_a_delay_in_milliseconds() {
        let steps = parse_delay_trace("# s, ms\n0 20\n\n1000.5\t35.25\r\n2000, 20\n").unwrap();
        let expected = [(0, 20_000_000), (1_000_500_000, 35_250_000), (2_000_000_000, 20_000_000)];
        assert_eq!(steps, expected.map(|(start, delay)| (Time::from_nanos(start), Duration::from_nanos(delay))));
        assert_eq!(parse_delay_trace(""), Ok(Vec::new()));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for wrong in ["x", "1", "1 2 3", "1 -2", "1ms 2ms", "0 1e3"] {
            let said = parse_delay_trace(&format!("0 1\n{wrong}\n")).unwrap_err();
            assert_eq!(said, not_two_numbers(wrong, 2));
        }
    }
}
