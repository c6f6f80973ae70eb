//! Mahimahi trace files: one delivery opportunity a line, in milliseconds from the start.

/// What is wrong with a trace file, in a sentence that says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The file has no line.
    #[error("the trace is empty: it needs at least one line with the time of a delivery opportunity in milliseconds")]
    Empty,
    /// A line has no character.
    #[error("line {line} is empty: every line is the time of one delivery opportunity in milliseconds")]
    EmptyLine {
        /// Number of the line, from 1.
        line: usize,
    },
    /// A line is not a number.
    #[error("line {line} reads {found:?}: expected an integer from 0 to 4294967295, a time in milliseconds")]
    NotAnInteger {
        /// Number of the line, from 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// Time goes backwards.
    #[error("line {line} reads {found}, earlier than {previous} in the line before: times must not decrease")]
    Decreasing {
        /// Number of the line, from 1.
        line: usize,
        /// What stands there.
        found: u32,
        /// What stands in the line before.
        previous: u32,
    },
    /// The trace has no duration.
    #[error("line {line}, the last, reads 0: the last time is the length of the trace and must be at least 1 ms")]
    NoDuration {
        /// Number of the line, from 1.
        line: usize,
    },
}

/// Reads the text of a Mahimahi trace: delivery opportunities in milliseconds, non-decreasing, the last above zero.
///
/// Line ends may be those of Unix or Windows. Any other character that is not a digit is an error.
pub fn parse_trace(text: &str) -> Result<Vec<u32>, TraceError> {
    let mut opportunities: Vec<u32> = Vec::new();
    for (index, content) in text.lines().enumerate() {
        let line = index + 1;
        if content.is_empty() {
            return Err(TraceError::EmptyLine { line });
        }
        let not_an_integer = || TraceError::NotAnInteger { line, found: content.chars().take(40).collect() };
        if !content.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(not_an_integer());
        }
        let ms = content.parse().map_err(|_| not_an_integer())?;
        if let Some(&previous) = opportunities.last()
            && ms < previous
        {
            return Err(TraceError::Decreasing { line, found: ms, previous });
        }
        opportunities.push(ms);
    }
    match opportunities.last() {
        None => Err(TraceError::Empty),
        Some(0) => Err(TraceError::NoDuration { line: opportunities.len() }),
        Some(_) => Ok(opportunities),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_opportunity_a_line() {
        assert_eq!(parse_trace("0\n3\n3\n17\n"), Ok(vec![0, 3, 3, 17]));
        assert_eq!(parse_trace("5\r\n10"), Ok(vec![5, 10]));
    }

    #[test]
    fn errors_name_the_line_what_was_read_and_what_would_be_right() {
        let message = |text: &str| parse_trace(text).unwrap_err().to_string();
        assert_eq!(parse_trace(""), Err(TraceError::Empty));
        assert_eq!(parse_trace("1\n\n2\n"), Err(TraceError::EmptyLine { line: 2 }));
        assert_eq!(parse_trace("0\n0\n"), Err(TraceError::NoDuration { line: 2 }));
        assert_eq!(message("5\n4\n"), "line 2 reads 4, earlier than 5 in the line before: times must not decrease");
        for wrong in ["x", "-3", "1.5", " 7", "4294967296", "+5"] {
            assert_eq!(
                message(&format!("1\n{wrong}\n")),
                format!("line 2 reads {wrong:?}: expected an integer from 0 to 4294967295, a time in milliseconds")
            );
        }
    }
}
