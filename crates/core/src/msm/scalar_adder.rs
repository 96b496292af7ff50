//! Batched affine addition in 64-bit arithmetic: 5M + 1S an addition, 1 inversion and 3M a batch.

use super::Isa;
use super::adder::{BatchAdder, Packed, Pair};
use crate::field::Field;

/// The 64-bit adder of a field.
pub struct ScalarAdder<F: Field> {
    steps: Vec<Step<F>>,
}

/// What the forward pass leaves for the backward pass.
#[derive(Clone, Copy)]
struct Step<F> {
    /// Denominator of the slope; one where the sum is infinity.
    denominator: F,
    /// Product of the denominators before this one.
    prefix: F,
    /// How the slope's numerator is made.
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Add,
    Double,
    Cancel,
}

impl<F: Field> BatchAdder<F> for ScalarAdder<F> {
    const ISA: Isa = Isa::Scalar;

    fn new(capacity: usize) -> Self {
        Self { steps: Vec::with_capacity(capacity) }
    }

    fn import(_: &mut [Packed<F>]) {}

    fn export(_: &mut [Packed<F>]) {}

    fn scale_x(points: &mut [Packed<F>], factor: F) {
        for point in points {
            point.x = (F::from_mont(point.x) * factor).to_mont();
        }
    }

    unsafe fn add(
        &mut self,
        accumulators: *mut Packed<F>,
        sources: *const Packed<F>,
        pairs: &[Pair],
        cancelled: &mut Vec<u32>,
    ) {
        self.steps.clear();
        let mut product = F::ONE;
        for &pair in pairs {
            // SAFETY: the caller's contract.
            let ((x1, y1), (x2, y2)) = unsafe { operands(accumulators, sources, pair) };
            let (denominator, kind) = match x2 - x1 {
                difference if !difference.is_zero() => (difference, Kind::Add),
                _ if y1 == y2 && !y1.is_zero() => (y1.double(), Kind::Double),
                _ => (F::ONE, Kind::Cancel),
            };
            self.steps.push(Step { denominator, prefix: product, kind });
            product = product * denominator;
        }
        let Some(mut inverse) = product.invert() else { unreachable!("no denominator is zero") };
        for (&pair, step) in pairs.iter().zip(&self.steps).rev() {
            let slope_denominator = inverse * step.prefix;
            inverse = inverse * step.denominator;
            // SAFETY: the caller's contract; destinations differ, so the operands are as the first pass saw them.
            let ((x1, y1), (x2, y2)) = unsafe { operands(accumulators, sources, pair) };
            let numerator = match step.kind {
                Kind::Add => y2 - y1,
                Kind::Double => {
                    let square = x1.square();
                    square.double() + square
                }
                Kind::Cancel => {
                    cancelled.push(pair.dst);
                    continue;
                }
            };
            let slope = numerator * slope_denominator;
            let x = slope.square() - x1 - x2;
            let y = slope * (x1 - x) - y1;
            // SAFETY: the caller's contract.
            unsafe { *accumulators.add(pair.dst as usize) = Packed { x: x.to_mont(), y: y.to_mont() } };
        }
    }
}

/// Both operands of a pair, the sign applied.
///
/// # Safety
///
/// The indices of the pair are in bounds.
#[inline(always)]
unsafe fn operands<F: Field>(
    accumulators: *const Packed<F>,
    sources: *const Packed<F>,
    pair: Pair,
) -> ((F, F), (F, F)) {
    // SAFETY: the caller's contract.
    let (a, b) = unsafe { (*accumulators.add(pair.dst as usize), *sources.add(pair.src())) };
    let y2 = F::from_mont(b.y);
    ((F::from_mont(a.x), F::from_mont(a.y)), (F::from_mont(b.x), if pair.negate() { -y2 } else { y2 }))
}
