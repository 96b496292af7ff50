//! Batched affine addition in 64-bit arithmetic: 5M + 1S an addition, 1 inversion and 4M a batch.
//!
//! The forward pass multiplies denominators up in two interleaved chains, as one alone would wait for the latency of
//! its multiplications; the backward pass undoes them and computes the sums.

use core::array::from_fn;

use super::Isa;
use super::adder::{BatchAdder, Packed, Pair, prefetch};
use crate::field::Field;

/// Interleaved chains of products; a multiplication takes almost twice as long to end as to let the next one start.
const CHAINS: usize = 2;

/// Pairs whose memory is fetched ahead.
const AHEAD: usize = 8;

/// The 64-bit adder of a field.
pub struct ScalarAdder<F: Field> {
    steps: Vec<Step<F>>,
    kinds: Vec<Kind>,
}

/// What the forward pass leaves for the backward pass.
#[derive(Clone, Copy)]
struct Step<F> {
    /// Denominator of the slope; one where the sum is infinity.
    denominator: F,
    /// Product of the denominators before this one in its chain.
    prefix: F,
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
        Self { steps: Vec::with_capacity(capacity), kinds: Vec::with_capacity(capacity) }
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
        let batch = Batch { accumulators, sources, pairs };
        // SAFETY: the caller's contract; inlined multiplications are used where the CPU has them.
        unsafe {
            if F::has_mul_inline() {
                batch.add::<true>(self, cancelled);
            } else {
                batch.add::<false>(self, cancelled);
            }
        }
    }
}

/// The arguments of `BatchAdder::add`, under its contract.
struct Batch<'a, F: Field> {
    accumulators: *mut Packed<F>,
    sources: *const Packed<F>,
    pairs: &'a [Pair],
}

impl<F: Field> Batch<'_, F> {
    /// # Safety
    ///
    /// The contract of `BatchAdder::add`; `INLINE` only if `F::has_mul_inline()`.
    unsafe fn add<const INLINE: bool>(&self, scratch: &mut ScalarAdder<F>, cancelled: &mut Vec<u32>) {
        // SAFETY: the caller's contract, and the groups tile the batch.
        unsafe {
            let products = self.forward::<INLINE>(scratch);
            let mut inverses = inverses::<F, INLINE>(products);
            let whole = self.pairs.len() / CHAINS * CHAINS;
            for i in (whole..self.pairs.len()).rev() {
                let chain = i % CHAINS;
                let mut inverse = [inverses[chain]];
                self.backward::<1, INLINE>(scratch, i, &mut inverse, cancelled);
                inverses[chain] = inverse[0];
            }
            for first in (0..whole).step_by(CHAINS).rev() {
                self.backward::<CHAINS, INLINE>(scratch, first, &mut inverses, cancelled);
            }
        }
    }

    /// Fills `steps` and `kinds`; returns the product of the denominators of each chain.
    ///
    /// # Safety
    ///
    /// As `add`.
    unsafe fn forward<const INLINE: bool>(&self, scratch: &mut ScalarAdder<F>) -> [F; CHAINS] {
        scratch.steps.clear();
        scratch.kinds.clear();
        let mut products = [F::ONE; CHAINS];
        for (i, &pair) in self.pairs.iter().enumerate() {
            if let Some(&next) = self.pairs.get(i + AHEAD) {
                // SAFETY: indices are in bounds.
                unsafe {
                    prefetch(self.accumulators.add(next.dst as usize));
                    prefetch(self.sources.add(next.src()));
                }
            }
            // SAFETY: indices are in bounds.
            let (x1, x2) = unsafe { (self.accumulator(pair).0, F::from_mont((*self.sources.add(pair.src())).x)) };
            let difference = x2 - x1;
            let (denominator, kind) =
                // SAFETY: indices are in bounds.
                if difference.is_zero() { unsafe { self.exceptional(pair) } } else { (difference, Kind::Add) };
            let product = &mut products[i % CHAINS];
            scratch.steps.push(Step { denominator, prefix: *product });
            scratch.kinds.push(kind);
            // SAFETY: the caller's contract.
            *product = unsafe { mul::<F, INLINE>(*product, denominator) };
        }
        products
    }

    /// The denominator of a pair with equal x.
    #[cold]
    unsafe fn exceptional(&self, pair: Pair) -> (F, Kind) {
        // SAFETY: the caller's contract.
        let ((_, y1), (_, y2)) = unsafe { (self.accumulator(pair), self.source(pair)) };
        if y1 == y2 && !y1.is_zero() { (y1.double(), Kind::Double) } else { (F::ONE, Kind::Cancel) }
    }

    /// The sums of K pairs from `first` on, one of each chain, stage by stage: independent multiplications stand side
    /// by side, so that the CPU overlaps them (a single pair waits for four in a row).
    ///
    /// # Safety
    ///
    /// As `add`, after `forward`, with the inverses of the chains' products up to these pairs.
    #[inline(always)]
    unsafe fn backward<const K: usize, const INLINE: bool>(
        &self,
        scratch: &ScalarAdder<F>,
        first: usize,
        inverses: &mut [F; K],
        cancelled: &mut Vec<u32>,
    ) {
        // SAFETY: the caller's contract.
        let mul = |a, b| unsafe { mul::<F, INLINE>(a, b) };
        let steps: &[Step<F>; K] = scratch.steps[first..first + K].try_into().expect("K steps");
        let kinds: &[Kind; K] = scratch.kinds[first..first + K].try_into().expect("K kinds");
        let pairs: &[Pair; K] = self.pairs[first..first + K].try_into().expect("K pairs");
        let denominators: [F; K] = from_fn(|j| mul(inverses[j], steps[j].prefix));
        *inverses = from_fn(|j| mul(inverses[j], steps[j].denominator));
        let slopes: [F; K] = from_fn(|j| {
            // SAFETY: destinations differ, so the operands are as the first pass saw them.
            let ((x1, y1), (_, y2)) = unsafe { (self.accumulator(pairs[j]), self.source(pairs[j])) };
            let numerator = if kinds[j] == Kind::Double { triple_square(x1) } else { y2 - y1 };
            mul(numerator, denominators[j])
        });
        let xs: [F; K] = from_fn(|j| {
            // SAFETY: as above.
            let ((x1, _), (x2, _)) = unsafe { (self.accumulator(pairs[j]), self.source(pairs[j])) };
            mul(slopes[j], slopes[j]) - x1 - x2
        });
        for j in 0..K {
            // SAFETY: as above.
            let (x1, y1) = unsafe { self.accumulator(pairs[j]) };
            let y = mul(slopes[j], x1 - xs[j]) - y1;
            if kinds[j] == Kind::Cancel {
                cancelled.push(pairs[j].dst);
            }
            // SAFETY: the index is in bounds.
            unsafe { *self.accumulators.add(pairs[j].dst as usize) = Packed { x: xs[j].to_mont(), y: y.to_mont() } };
        }
    }

    #[inline(always)]
    unsafe fn accumulator(&self, pair: Pair) -> (F, F) {
        // SAFETY: the index is in bounds.
        let point = unsafe { &*self.accumulators.add(pair.dst as usize) };
        (F::from_mont(point.x), F::from_mont(point.y))
    }

    /// The source with the sign applied.
    #[inline(always)]
    unsafe fn source(&self, pair: Pair) -> (F, F) {
        // SAFETY: the index is in bounds.
        let point = unsafe { &*self.sources.add(pair.src()) };
        (F::from_mont(point.x), F::from_mont(point.y).negate_if(pair.negate()))
    }
}

/// 3 x^2, the numerator of the slope of a doubling.
#[cold]
fn triple_square<F: Field>(x: F) -> F {
    let square = x.square();
    square.double() + square
}

/// The inverse of each product, by one inversion.
///
/// # Safety
///
/// `INLINE` only if `F::has_mul_inline()`.
unsafe fn inverses<F: Field, const INLINE: bool>(products: [F; CHAINS]) -> [F; CHAINS] {
    // SAFETY: the caller's contract.
    let mul = |a, b| unsafe { mul::<F, INLINE>(a, b) };
    let mut prefixes = [F::ONE; CHAINS];
    for j in 1..CHAINS {
        prefixes[j] = mul(prefixes[j - 1], products[j - 1]);
    }
    let total = mul(prefixes[CHAINS - 1], products[CHAINS - 1]);
    let Some(mut inverse) = total.invert() else { unreachable!("no denominator is zero") };
    let mut inverses = products;
    for j in (0..CHAINS).rev() {
        (inverses[j], inverse) = (mul(inverse, prefixes[j]), mul(inverse, products[j]));
    }
    inverses
}

/// # Safety
///
/// `INLINE` only if `F::has_mul_inline()`.
#[inline(always)]
unsafe fn mul<F: Field, const INLINE: bool>(a: F, b: F) -> F {
    // SAFETY: the caller's contract.
    if INLINE { unsafe { a.mul_inline(b) } } else { a * b }
}
