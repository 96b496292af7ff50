//! Pairs with equal x: doublings and cancellations. Plain 64-bit arithmetic, one lane at a time.
//!
//! Cost: nothing for pairs with different x; a doubling costs some tens of field multiplications more than a sum.

use super::{AddBatch, DENOMINATOR};
use crate::field::lanes::params::{LIMB, LIMB_MASK, multiple};
use crate::field::lanes::{Isa, LaneField, Repack, Vector};
use crate::field::{Field, FieldParams, Fp, LaneParams, limbs};

/// The doublings of a batch, in the order of their groups, and what it takes to compute them.
pub(super) struct Exceptions<P, const N: usize> {
    doublings: Vec<Doubling<N>>,
    /// R52 / R64 as a field element, and its inverse.
    scale: Fp<P, N>,
    inverse_scale: Fp<P, N>,
}

struct Doubling<const N: usize> {
    group: usize,
    lane: usize,
    /// 3 x^2 in the lane domain.
    numerator: [u64; N],
}

impl<P: FieldParams<N>, const N: usize> Exceptions<P, N> {
    pub(super) fn new<const L: usize>() -> Self
    where
        P: LaneParams<L>,
    {
        let scale = Fp::from_mont(join(<P as LaneParams<L>>::R));
        let Some(inverse_scale) = scale.invert() else { unreachable!("R52 is not zero") };
        Self { doublings: Vec::new(), scale, inverse_scale }
    }

    /// (R52 / R64)^2.
    pub(super) fn scale_squared(&self) -> Fp<P, N> {
        self.scale.square()
    }

    /// Whether the last doubling not yet forgotten is in this group or a later one.
    #[inline(always)]
    pub(super) fn any_from(&self, group: usize) -> bool {
        self.doublings.last().is_some_and(|doubling| doubling.group >= group)
    }

    /// Forgets the doublings of this group and later ones.
    #[inline(always)]
    pub(super) fn forget_from(&mut self, group: usize) {
        while self.any_from(group) {
            self.doublings.pop();
        }
    }
}

impl<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize> AddBatch<'_, I, P, N, L>
where
    I::Vector: Repack<N, L>,
{
    /// Looks closer at the lanes of a group that may have equal x, and gives those that do another denominator:
    /// 2 y for a doubling, 1 (and an entry in `cancelled`) where the sum is infinity.
    #[cold]
    #[inline(never)]
    pub(super) fn exceptional(&mut self, group: usize, suspects: u32) {
        let (accumulators, sources) = (self.groups.accumulators(group), self.groups.sources(group));
        for lane in (0..self.groups.live(group)).filter(|lane| suspects >> lane & 1 == 1) {
            // SAFETY: rows of the batch: 2 N words each.
            let [x1, y1, x2, y2] = unsafe {
                let (a, b) = (accumulators[lane].cast::<[u64; N]>(), sources[lane].cast::<[u64; N]>());
                [*a, *a.add(1), *b, *b.add(1)].map(reduced::<P, N>)
            };
            if x1 != x2 {
                continue;
            }
            let pair = self.groups.pairs(group)[lane];
            let y2 = if pair.negate() { -y2 } else { y2 };
            let denominator = if y1 == y2 && !y1.is_zero() {
                let square = x1.square() * self.exceptions.inverse_scale;
                let numerator = (square.double() + square).to_mont();
                self.exceptions.doublings.push(Doubling { group, lane, numerator });
                y1.double()
            } else {
                self.cancelled.push(pair.dst);
                self.exceptions.scale
            };
            for (i, limb) in split::<N, L>(denominator.to_mont()).into_iter().enumerate() {
                // SAFETY: the scratch has this element of every group.
                unsafe { *self.saved(group, DENOMINATOR).add(i * I::Vector::LANES + lane) = limb };
            }
        }
    }
}

impl<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize> AddBatch<'_, I, P, N, L>
where
    I::Vector: Repack<N, L>,
{
    /// Writes the numerators of a group's doublings into limb vectors, and what x1 - x2 + 3 p really is into the
    /// place of their denominators, which are used up by now.
    #[cold]
    #[inline(never)]
    pub(super) fn double(&self, group: usize, numerators: &mut [u64]) {
        let equal = multiple(<P as LaneParams<L>>::MODULUS, 3);
        for doubling in self.exceptions.doublings.iter().filter(|doubling| doubling.group == group) {
            for (i, limb) in split::<N, L>(doubling.numerator).into_iter().enumerate() {
                let place = i * I::Vector::LANES + doubling.lane;
                numerators[place] = limb;
                // SAFETY: the scratch has this element of every group.
                unsafe { *self.saved(group, DENOMINATOR).add(place) = equal[i] };
            }
        }
    }
}

/// The element with limbs below 4 p.
pub(super) fn reduced<P: FieldParams<N>, const N: usize>(mut words: [u64; N]) -> Fp<P, N> {
    while !limbs::less(&words, &P::MODULUS) {
        words = limbs::sub(&words, &P::MODULUS).0;
    }
    Fp::from_mont(words)
}

/// N words to L clean limbs.
pub(super) fn split<const N: usize, const L: usize>(words: [u64; N]) -> [u64; L] {
    core::array::from_fn(|i| {
        let (word, shift) = (LIMB as usize * i / 64, LIMB * i as u32 % 64);
        let high = if shift > 0 && word + 1 < N { words[word + 1] << (64 - shift) } else { 0 };
        (words[word] >> shift | high) & LIMB_MASK
    })
}

/// L clean limbs of a value below 2^(64 N) to N words.
pub(super) fn join<const N: usize, const L: usize>(limbs: [u64; L]) -> [u64; N] {
    let mut words = [0; N];
    for (i, limb) in limbs.into_iter().enumerate() {
        let (word, shift) = (LIMB as usize * i / 64, LIMB * i as u32 % 64);
        words[word] |= limb << shift;
        if shift > 64 - LIMB && word + 1 < N {
            words[word + 1] |= limb >> (64 - shift);
        }
    }
    words
}
