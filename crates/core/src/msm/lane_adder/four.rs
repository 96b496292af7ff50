//! The four-lane adder: AVX-IFMA where the CPU has it, its AVX-512 VL twin elsewhere.

use super::{LaneAdder, convert, detected};
use crate::field::lanes::ifma256::{Ifma256, Ifma256Vl};
use crate::field::lanes::{Isa, Repack};
use crate::field::{FieldParams, Fp, LaneParams};
use crate::msm::Isa as Name;
use crate::msm::adder::{BatchAdder, Packed, Pair};

/// Four lanes, in the encoding that this CPU has.
pub enum FourLaneAdder<P, const N: usize, const L: usize> {
    /// AVX-IFMA.
    Vex(LaneAdder<Ifma256, P, N, L>),
    /// AVX-512 IFMA with VL.
    Evex(LaneAdder<Ifma256Vl, P, N, L>),
}

impl<P: FieldParams<N> + LaneParams<L>, const N: usize, const L: usize> BatchAdder<Fp<P, N>> for FourLaneAdder<P, N, L>
where
    <Ifma256 as Isa>::Vector: Repack<N, L>,
    <Ifma256Vl as Isa>::Vector: Repack<N, L>,
{
    const ISA: Name = Name::Ifma256;
    const LOOSE: u64 = 4;

    fn new(capacity: usize) -> Self {
        match Ifma256::detect() {
            Some(isa) => Self::Vex(LaneAdder::with_isa(isa, capacity)),
            None => Self::Evex(LaneAdder::with_isa(detected(), capacity)),
        }
    }

    fn import(points: &mut [Packed<Fp<P, N>>]) {
        match Ifma256::detect() {
            Some(isa) => convert::import::<_, P, N, L>(isa, points),
            None => convert::import::<Ifma256Vl, P, N, L>(detected(), points),
        }
    }

    fn admit(points: &mut [Packed<Fp<P, N>>], canonical: bool, b: Option<Fp<P, N>>) -> Option<usize> {
        match Ifma256::detect() {
            Some(isa) => convert::admit::<_, P, N, L>(isa, points, canonical, b),
            None => convert::admit::<Ifma256Vl, P, N, L>(detected(), points, canonical, b),
        }
    }

    fn export(points: &mut [Packed<Fp<P, N>>]) {
        match Ifma256::detect() {
            Some(isa) => convert::export::<_, P, N, L>(isa, points),
            None => convert::export::<Ifma256Vl, P, N, L>(detected(), points),
        }
    }

    fn scale_x(points: &mut [Packed<Fp<P, N>>], factor: Fp<P, N>) {
        match Ifma256::detect() {
            Some(isa) => convert::scale_x::<_, P, N, L>(isa, points, factor),
            None => convert::scale_x::<Ifma256Vl, P, N, L>(detected(), points, factor),
        }
    }

    unsafe fn add(
        &mut self,
        accumulators: *mut Packed<Fp<P, N>>,
        sources: *const Packed<Fp<P, N>>,
        pairs: &[Pair],
        cancelled: &mut Vec<u32>,
    ) {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                Self::Vex(adder) => adder.add_batch(accumulators, sources, pairs, cancelled),
                Self::Evex(adder) => adder.add_batch(accumulators, sources, pairs, cancelled),
            }
        }
    }
}
