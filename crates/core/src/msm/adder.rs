//! The one primitive that the engine's inner loops are made of: a batch of independent affine additions that
//! share one inversion. Accumulation, tree sums and bucket reduction are all lists of `Pair`s for it.
//!
//! Cost: 5M + 1S an addition, plus one inversion a batch (Montgomery's trick: eprint 2008/199, section 3).

use super::Isa;
use crate::curve::{Affine, CurveParams};
use crate::field::{Field, Limbs};

/// A finite point in memory: packed little-endian 64-bit limbs, x then y, in the Montgomery domain of the adder
/// that owns it: R = 2^(64 N) for 64-bit arithmetic, 2^(52 L) for lanes.
///
/// What `import`, `export` and `scale_x` leave is fully reduced (below p): there equality of limbs is equality in
/// the field and p - y is the negative in any domain. A sum that `add` stored is only known to be below
/// `BatchAdder::LOOSE` times p, so outside the adder it may be copied or exported, never compared or negated.
/// 64 bytes for a 256-bit field (one cache line, when the array is aligned), 96 for a 384-bit one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packed<F: Field> {
    /// x
    pub x: F::Limbs,
    /// y
    pub y: F::Limbs,
}

impl<F: Field> Packed<F> {
    /// Limbs zero: what an empty slot holds, and infinity among imported bases. Never an operand of an addition.
    pub const EMPTY: Self = Self { x: F::Limbs::ZERO, y: F::Limbs::ZERO };
}

/// One addition of a batch: `accumulators[dst] += ±sources[src]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Pair {
    /// Index of the accumulator.
    pub dst: u32,
    /// Index of the source times two, plus one if it is to be negated.
    pub signed_src: u32,
}

impl Pair {
    /// `accumulators[dst] += sources[src]`, or -= if `negate`.
    #[inline(always)]
    pub const fn new(dst: u32, src: u32, negate: bool) -> Self {
        Self { dst, signed_src: src << 1 | negate as u32 }
    }

    /// Index of the source.
    #[inline(always)]
    pub const fn src(self) -> usize {
        (self.signed_src >> 1) as usize
    }

    /// Whether the source is to be negated.
    #[inline(always)]
    pub const fn negate(self) -> bool {
        self.signed_src & 1 == 1
    }
}

/// Batched affine addition in one arithmetic. A value owns the scratch of one thread.
///
/// # What an implementation must do
///
/// * `add` computes every pair of a batch with one inversion in all. The scheduler guarantees that the batch is
///   free of conflicts, so pairs may be computed in any order and any number at a time; a lane implementation
///   loads 8 (or 4) pairs, transposes limbs into lanes, and pads the last group itself (say with x2 - x1 = 1).
/// * Both operands are finite, but nothing else is promised: equal x occurs. Equal x and equal y (after the sign)
///   is a doubling: slope 3x^2 / 2y in the same batch. Equal x otherwise, which includes doubling a point with
///   y = 0, gives infinity: the lane takes 1 as its denominator, writes nothing that matters, and `dst` is pushed
///   to `cancelled`.
/// * Operands may be sums of earlier batches (below `LOOSE` p); so may what is stored: 64-bit packed, in the
///   adder's domain. `export` takes them and reduces.
///
/// `import` and `export` change between the 64-bit Montgomery domain and the adder's own, in place; `(0, 0)` stays.
pub trait BatchAdder<F: Field>: Send + Sized {
    /// The arithmetic.
    const ISA: Isa;
    /// Sums stored by `add` are below this many p.
    const LOOSE: u64 = 1;

    /// Scratch for batches of up to `capacity` pairs.
    fn new(capacity: usize) -> Self;

    /// From the 64-bit Montgomery domain to the adder's, in place.
    fn import(points: &mut [Packed<F>]);

    /// Takes points as a caller gave them, below p but canonical or in the 64-bit Montgomery domain, to the adder's
    /// domain, in place. With `b` of the curve, returns the index of the first point that is not on it; (0, 0)
    /// passes.
    fn admit(points: &mut [Packed<F>], canonical: bool, b: Option<F>) -> Option<usize> {
        let mut first = None;
        for (i, point) in points.iter_mut().enumerate() {
            let read =
                |limbs| if canonical { F::from_canonical(limbs).unwrap_or(F::ZERO) } else { F::from_mont(limbs) };
            let (x, y) = (read(point.x), read(point.y));
            let on_curve = b.is_none_or(|b| y.square() == x.square() * x + b || (x.is_zero() && y.is_zero()));
            if !on_curve && first.is_none() {
                first = Some(i);
            }
            *point = Packed { x: x.to_mont(), y: y.to_mont() };
        }
        Self::import(points);
        first
    }

    /// From the adder's domain to the 64-bit Montgomery domain, in place.
    fn export(points: &mut [Packed<F>]);

    /// Multiplies every x by `factor` (given in the 64-bit domain): the endomorphism, in place, in the adder's domain.
    fn scale_x(points: &mut [Packed<F>], factor: F);

    /// `accumulators[dst] += ±sources[src]` for every pair; pairs whose sum is infinity push `dst` to `cancelled`
    /// and leave the accumulator unspecified.
    ///
    /// # Safety
    ///
    /// Every `dst` is valid for reads and writes through `accumulators`, every `src` for reads through `sources`;
    /// all `dst` differ; `accumulators` and `sources` may be the same array, but then no `src` is a `dst` of the
    /// batch; `pairs.len()` is at most the capacity. The CPU has `ISA`.
    unsafe fn add(
        &mut self,
        accumulators: *mut Packed<F>,
        sources: *const Packed<F>,
        pairs: &[Pair],
        cancelled: &mut Vec<u32>,
    );
}

/// The point that a packed base or sum stands for, from the domain of the adder `A`.
pub(super) fn exported<C: CurveParams, A: BatchAdder<C::Field>>(packed: Packed<C::Field>) -> Affine<C> {
    let mut packed = [packed];
    A::export(&mut packed);
    let [Packed { x, y }] = packed;
    Affine { x: C::Field::from_mont(x), y: C::Field::from_mont(y) }
}

/// Asks for the cache lines of a point before they are needed. The address may be any.
#[inline(always)]
pub fn prefetch<F: Field>(point: *const Packed<F>) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<Packed<F>>()).step_by(64) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(point.cast::<i8>().wrapping_add(line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = point;
}
