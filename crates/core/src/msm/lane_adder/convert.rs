//! Changing many packed points at once: 2M a point, fully reduced.

use super::exceptions::split;
use crate::field::lanes::params::{LIMB, LIMB_MASK, complement};
use crate::field::lanes::{Isa, Kernel, LaneField, Limbwise, Repack, Vector};
use crate::field::{Field, FieldParams, Fp, LaneParams};
use crate::msm::adder::Packed;

/// From the 64-bit Montgomery domain to that of lanes.
pub(super) fn import<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(
    isa: I,
    points: &mut [Packed<Fp<P, N>>],
) where
    I::Vector: Repack<N, L>,
{
    isa.run(Scale { points, x: P::FROM_R64, y: P::FROM_R64 });
}

/// From the lane domain to the 64-bit one; takes loosely reduced points.
pub(super) fn export<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(
    isa: I,
    points: &mut [Packed<Fp<P, N>>],
) where
    I::Vector: Repack<N, L>,
{
    isa.run(Scale { points, x: P::TO_R64, y: P::TO_R64 });
}

/// Multiplies x by a factor in the 64-bit domain.
pub(super) fn scale_x<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(
    isa: I,
    points: &mut [Packed<Fp<P, N>>],
    factor: Fp<P, N>,
) where
    I::Vector: Repack<N, L>,
{
    let scale: Fp<P, N> = Fp::from_mont(super::exceptions::join(<P as LaneParams<L>>::R));
    isa.run(Scale { points, x: split((factor * scale).to_mont()), y: <P as LaneParams<L>>::R });
}

/// Multiplies coordinates by constants in the lane domain.
struct Scale<'a, P: FieldParams<N>, const N: usize, const L: usize> {
    points: &'a mut [Packed<Fp<P, N>>],
    x: [u64; L],
    y: [u64; L],
}

impl<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize> Kernel<I> for Scale<'_, P, N, L>
where
    I::Vector: Repack<N, L>,
{
    type Output = ();

    #[inline(always)]
    fn run(self, isa: I) {
        let (x, y) = (I::Vector::constant(isa, self.x), I::Vector::constant(isa, self.y));
        for points in self.points.chunks_mut(I::Vector::LANES) {
            let mut spare = [[0; 16]; 8];
            const { assert!(2 * N <= 16) };
            let rows: [*mut u64; 8] = core::array::from_fn(|i| match points.get_mut(i) {
                Some(point) => core::ptr::from_mut(point).cast(),
                None => spare[i].as_mut_ptr(),
            });
            // SAFETY: every row is a point, or as long as one.
            unsafe {
                let read = rows.map(|row| row.cast_const());
                let scaled_x = I::Vector::limbs(I::Vector::load_x(isa, &read));
                let scaled_y = I::Vector::limbs(I::Vector::load_y(isa, &read));
                let scaled_x = I::Vector::words(isa, reduce::<I, P, N, L>(isa, scaled_x, x));
                let scaled_y = I::Vector::words(isa, reduce::<I, P, N, L>(isa, scaled_y, y));
                I::Vector::store_points(scaled_x, scaled_y, &rows);
            }
        }
    }
}

/// a b / R52 in clean limbs, below p: for a below 4 p and b below p.
#[inline(always)]
fn reduce<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(
    isa: I,
    a: [I::Vector; L],
    b: [I::Vector; L],
) -> [I::Vector; L]
where
    I::Vector: Limbwise<L>,
{
    let product = I::Vector::mul::<P, N>(isa, a, b, I::Vector::constant(isa, [0; L]));
    let mut value = I::Vector::clean(isa, I::Vector::carry(product)); // below 3 p
    let complement = I::Vector::constant(isa, const { complement(<P as LaneParams<L>>::MODULUS) });
    for _ in 0..2 {
        // Adding R52 - p carries out of the top limb exactly when the value is at least p.
        let sum = I::Vector::carry(I::Vector::add(value, complement));
        let large = sum[L - 1].at_least(I::Vector::splat(isa, 1 << LIMB));
        value = I::Vector::clean(isa, I::Vector::carry(I::Vector::add_where(value, large, complement)));
        value[L - 1] = value[L - 1] & I::Vector::splat(isa, LIMB_MASK);
    }
    value
}
