//! The forward pass: denominators and the products before them. 1M a pair.

use super::{AddBatch, DENOMINATOR, PRODUCT, X1};
use crate::field::LaneParams;
use crate::field::lanes::params::{multiple, spread};
use crate::field::lanes::{Isa, LaneField, Limbwise, Repack, Vector};

/// How many groups ahead rows are fetched.
const AHEAD: usize = 4;
/// Spread of stored x1: room for the raw limbs of x3 to be subtracted.
pub(super) const WIDE: u64 = 1 << 58;

impl<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize> AddBatch<'_, I, P, N, L>
where
    I::Vector: Repack<N, L>,
{
    /// Saves d = x1 - x2, the product of all d before and x1 of two neighbouring groups, and takes the products on:
    /// dirty, below 3 p.
    #[inline(always)]
    pub(super) fn forward(&mut self, isa: I, group: usize, products: &mut [[I::Vector; L]; 2]) {
        for i in 0..2 {
            self.groups.fetch(group + i + AHEAD);
            self.denominators(isa, group + i);
        }
        for (i, product) in products.iter_mut().enumerate() {
            // SAFETY: the scratch has SAVED elements for each group.
            let d = unsafe {
                I::Vector::store_limbs(*product, self.saved(group + i, PRODUCT));
                I::Vector::load_limbs(isa, self.saved(group + i, DENOMINATOR))
            };
            let zero = I::Vector::constant(isa, [0; L]);
            *product = I::Vector::carry(I::Vector::mul::<P, N>(isa, *product, d, zero));
        }
    }

    #[inline(always)]
    fn denominators(&mut self, isa: I, group: usize) {
        // SAFETY: rows of the batch, or of idle lanes.
        let (w1, w2) = unsafe {
            let accumulators = self.groups.accumulators(group).map(|row| row.cast_const());
            (I::Vector::load_x(isa, &accumulators), I::Vector::load_x(isa, &self.groups.sources(group)))
        };
        let three = const { spread(multiple(<P as LaneParams<L>>::MODULUS, 3), WIDE) };
        let x1 = I::Vector::add_clean(isa, I::Vector::constant(isa, three), I::Vector::limbs(w1)); // x1 + 3 p
        let x2 = I::Vector::clean(isa, I::Vector::limbs(w2));
        let d = I::Vector::carry(I::Vector::sub(x1, x2)); // above 0, below 6 p
        // SAFETY: the scratch has SAVED elements for each group.
        unsafe {
            I::Vector::store_limbs(d, self.saved(group, DENOMINATOR));
            I::Vector::store_limbs(x1, self.saved(group, X1));
        }
        // d = j p exactly if d / p = j modulo 2^52 too, which no random d has for a small j.
        let quotient = I::Vector::splat(isa, 0).madd_lo(d[0], I::Vector::splat(isa, P::INVERSE));
        let ordinary = I::Vector::bits(quotient.at_least(I::Vector::splat(isa, 7)));
        if ordinary != (1 << I::Vector::LANES) - 1 {
            self.exceptional(group, !ordinary);
        }
    }
}
