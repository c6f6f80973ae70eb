//! The coarse clock of the kernel's timers (`jiffies`, `CONFIG_HZ`), and the wheel that they expire on
//! (`kernel/time/timer.c`).
//!
//! A timer is armed for a whole number of ticks, counted from the beginning of the current one. The wheel never lets it
//! fire early: it fires one tick later, and in the outer levels, where several ticks share a slot, at the end of its
//! slot. From 63 ticks on a slot has 8 of them, from 504 ticks on 64, and so on: 32 and 256 ms where a second has 250
//! ticks.

use dumbbell_units::{Duration, Time};

const NANOS_PER_SEC: u64 = 1_000_000_000;
const MICROS_PER_SEC: u64 = 1_000_000;
/// Ticks that fit into the innermost level of the wheel (`LVL_SIZE - 1`).
const INNERMOST_TICKS: u64 = 63;
/// A slot of a level has so many times the ticks of one of the level inside it, as a power of two (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;
/// Ticks that fit into the two innermost levels: 2 s where a second has 250 ticks.
const SECOND_LEVEL_TICKS: u64 = INNERMOST_TICKS << LEVEL_SHIFT;

/// The ticks of a clock: tick `n` begins at `n / hz` seconds.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    hz: u32,
    /// Nanoseconds of a tick where that is a whole number, else 0.
    whole: u32,
}

impl Ticks {
    /// `hz` of them are a second, and at least one.
    pub fn new(hz: u32) -> Ticks {
        let hz = hz.max(1);
        let whole = NANOS_PER_SEC / u64::from(hz);
        let is_whole = NANOS_PER_SEC.is_multiple_of(u64::from(hz));
        Ticks { hz, whole: if is_whole { u32::try_from(whole).unwrap_or(0) } else { 0 } }
    }

    /// Length of a tick, rounded down.
    #[inline]
    pub fn length(&self) -> Duration {
        Duration::from_nanos(match self.whole {
            0 => NANOS_PER_SEC / u64::from(self.hz),
            nanos => u64::from(nanos),
        })
    }

    /// The tick in which `time` lies.
    #[inline(always)]
    fn number_at(&self, time: Time) -> u64 {
        match self.whole {
            0 => self.uneven_number_at(time),
            nanos => time.as_nanos() / u64::from(nanos),
        }
    }

    #[inline(always)]
    fn start_of(&self, number: u64) -> Time {
        match self.whole {
            0 => self.uneven_start_of(number),
            nanos => Time::from_nanos(number.saturating_mul(u64::from(nanos))),
        }
    }

    #[cold]
    #[inline(never)]
    fn uneven_number_at(&self, time: Time) -> u64 {
        let number = u128::from(time.as_nanos()) * u128::from(self.hz) / u128::from(NANOS_PER_SEC);
        u64::try_from(number).unwrap_or(u64::MAX)
    }

    #[cold]
    #[inline(never)]
    fn uneven_start_of(&self, number: u64) -> Time {
        let nanos = (u128::from(number) * u128::from(NANOS_PER_SEC)).div_ceil(u128::from(self.hz));
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Ticks that cover a span of `micros` (`usecs_to_jiffies`).
    #[inline(always)]
    fn covering(&self, micros: u64) -> u64 {
        match self.whole {
            0 => micros.saturating_mul(u64::from(self.hz)).div_ceil(MICROS_PER_SEC),
            nanos => (micros * 1_000).div_ceil(u64::from(nanos)),
        }
    }

    /// A span of `micros` in whole ticks, rounded up, in microseconds.
    #[inline]
    pub fn rounded_us(&self, micros: u64) -> u64 {
        let ticks = self.covering(micros);
        match self.whole {
            0 => ticks.saturating_mul(MICROS_PER_SEC) / u64::from(self.hz),
            nanos => ticks * u64::from(nanos) / 1_000,
        }
    }

    /// The first tick that does not begin before `time`.
    pub fn at_or_after(&self, time: Time) -> Time {
        let number = self.number_at(time);
        let start = self.start_of(number);
        if start < time { self.start_of(number + 1) } else { start }
    }

    /// When the wheel fires a timer that is armed at `now` for `time`, and whether its slot is one tick.
    #[inline]
    pub fn wheel_at(&self, now: Time, time: Time) -> (Time, bool) {
        let armed_in = self.number_at(now);
        let ticks = self.number_at(time).saturating_sub(armed_in);
        (self.wheel_after(armed_in, ticks), ticks < INNERMOST_TICKS)
    }

    /// When the wheel fires a timer that is armed for `ticks` in the tick `armed_in` (`calc_wheel_index`).
    #[inline(always)]
    fn wheel_after(&self, armed_in: u64, ticks: u64) -> Time {
        let shift = match ticks {
            0..INNERMOST_TICKS => 0,
            INNERMOST_TICKS..SECOND_LEVEL_TICKS => LEVEL_SHIFT,
            _ => outer_shift(ticks),
        };
        self.start_of((((armed_in + ticks) >> shift) + 1) << shift)
    }
}

/// Ticks of a slot behind the second level of the wheel, as a power of two.
#[cold]
#[inline(never)]
fn outer_shift(ticks: u64) -> u32 {
    let (mut shift, mut reach) = (LEVEL_SHIFT, SECOND_LEVEL_TICKS);
    while ticks >= reach {
        shift += LEVEL_SHIFT;
        reach <<= LEVEL_SHIFT;
    }
    shift
}

/// A clock that never runs backwards.
#[derive(Clone, Copy, Debug)]
pub struct Jiffies {
    ticks: Ticks,
    /// The tick that the clock was moved to last.
    number: u64,
    /// When the next one begins.
    next: Time,
}

impl Jiffies {
    /// A clock with `hz` ticks a second, at the start of the run.
    pub fn new(hz: u32) -> Jiffies {
        let ticks = Ticks::new(hz);
        Jiffies { ticks, number: 0, next: ticks.start_of(1) }
    }

    /// Its ticks.
    #[inline]
    pub fn ticks(&self) -> Ticks {
        self.ticks
    }

    /// Moves the clock to `now`; returns how many ticks have passed since it was moved last.
    #[inline]
    pub fn advance(&mut self, now: Time) -> u32 {
        if now < self.next {
            return 0;
        }
        let number = self.ticks.number_at(now);
        #[expect(clippy::cast_possible_truncation, reason = "the kernel's `tcp_jiffies32`, which wraps")]
        let passed = (number - self.number) as u32;
        self.number = number;
        self.next = self.ticks.start_of(number + 1);
        passed
    }

    /// When a timer fires that is armed now for `micros`, to the tick: without the wheel.
    #[inline]
    pub fn after(&self, micros: u64) -> Time {
        self.ticks.start_of(self.number + self.ticks.covering(micros))
    }

    /// When the wheel fires a timer that is armed now for `micros` and as many whole ticks as a `pause` has.
    #[inline(always)]
    pub fn wheel_after(&self, micros: u64, pause: Duration) -> Time {
        // Ticks of a whole number of nanoseconds and a pause of less than one are what every ACK meets.
        if pause.as_nanos() >= u64::from(self.ticks.whole) {
            return self.wheel_after_pause(micros, pause);
        }
        self.ticks.wheel_after(self.number, self.ticks.covering(micros))
    }

    #[inline(never)]
    fn wheel_after_pause(&self, micros: u64, pause: Duration) -> Time {
        let ticks = self.ticks.covering(micros) + self.ticks.number_at(Time::ZERO + pause);
        self.ticks.wheel_after(self.number, ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> Time {
        Time::from_nanos(1_000 * micros)
    }

    /// When the wheel fires a timer that is armed at `micros` for `ticks`.
    fn wheel_after(hz: u32, micros: u64, ticks: u64) -> Time {
        let mut clock = Jiffies::new(hz);
        clock.advance(us(micros));
        clock.wheel_after(ticks * MICROS_PER_SEC / u64::from(hz), Duration::ZERO)
    }

    #[test]
    fn the_clock_tells_how_many_ticks_have_passed() {
        let mut clock = Jiffies::new(250);
        assert_eq!(clock.ticks().length(), Duration::from_millis(4));
        assert_eq!([9_000, 11_000, 12_000].map(|micros| clock.advance(us(micros))), [2, 0, 1]);
    }

    #[test]
    fn spans_are_whole_ticks_rounded_up_and_pauses_rounded_down() {
        let mut clock = Jiffies::new(250);
        assert_eq!([1, 4_000, 266_000].map(|micros| clock.ticks().rounded_us(micros)), [4_000, 4_000, 268_000]);
        clock.advance(us(11_000));
        let fires = |micros, pause| clock.wheel_after(micros, Duration::from_micros(pause));
        assert_eq!([fires(1, 0), fires(4_000, 3_999), fires(4_001, 4_000)], [us(16_000), us(16_000), us(24_000)]);
    }

    #[test]
    fn without_the_wheel_a_timer_counts_from_the_beginning_of_the_current_tick() {
        let mut clock = Jiffies::new(250);
        clock.advance(us(11_000));
        assert_eq!([clock.after(4_000), clock.after(4_001)], [us(12_000), us(16_000)]);
    }

    #[test]
    fn the_wheel_fires_a_tick_later_so_that_no_timer_is_early() {
        assert_eq!(wheel_after(250, 8_000, 10), us(52_000), "44 ms where 40 ms begin with a tick");
        assert_eq!(wheel_after(250, 11_999, 10), us(52_000));
        assert_eq!(wheel_after(1000, 0, 62), us(63_000), "the last one of the innermost level");
    }

    #[test]
    fn timers_far_ahead_share_slots_of_several_ticks() {
        // 63 ticks after number 2: number 65, in the slot of 64 to 71.
        assert_eq!(wheel_after(250, 9_000, 63), us(72 * 4_000));
        // A second after number 2: in the slot of 248 to 255, 16 ms late.
        assert_eq!(wheel_after(250, 9_000, 250), us(256 * 4_000));
        // 504 ticks are in a slot of 64.
        assert_eq!(wheel_after(250, 0, 503), us(504 * 4_000));
        assert_eq!(wheel_after(250, 0, 504), us(512 * 4_000));
    }

    #[test]
    fn a_timer_for_an_instant_fires_behind_its_tick() {
        let ticks = Ticks::new(250);
        let fires = |micros| ticks.wheel_at(us(15_000), us(micros));
        assert_eq!([fires(55_300), fires(56_000)], [(us(56_000), true), (us(60_000), true)]);
        assert_eq!(fires(300_000), (us(320_000), false), "a slot of eight");
        assert_eq!([ticks.at_or_after(us(55_300)), ticks.at_or_after(us(56_000))], [us(56_000), us(56_000)]);
    }

    #[test]
    fn ticks_that_are_no_whole_number_of_nanoseconds_do_not_drift() {
        let at_or_after = |nanos| Ticks::new(300).at_or_after(Time::from_nanos(nanos)).as_nanos();
        assert_eq!([at_or_after(1), at_or_after(3_333_335)], [3_333_334, 6_666_667]);
        assert_eq!(at_or_after(3_599_999_999_999), 3_600_000_000_000);
        let mut clock = Jiffies::new(300);
        assert_eq!([clock.advance(Time::from_nanos(3_333_333)), clock.advance(Time::from_nanos(3_333_334))], [0, 1]);
    }

    #[test]
    fn a_tick_of_a_microsecond_is_exact() {
        assert_eq!(Ticks::new(1_000_000).at_or_after(us(12_345)), us(12_345));
    }
}
