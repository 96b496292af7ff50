//! Points with known discrete logarithms: A, A + B, A + 2B, .. by batched affine addition, about 6M a point.

use super::Engines;
use super::adder::{BatchAdder, Packed, Pair};
use crate::curve::{Affine, CurveParams};
use crate::field::Field;

/// Additions that share an inversion.
const BATCH: usize = 1024;

/// `first + i step` for i below n, for finite `first` and `step`.
///
/// Doubling: when the first k points are known, the next k are those plus k step.
pub fn progression<C: CurveParams<Field: Engines>>(first: Affine<C>, step: Affine<C>, n: usize) -> Vec<Affine<C>> {
    let mut points = Vec::with_capacity(n);
    points.extend((n > 0).then_some(first));
    let mut adder = <C::Field as Engines>::Scalar::new(BATCH);
    let mut cancelled = Vec::new();
    while points.len() < n {
        let known = points.len();
        let count = known.min(n - known);
        let stride = step.mul_limbs(&[known as u64]).to_affine();
        points.extend_from_within(..count);
        extend(&mut adder, &mut points[known..], &stride, &mut cancelled);
    }
    points
}

/// Adds `stride` to every point.
fn extend<C: CurveParams, A: BatchAdder<C::Field>>(
    adder: &mut A,
    points: &mut [Affine<C>],
    stride: &Affine<C>,
    cancelled: &mut Vec<u32>,
) {
    let packed = |point: &Affine<C>| Packed { x: point.x.to_mont(), y: point.y.to_mont() };
    if stride.is_infinity() {
        return;
    }
    let source = [packed(stride)];
    for points in points.chunks_mut(BATCH) {
        let finite = |i: &u32| !points[*i as usize].is_infinity();
        let pairs: Vec<_> = (0..points.len() as u32).filter(finite).map(|i| Pair::new(i, 0, false)).collect();
        let mut sums: Vec<_> = points.iter().map(packed).collect();
        // SAFETY: destinations are the indices of `sums`, each once; the only source is index 0 of `source`; the batch
        // is within the capacity; 64-bit arithmetic needs no feature of the CPU that the adder does not check itself.
        unsafe { adder.add(sums.as_mut_ptr(), source.as_ptr(), &pairs, cancelled) };
        for (point, sum) in points.iter_mut().zip(sums) {
            *point = if point.is_infinity() {
                *stride
            } else {
                Affine { x: C::Field::from_mont(sum.x), y: C::Field::from_mont(sum.y) }
            };
        }
        cancelled.drain(..).for_each(|i| points[i as usize] = Affine::INFINITY);
    }
}
