//! The forward pass: denominators and the products before them. 1M a pair.

use super::AddBatch;
use crate::field::LaneParams;
use crate::field::lanes::params::{multiple, spread};
use crate::field::lanes::{Isa, LaneField, Limbwise, Repack, Vector};

/// How many groups ahead rows are fetched.
const AHEAD: usize = 4;
/// Spread of stored x1: room for the raw limbs of x3 to be subtracted.
const WIDE: u64 = 1 << 58;
/// Further spread where clean limbs are subtracted.
const NARROW: u64 = 1 << 54;

impl<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize> AddBatch<'_, I, P, N, L>
where
    I::Vector: Repack<N, L>,
{
    /// Saves d = x1 - x2, `product`, x1 and -(x1 + x2) of a group; returns `product` times d, dirty.
    #[inline(always)]
    pub(super) fn forward(&mut self, isa: I, group: usize, product: [I::Vector; L]) -> [I::Vector; L] {
        self.groups.fetch(group + AHEAD);
        // SAFETY: rows of the batch, or of idle lanes.
        let (w1, w2) = unsafe {
            let accumulators = self.groups.accumulators(group).map(|row| row.cast_const());
            (I::Vector::load_x(isa, &accumulators), I::Vector::load_x(isa, &self.groups.sources(group)))
        };
        let three = I::Vector::constant(isa, const { spread(multiple(<P as LaneParams<L>>::MODULUS, 3), WIDE) });
        let nine =
            I::Vector::constant(isa, const { spread(multiple(<P as LaneParams<L>>::MODULUS, 9), WIDE + NARROW) });
        let x1 = I::Vector::add_clean(isa, three, I::Vector::limbs(w1)); // x1 + 3 p
        let x2 = I::Vector::clean(isa, I::Vector::limbs(w2));
        let mut d = I::Vector::carry(I::Vector::sub(x1, x2)); // above 0, below 6 p
        // SAFETY: the scratch has SAVED elements for each group.
        unsafe {
            I::Vector::store_limbs(product, self.saved(group, 1));
            I::Vector::store_limbs(x1, self.saved(group, 2));
            I::Vector::store_limbs(I::Vector::sub(I::Vector::sub(nine, x1), x2), self.saved(group, 3)); // 6 p - x1 - x2
            I::Vector::store_limbs(d, self.saved(group, 0));
        }
        // d = j p exactly if d / p = j modulo 2^52 too, which no random d has for a small j.
        let quotient = I::Vector::splat(isa, 0).madd_lo(d[0], I::Vector::splat(isa, P::INVERSE));
        let ordinary = I::Vector::bits(quotient.at_least(I::Vector::splat(isa, 7)));
        if ordinary != (1 << I::Vector::LANES) - 1 {
            self.exceptional(group, !ordinary);
            // SAFETY: as above.
            d = unsafe { I::Vector::load_limbs(isa, self.saved(group, 0)) };
        }
        I::Vector::carry(I::Vector::mul::<P, N>(isa, product, d, I::Vector::constant(isa, [0; L])))
    }
}
