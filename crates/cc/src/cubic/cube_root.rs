//! The integer cube root of the kernel's CUBIC: a table gives the first 6 bits, one Newton step the rest. Its error
//! (0.2 % on average) is part of the algorithm's behaviour, so the table's numbers are the kernel's.

/// `64 * cbrt(i) - 10`, roughly: 64 times the cube root of the argument's leading bits (Linux `tcp_cubic.c`).
const LEADING: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176, 179,
    181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227,
    229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// The cube root of `a`, within 1 % for large arguments.
#[expect(clippy::cast_possible_truncation, reason = "six bits are looked up, and the root of 64 bits has 22")]
pub(super) fn cube_root(a: u64) -> u32 {
    let bits = u64::BITS - a.leading_zeros();
    if bits < 7 {
        return (u32::from(LEADING[a as usize]) + 35) >> 6;
    }
    // The root has a third of the bits; drop whole groups of three so that at most six remain to look up.
    let dropped = ((bits * 84) >> 8) - 1;
    let leading = (a >> (3 * dropped)) as usize;
    let guess = u64::from(((u32::from(LEADING[leading]) + 10) << dropped) >> 6);
    // x' = (2x + a / x²) / 3, with x (x - 1) for x² and 341/1024 for 1/3.
    let refined = 2 * guess + a / (guess * (guess - 1));
    ((refined * 341) >> 10) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_within_one_percent() {
        // CUBIC's arguments start at 2^40 / 410 for one packet.
        for exponent in 24..60 {
            for step in 0..16u64 {
                let a = (1u64 << exponent) + step * (1u64 << exponent) / 16;
                let exact = (a as f64).cbrt();
                let root = f64::from(cube_root(a));
                assert!((root - exact).abs() <= 0.01 * exact, "cube_root({a}) = {root}, exactly {exact}");
            }
        }
    }

    #[test]
    fn the_kernel_s_rounding_is_reproduced() {
        // 2^40 / 410 per packet, 22, 10 and 21 packets: values of K in the recorded calls of Linux 6.18.
        assert_eq!([22, 10, 21].map(|packets| cube_root(2_681_735_677 * packets)), [3892, 2991, 3832]);
    }
}
