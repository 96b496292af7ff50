//! One inversion for all lanes of both products.

use super::AddBatch;
use super::exceptions::{join, reduced, split};
use super::times::times;
use crate::field::lanes::{Isa, LaneField, Limbwise, Repack, Vector};
use crate::field::{Field, Fp};

impl<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize> AddBatch<'_, I, P, N, L>
where
    I::Vector: Repack<N, L>,
{
    /// The inverses of two products, lane by lane: multiplies all lanes together in a butterfly, inverts once in
    /// 64-bit arithmetic, and undoes the butterfly. 4 + 2 log2(lanes) multiplications.
    #[inline(always)]
    pub(super) fn share(&mut self, isa: I, products: [[I::Vector; L]; 2]) -> [[I::Vector; L]; 2] {
        let times = |a, b| times::<I, P, N, L>(isa, a, b);
        let fours = times(products[0], products[1]);
        let pairs = if I::Vector::LANES == 8 { times(fours, I::Vector::swap::<4>(fours)) } else { fours };
        let ones = times(pairs, I::Vector::swap::<2>(pairs));
        let total = times(ones, I::Vector::swap::<1>(ones));
        let inverse = I::Vector::constant(isa, self.invert(isa, total));
        let inverse = times(inverse, I::Vector::swap::<1>(ones));
        let mut inverse = times(inverse, I::Vector::swap::<2>(pairs));
        if I::Vector::LANES == 8 {
            inverse = times(inverse, I::Vector::swap::<4>(fours));
        }
        [times(inverse, products[1]), times(inverse, products[0])]
    }

    /// The inverse of lane 0.
    #[inline(always)]
    fn invert(&self, isa: I, value: [I::Vector; L]) -> [u64; L] {
        let mut limbs = [0; 8 * 8];
        // SAFETY: room for L vectors of at most 8 lanes.
        unsafe { I::Vector::store_limbs(I::Vector::clean(isa, value), limbs.as_mut_ptr()) };
        let first = core::array::from_fn(|i| limbs[i * I::Vector::LANES]);
        // With e = R52 / R64, limbs in the lane domain are e times their value in the 64-bit domain.
        let scaled: Fp<P, N> = reduced(join::<N, L>(first));
        let Some(inverse) = scaled.invert() else { unreachable!("no denominator is zero") };
        split((inverse * self.exceptions.scale_squared()).to_mont())
    }
}
