//! Constants that the lane kernels derive from a modulus, all computed at compile time.

use crate::field::{FieldParams, LaneParams};

/// Bits of a limb.
pub const LIMB: u32 = 52;
/// Largest clean limb.
pub const LIMB_MASK: u64 = (1 << LIMB) - 1;
/// By how many units of its top limb a value may exceed what its raw top limb says: raw limbs are below 2^60.
const SLACK: u64 = 1 << (60 - LIMB);

/// A modulus in both forms: N words of 64 bits in memory, L limbs of 52 bits in lanes.
pub trait LaneField<const N: usize, const L: usize>: FieldParams<N> + LaneParams<L> {
    /// p^-1 mod 2^52.
    const INVERSE: u64 = (<Self as LaneParams<L>>::NEG_INV).wrapping_neg() & LIMB_MASK;

    /// (k p + 1) / 2^52 with k = -p^-1 mod 2^52; below p.
    ///
    /// m (k p) = m (this) 2^52 - m: adding it clears a lowest limb m with neither a multiplication to find the
    /// multiple nor one to cancel the limb. But it exceeds p by 52 bits, so it serves all rounds but the last.
    const FRIENDLY: [u64; L] = {
        let (p, k) = (<Self as LaneParams<L>>::MODULUS, <Self as LaneParams<L>>::NEG_INV as u128);
        let (mut shifted, mut sum, mut i) = ([0; L], (1 + p[0] as u128 * k) >> LIMB, 1);
        while i < L {
            sum += p[i] as u128 * k;
            shifted[i - 1] = sum as u64 & LIMB_MASK;
            sum >>= LIMB;
            i += 1;
        }
        shifted[L - 1] = sum as u64;
        shifted
    };

    /// 2^(64 N) - 1 in limbs.
    const ONES: [u64; L] = {
        let mut ones = [LIMB_MASK; L];
        ones[L - 1] = (1 << (64 * N as u32 - LIMB * (L as u32 - 1))) - 1;
        ones
    };

    /// The lane kernels' bounds hold: R52 is at least 32 p and 4 p fits the words in memory.
    const FITS: () = {
        let top = <Self as LaneParams<L>>::MODULUS[L - 1];
        assert!(top < (1 << (LIMB - 5)) && 4 * (top + 1) < (1 << (64 * N as u32 - LIMB * (L as u32 - 1))));
        assert!(top >= 16 * SLACK, "the top limb alone says too little about the size of a value");
    };
}

impl<P: FieldParams<N> + LaneParams<L>, const N: usize, const L: usize> LaneField<N, L> for P {}

/// k p in clean limbs.
pub const fn multiple<const L: usize>(p: [u64; L], k: u64) -> [u64; L] {
    let (mut limbs, mut carry, mut i) = ([0; L], 0, 0);
    while i < L {
        let t = p[i] as u128 * k as u128 + carry;
        limbs[i] = t as u64 & LIMB_MASK;
        carry = t >> LIMB;
        i += 1;
    }
    assert!(carry == 0);
    limbs
}

/// The same value with `spread` (a multiple of 2^52) in every limb but the top one, taken from the limb above: limbs
/// up to `spread` can be subtracted and leave each limb, except perhaps the top one, at least zero.
pub const fn spread<const L: usize>(limbs: [u64; L], spread: u64) -> [u64; L] {
    let (mut spaced, mut i) = (limbs, 0);
    while i + 1 < L {
        spaced[i] = spaced[i].wrapping_add(spread);
        spaced[i + 1] = spaced[i + 1].wrapping_sub(spread >> LIMB);
        i += 1;
    }
    spaced
}

/// a - b, limb by limb, modulo 2^64.
pub const fn minus<const L: usize>(a: [u64; L], b: [u64; L]) -> [u64; L] {
    let (mut limbs, mut i) = (a, 0);
    while i < L {
        limbs[i] = a[i].wrapping_sub(b[i]);
        i += 1;
    }
    limbs
}

/// A raw value whose top limb is at least this is at least (k - 1/16) p; any other is below k p.
pub const fn nearly<const L: usize>(p: [u64; L], k: u64) -> u64 {
    multiple(p, k)[L - 1] - SLACK
}

/// 2^(52 L) - p in clean limbs.
pub const fn complement<const L: usize>(p: [u64; L]) -> [u64; L] {
    let (mut limbs, mut i) = ([0; L], 0);
    let mut carry = 1;
    while i < L {
        let t = LIMB_MASK - p[i] + carry;
        limbs[i] = t & LIMB_MASK;
        carry = t >> LIMB;
        i += 1;
    }
    limbs
}
