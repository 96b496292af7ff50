//! Which adder serves which field on which instruction set. The only place that knows the pairs of limb counts.

use super::adder::BatchAdder;
#[cfg(target_arch = "x86_64")]
use super::lane_adder::{EightLaneAdder, FourLaneAdder};
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
}
