//! Taking in and changing many packed points at once: 2M a point, fully reduced; 6M + 1S to see that it is on the curve.

use super::exceptions::split;
use super::times::times;
use crate::field::lanes::params::{LIMB, LIMB_MASK, complement, multiple, spread};
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
    isa.run(Scale { points, x: split((factor * scale()).to_mont()), y: <P as LaneParams<L>>::R });
}

/// See [`BatchAdder::admit`](crate::msm::adder::BatchAdder::admit). 2M a point, and 6M + 1S for the check.
pub(super) fn admit<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(
    isa: I,
    points: &mut [Packed<Fp<P, N>>],
    canonical: bool,
    b: Option<Fp<P, N>>,
) -> Option<usize>
where
    I::Vector: Repack<N, L>,
{
    let factor = if canonical { <P as LaneParams<L>>::R2 } else { P::FROM_R64 };
    let suspect = b.and_then(|b| isa.run(OffCurve { points, factor, b: split((b * scale()).to_mont()) }));
    isa.run(Scale { points, x: factor, y: factor });
    suspect
}

/// R52 / R64: what takes an element to the lane domain.
fn scale<P: LaneField<N, L>, const N: usize, const L: usize>() -> Fp<P, N> {
    Fp::from_mont(super::exceptions::join(<P as LaneParams<L>>::R))
}

/// Finds the first point that is not on the curve of b, given the factor that takes coordinates to the lane domain.
struct OffCurve<'a, P: FieldParams<N>, const N: usize, const L: usize> {
    points: &'a [Packed<Fp<P, N>>],
    factor: [u64; L],
    b: [u64; L],
}

impl<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize> Kernel<I> for OffCurve<'_, P, N, L>
where
    I::Vector: Repack<N, L>,
{
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self, isa: I) -> Option<usize> {
        let (factor, b) = (I::Vector::constant(isa, self.factor), I::Vector::constant(isa, self.b));
        let four = const { spread(multiple(<P as LaneParams<L>>::MODULUS, 4), 1 << 54) };
        let less_b = I::Vector::sub(I::Vector::constant(isa, four), b);
        let idle = Packed::<Fp<P, N>>::EMPTY;
        for (group, points) in self.points.chunks(I::Vector::LANES).enumerate() {
            let mut rows: [*const u64; 8] = [core::ptr::from_ref(&idle).cast(); 8];
            for (row, point) in rows.iter_mut().zip(points) {
                *row = core::ptr::from_ref(point).cast();
            }
            // SAFETY: every row is a point.
            let (x, y) = unsafe { (I::Vector::load_x(isa, &rows), I::Vector::load_y(isa, &rows)) };
            let x = times::<I, P, N, L>(isa, I::Vector::limbs(x), factor);
            let y = times::<I, P, N, L>(isa, I::Vector::limbs(y), factor);
            let cube = I::Vector::clean(isa, times::<I, P, N, L>(isa, times::<I, P, N, L>(isa, x, x), x));
            // y^2 - x^3 - b + 4 p, below 7 p.
            let difference = I::Vector::square::<P, N>(isa, y, I::Vector::sub(less_b, cube));
            let one = I::Vector::constant(isa, <P as LaneParams<L>>::R);
            let rest = reduce::<I, P, N, L>(isa, I::Vector::carry(difference), one);
            let mut sum = rest[0];
            for limb in &rest[1..] {
                sum = sum + *limb;
            }
            let off = I::Vector::bits(sum.at_least(I::Vector::splat(isa, 1)));
            let off = points.iter().enumerate().position(|(i, point)| off >> i & 1 == 1 && *point != idle);
            if let Some(i) = off {
                return Some(group * I::Vector::LANES + i);
            }
        }
        None
    }
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

/// a b / R52 in clean limbs, below p: for a below 12 p and b below p.
#[inline(always)]
pub(super) fn reduce<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize>(
    isa: I,
    a: [I::Vector; L],
    b: [I::Vector; L],
) -> [I::Vector; L]
where
    I::Vector: Limbwise<L>,
{
    let mut value = I::Vector::clean(isa, times::<I, P, N, L>(isa, a, b)); // below 3 p
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
