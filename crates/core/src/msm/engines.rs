//! Which adder serves which field on which instruction set. The only place that knows the pairs of limb counts.

use super::adder::{BatchAdder, Packed};
use super::chain::Step;
#[cfg(target_arch = "x86_64")]
use super::lane_adder::{self, EightLaneAdder, FourLaneAdder};
use super::scalar_adder::ScalarAdder;
use crate::field::{Field, FieldParams, Fp, LaneParams};

/// A field with an adder for every instruction set.
pub trait Engines: Field {
    /// 64-bit arithmetic.
    type Scalar: BatchAdder<Self>;
    /// 4 lanes.
    type Ifma256: BatchAdder<Self>;
    /// 8 lanes.
    type Ifma512: BatchAdder<Self>;

    /// X, Y and Z of the sum that the steps make of the points (in the 64-bit domain), computed in lanes; None if it is
    /// infinity, or has to be computed otherwise.
    fn lane_chain(points: Vec<Packed<Self>>, steps: &[Step]) -> Option<[Self; 3]>;
}

impl<P: FieldParams<4> + LaneParams<5>> Engines for Fp<P, 4> {
    type Scalar = ScalarAdder<Self>;
    #[cfg(target_arch = "x86_64")]
    type Ifma256 = FourLaneAdder<P, 4, 5>;
    #[cfg(target_arch = "x86_64")]
    type Ifma512 = EightLaneAdder<P, 4, 5>;
    #[cfg(not(target_arch = "x86_64"))]
    type Ifma256 = ScalarAdder<Self>;
    #[cfg(not(target_arch = "x86_64"))]
    type Ifma512 = ScalarAdder<Self>;

    #[cfg(target_arch = "x86_64")]
    fn lane_chain(points: Vec<Packed<Self>>, steps: &[Step]) -> Option<[Self; 3]> {
        lane_adder::chain::<P, 4, 5>(points, steps)
    }
    #[cfg(not(target_arch = "x86_64"))]
    fn lane_chain(_: Vec<Packed<Self>>, _: &[Step]) -> Option<[Self; 3]> {
        None
    }
}

impl<P: FieldParams<6> + LaneParams<8>> Engines for Fp<P, 6> {
    type Scalar = ScalarAdder<Self>;
    #[cfg(target_arch = "x86_64")]
    type Ifma256 = FourLaneAdder<P, 6, 8>;
    #[cfg(target_arch = "x86_64")]
    type Ifma512 = EightLaneAdder<P, 6, 8>;
    #[cfg(not(target_arch = "x86_64"))]
    type Ifma256 = ScalarAdder<Self>;
    #[cfg(not(target_arch = "x86_64"))]
    type Ifma512 = ScalarAdder<Self>;

    #[cfg(target_arch = "x86_64")]
    fn lane_chain(points: Vec<Packed<Self>>, steps: &[Step]) -> Option<[Self; 3]> {
        lane_adder::chain::<P, 6, 8>(points, steps)
    }
    #[cfg(not(target_arch = "x86_64"))]
    fn lane_chain(_: Vec<Packed<Self>>, _: &[Step]) -> Option<[Self; 3]> {
        None
    }
}
