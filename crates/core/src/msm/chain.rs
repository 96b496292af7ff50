//! A sum by doublings and additions of one point: what multiplies few points by few digits, and ends every other path.
//!
//! Each operation waits for the one before. In 64-bit arithmetic with the multiplications inlined a doubling takes
//! 7 multiplications and an addition 11; where the CPU has lanes for 52-bit limbs, those of an operation that do not
//! wait for one another share a vector, and it takes 3 and 5.

use super::adder::Packed;
use super::{Engines, Isa};
use crate::curve::{Affine, CurveParams, Jacobian};
use crate::field::Field;

/// Double so often, then add the point with this index, or its negative.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// How often.
    pub doublings: u32,
    /// Index of a finite point, and whether it is to be negated.
    pub term: Option<(usize, bool)>,
}

/// The sum that the steps make of the points, from infinity, and the number of operations.
pub(super) fn run<C: CurveParams<Field: Engines>>(
    isa: Isa,
    points: &[Affine<C>],
    steps: &[Step],
) -> (Jacobian<C>, u64) {
    let operations = operations(steps);
    if isa != Isa::Scalar {
        let packed: Vec<_> = points.iter().map(|point| Packed { x: point.x.to_mont(), y: point.y.to_mont() }).collect();
        if let Some([x, y, z]) = C::Field::lane_chain(packed, steps) {
            return (Jacobian::from_coordinates(x, y, z), operations);
        }
    }
    let sum = if C::Field::has_mul_inline() {
        // SAFETY: just asked.
        scalar(points, steps, |a, b| unsafe { a.mul_inline(b) })
    } else {
        scalar(points, steps, |a, b| a * b)
    };
    (sum, operations)
}

/// Doublings and additions, but for those of infinity.
fn operations(steps: &[Step]) -> u64 {
    let mut started = steps.iter().skip_while(|step| step.term.is_none());
    let first = u64::from(started.next().is_some());
    first + started.map(|step| u64::from(step.doublings) + u64::from(step.term.is_some())).sum::<u64>()
}

/// The same in 64-bit arithmetic, for all points. The multiplication is a parameter, so that it can be inlined: passing
/// every product through memory would add a fifth.
fn scalar<C: CurveParams>(
    points: &[Affine<C>],
    steps: &[Step],
    mul: impl Fn(C::Field, C::Field) -> C::Field,
) -> Jacobian<C> {
    let mut sum = Jacobian::INFINITY;
    for step in steps {
        if !sum.is_infinity() {
            sum = (0..step.doublings).fold(sum, |sum, _| sum.double_by(&mul));
        }
        if let Some((index, negative)) = step.term {
            let point = if negative { -points[index] } else { points[index] };
            sum = sum.add_affine_by(&point, &mul);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::tables::{bls12_377, bls12_381, bn254};

    fn agrees<C: CurveParams<Field: Engines>>(points: &[Affine<C>], steps: &[Step]) {
        let (lanes, _) = run(Isa::best(), points, steps);
        let (exact, operations) = run(Isa::Scalar, points, steps);
        assert!(lanes == exact, "{} after {operations} operations", C::NAME);
    }

    fn chains<C: CurveParams<Field: Engines>>() {
        let points: Vec<Affine<C>> = (1..=9).map(|k| Affine::GENERATOR.mul_limbs(&[k * k]).to_affine()).collect();
        let mut state = 3u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for length in 0..60 {
            let steps: Vec<_> = (0..length)
                .map(|_| Step {
                    doublings: next(6) as u32,
                    term: (next(4) > 0).then(|| (next(9) as usize, next(2) == 0)),
                })
                .collect();
            agrees(&points, &steps);
        }
    }

    /// Sums that meet a point equal or opposite to what they add: also in the middle, where more follows.
    fn exceptions<C: CurveParams<Field: Engines>>() {
        let points = [Affine::<C>::GENERATOR, Affine::GENERATOR.mul_limbs(&[6]).to_affine()];
        let add = |doublings, index, negative| Step { doublings, term: Some((index, negative)) };
        let rest = [add(3, 1, true), Step { doublings: 2, term: None }];
        for start in [
            vec![add(0, 0, false), add(0, 0, false)],
            vec![add(0, 0, false), add(0, 0, true)],
            vec![add(0, 0, false), add(1, 0, false), add(1, 1, false)],
            vec![add(0, 0, false), add(1, 0, false), add(1, 1, true)],
        ] {
            agrees(&points, &start);
            agrees(&points, &[&start[..], &rest].concat());
        }
        let (sum, operations) = run(Isa::best(), &points, &[]);
        assert!(sum.is_infinity() && operations == 0);
    }

    #[test]
    fn lanes_agree_with_64_bits() {
        chains::<bn254::G1>();
        chains::<bls12_377::G1>();
        chains::<bls12_381::G1>();
    }

    #[test]
    fn lanes_leave_exceptions_to_64_bits() {
        exceptions::<bn254::G1>();
        exceptions::<bls12_377::G1>();
        exceptions::<bls12_381::G1>();
    }
}
