//! Signed digits by Booth recoding: digit w of width c depends on bits cw - 1 .. cw + c - 1 only, so that any window
//! can be read from the plain scalar without carries. s = sum of d_w 2^(cw), -2^(c-1) <= d_w <= 2^(c-1).
//!
//! A scalar of L bits needs ceil((L + 1) / c) windows: bit L, which is zero, is the sign of the top digit.
//! Source: A. D. Booth, 1951; as used for windows by blst.

/// Widest window: digits fit 32 bits with room, buckets of one window fit a gigabyte many times over.
pub const WIDEST: u32 = 20;

/// Number of windows of width c for scalars of at most `bits` bits.
pub const fn windows(bits: u32, c: u32) -> u32 {
    (bits + 1).div_ceil(c)
}

/// Where the c + 1 bits of a window lie in the limbs of a scalar.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    limb: usize,
    shift: u32,
    width: u32,
    straddles: bool,
}

impl Window {
    /// Window w of width c, for scalars of `stride` limbs.
    pub fn new(w: u32, c: u32, stride: usize) -> Self {
        debug_assert!((1..=WIDEST).contains(&c));
        // One zero bit below bit 0 makes all windows alike: the bits start at cw in the scalar shifted left by one.
        let start = w * c;
        let (limb, shift) = if start == 0 { (0, 0) } else { (((start - 1) / 64) as usize, (start - 1) % 64) };
        let first = start == 0;
        Self {
            limb,
            shift: if first { u32::MAX } else { shift },
            width: c,
            straddles: !first && shift + c >= 64 && limb + 1 < stride,
        }
    }

    /// Calls `each` with the index and the digit of every scalar of `stride` limbs. A window beyond the limbs reads zero.
    #[inline(always)]
    pub fn digits(&self, scalars: &[u64], stride: usize, mut each: impl FnMut(usize, i32)) {
        let Self { limb, shift, .. } = *self;
        let all = scalars.chunks_exact(stride).enumerate();
        // One loop for each way to read, so that the choice is not made again for every scalar.
        if limb >= stride {
            all.for_each(|(i, _)| each(i, 0));
        } else if shift == u32::MAX {
            all.for_each(|(i, scalar)| each(i, self.signed(scalar[limb] << 1)));
        } else if self.straddles {
            // The shift by 63 - shift and one more keeps a shift of 64 defined.
            all.for_each(|(i, scalar)| {
                each(i, self.signed(scalar[limb] >> shift | (scalar[limb + 1] << (63 - shift)) << 1));
            });
        } else {
            all.for_each(|(i, scalar)| each(i, self.signed(scalar[limb] >> shift)));
        }
    }

    /// The digit of c + 1 bits (and whatever lies above them): their value as a signed number, rounded up to even
    /// and halved.
    #[inline(always)]
    fn signed(&self, bits: u64) -> i32 {
        let unused = 31 - self.width;
        let value = ((bits as u32) << unused) as i32 >> unused;
        (value + 1) >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every width, with scalars whose digits are extreme: the digits add up to the scalar again.
    #[test]
    fn digits_add_up() {
        for bits in [1, 8, 63, 64, 127, 128, 253, 254, 255] {
            let stride = bits as usize / 64 + 1;
            for c in 1..=WIDEST {
                for scalar in extremes(bits, c, stride) {
                    let mut sum = vec![0u64; stride + 1];
                    for w in (0..windows(bits, c)).rev() {
                        (0..c).for_each(|_| double(&mut sum));
                        let mut digit = 0;
                        Window::new(w, c, stride).digits(&scalar, stride, |_, read| digit = read);
                        assert!(digit.unsigned_abs() <= 1 << (c - 1));
                        add_signed(&mut sum, digit);
                    }
                    assert_eq!(sum[..stride], scalar[..], "bits {bits} c {c}");
                    assert_eq!(sum[stride], 0);
                }
            }
        }
    }

    fn extremes(bits: u32, c: u32, stride: usize) -> Vec<Vec<u64>> {
        let from_bits = |chosen: &dyn Fn(u32) -> bool| {
            let mut limbs = vec![0u64; stride];
            (0..bits).filter(|&i| chosen(i)).for_each(|i| limbs[(i / 64) as usize] |= 1 << (i % 64));
            limbs
        };
        vec![
            from_bits(&|_| false),
            from_bits(&|_| true),
            from_bits(&|i| i == bits - 1),
            from_bits(&|i| i % c == 0),
            from_bits(&|i| i % c == c - 1),
            from_bits(&|i| i.wrapping_mul(2654435761) >> 31 == 1),
        ]
    }

    fn double(limbs: &mut [u64]) {
        let mut carry = 0;
        for limb in limbs {
            (*limb, carry) = (*limb << 1 | carry, *limb >> 63);
        }
    }

    fn add_signed(limbs: &mut [u64], value: i32) {
        let mut carry = value as i128;
        for limb in limbs {
            let t = *limb as i128 + carry;
            (*limb, carry) = (t as u64, t >> 64);
        }
        assert_eq!(carry, 0);
    }
}
