//! Batched affine addition with one pair per lane: 5M + 1S an addition, and once a batch one inversion and
//! 2 log2(lanes) + 4 vector multiplications.
//!
//! Loads rows of packed points and transposes them into lanes, two groups of lanes at a time so that the chains of
//! dependent multiplications overlap. A batch is two passes:
//!
//! * forward: d = x1 - x2, and the product of the d of all groups before, lane by lane and for even and odd
//!   groups apart;
//! * backward: from the inverse of all products, 1/d (1M) and the inverse of the product before (1M); the slope
//!   (y1 - y2)/d (1M), x3 = slope^2 - x1 - x2 (1S), y3 = slope (x1 - x3) - y1 (1M).
//!
//! Bounds of operands and of what is stored: x below 3 p, y below 4 p; docs/cpu-lanes.md has those between.
//! Source: Montgomery's trick (eprint 2008/199, section 3).

mod backward;
mod chain;
mod convert;
mod exceptions;
mod forward;
mod four;
mod group;
mod share;
mod times;

use super::Isa as Name;
use super::adder::{BatchAdder, Packed, Pair};
use crate::field::lanes::{Isa, Kernel, LaneField, Limbwise, Repack, Vector};
use crate::field::{FieldParams, Fp, LaneParams, lanes::ifma512::Ifma512};

use exceptions::Exceptions;
use group::{Groups, IDLE_LINES, Line};

pub use chain::chain;
pub use four::FourLaneAdder;

/// Eight lanes of AVX-512 IFMA.
pub type EightLaneAdder<P, const N: usize, const L: usize> = LaneAdder<Ifma512, P, N, L>;

/// An adder over the lanes of an instruction set.
pub struct LaneAdder<I, P, const N: usize, const L: usize> {
    isa: I,
    /// For each group d, the product before it and x1, as limb vectors; then the rows of idle lanes.
    scratch: Vec<Line>,
    exceptions: Exceptions<P, N>,
}

/// Elements that the forward pass leaves for each group, and which of them is which.
const SAVED: usize = 3;
const DENOMINATOR: usize = 0;
const PRODUCT: usize = 1;
const X1: usize = 2;

impl<I: Isa, P: FieldParams<N> + LaneParams<L>, const N: usize, const L: usize> LaneAdder<I, P, N, L>
where
    I::Vector: Repack<N, L>,
{
    /// Scratch for batches of up to `capacity` pairs.
    fn with_isa(isa: I, capacity: usize) -> Self {
        let () = P::FITS;
        let groups = capacity.div_ceil(I::Vector::LANES).next_multiple_of(2);
        let lines = groups * SAVED * L * I::Vector::LANES / 8 + IDLE_LINES;
        Self { isa, scratch: vec![Line([0; 8]); lines], exceptions: Exceptions::new() }
    }

    /// [`BatchAdder::add`].
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn add_batch(
        &mut self,
        accumulators: *mut Packed<Fp<P, N>>,
        sources: *const Packed<Fp<P, N>>,
        pairs: &[Pair],
        cancelled: &mut Vec<u32>,
    ) {
        let scratch: *mut u64 = self.scratch.as_mut_ptr().cast();
        let words = 8 * (self.scratch.len() - IDLE_LINES);
        // SAFETY: the caller's contract; the last lines of the scratch are for idle lanes.
        let groups = unsafe { Groups::new(accumulators.cast(), sources.cast(), pairs, scratch.add(words)) };
        assert!(groups.count() * SAVED * L * I::Vector::LANES <= words, "more pairs than the adder has room for");
        self.isa.run(AddBatch::<I, P, N, L> { groups, scratch, exceptions: &mut self.exceptions, cancelled });
    }
}

/// The kernel of one batch. Made only by `add_batch`, whose caller vouches for the rows.
struct AddBatch<'a, I: Isa, P, const N: usize, const L: usize> {
    groups: Groups<'a, I::Vector, N>,
    scratch: *mut u64,
    exceptions: &'a mut Exceptions<P, N>,
    cancelled: &'a mut Vec<u32>,
}

impl<I: Isa, P: LaneField<N, L>, const N: usize, const L: usize> Kernel<I> for AddBatch<'_, I, P, N, L>
where
    I::Vector: Repack<N, L>,
{
    type Output = ();

    #[inline(always)]
    fn run(mut self, isa: I) {
        let one = I::Vector::constant(isa, <P as LaneParams<L>>::R);
        let count = self.groups.count();
        let mut products = [one; 2];
        for group in (0..count).step_by(2) {
            self.forward(isa, group, &mut products);
        }
        let mut inverses = self.share(isa, products);
        for group in (0..count).step_by(2).rev() {
            inverses = self.backward(isa, group, inverses);
        }
    }
}

impl<I: Isa, P, const N: usize, const L: usize> AddBatch<'_, I, P, N, L> {
    /// Where a group keeps one of its saved elements.
    #[inline(always)]
    fn saved(&self, group: usize, which: usize) -> *mut u64 {
        self.scratch.wrapping_add((group * SAVED + which) * L * I::Vector::LANES)
    }
}

impl<P: FieldParams<N> + LaneParams<L>, const N: usize, const L: usize> BatchAdder<Fp<P, N>> for EightLaneAdder<P, N, L>
where
    <Ifma512 as Isa>::Vector: Repack<N, L>,
{
    const ISA: Name = Name::Ifma512;
    const LOOSE: u64 = 4;

    fn new(capacity: usize) -> Self {
        Self::with_isa(detected(), capacity)
    }

    fn import(points: &mut [Packed<Fp<P, N>>]) {
        convert::import::<Ifma512, P, N, L>(detected(), points);
    }

    fn admit(points: &mut [Packed<Fp<P, N>>], canonical: bool, b: Option<Fp<P, N>>) -> Option<usize> {
        convert::admit::<Ifma512, P, N, L>(detected(), points, canonical, b)
    }

    fn export(points: &mut [Packed<Fp<P, N>>]) {
        convert::export::<Ifma512, P, N, L>(detected(), points);
    }

    fn scale_x(points: &mut [Packed<Fp<P, N>>], factor: Fp<P, N>) {
        convert::scale_x::<Ifma512, P, N, L>(detected(), points, factor);
    }

    unsafe fn add(
        &mut self,
        accumulators: *mut Packed<Fp<P, N>>,
        sources: *const Packed<Fp<P, N>>,
        pairs: &[Pair],
        cancelled: &mut Vec<u32>,
    ) {
        // SAFETY: the caller's contract.
        unsafe { self.add_batch(accumulators, sources, pairs, cancelled) }
    }
}

/// The instruction set, which whoever chose this adder has seen to be there.
fn detected<I: Isa>() -> I {
    let Some(isa) = I::detect() else { panic!("this CPU lacks the instructions of the chosen adder") };
    isa
}

#[cfg(test)]
mod tests;
