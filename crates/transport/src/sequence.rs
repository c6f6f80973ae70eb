//! Which numbers of datagrams have been seen, in little memory.

/// Numbers that are remembered, as bits: those below the highest minus these count as seen.
const WINDOW: u64 = 1 << 16;
const WORDS: usize = 1 << 10;

/// The numbers of the datagrams that have arrived.
pub(crate) struct SeenNumbers {
    seen: Vec<u64>,
    highest: Option<u64>,
}

impl SeenNumbers {
    pub(crate) fn new() -> SeenNumbers {
        SeenNumbers { seen: vec![0; WORDS], highest: None }
    }

    /// Whether a datagram of this number comes for the first time.
    pub(crate) fn is_new(&mut self, number: u64) -> bool {
        let place = |number: u64| (usize::try_from(number / 64 % (WINDOW / 64)).unwrap_or(0), 1 << (number % 64));
        match self.highest {
            Some(highest) if number <= highest => {
                if highest - number >= WINDOW {
                    return false;
                }
            }
            highest => {
                // The places of the numbers in between are free now.
                let first = highest.map_or(0, |highest| highest + 1).max(number.saturating_sub(WINDOW - 1));
                for skipped in first..=number {
                    let (word, bit) = place(skipped);
                    self.seen[word] &= !bit;
                }
                self.highest = Some(number);
            }
        }
        let (word, bit) = place(number);
        let is_new = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        is_new
    }
}
