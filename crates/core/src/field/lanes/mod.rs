//! Field elements across vector lanes: one element per lane, L limbs of 52 bits in L vectors.
//!
//! A kernel is written once, generic over an [`Isa`] (8 or 4 lanes) and a modulus, and runs through [`Isa::run`],
//! which is where the instruction set is switched on: once per kernel, so that one binary serves every CPU.
//! Everything below a kernel is `#[inline(always)]` and takes the features of the kernel it is inlined into.
//!
//! **Limbs.** *Clean* limbs are below 2^52. *Dirty* limbs have had their carry added to the next limb but not
//! removed: multiplication reads only the low 52 bits, so dirty factors are as good as clean ones. *Raw* limbs are
//! sums that were not carried yet: at least 0 and below 2^60, except that the top one may be negative.
//!
//! **Bounds.** R52 = 2^(52 L) is at least 32 p, and a product of values below a p and b p is below
//! (2 + a b p / R52) p. So no value is ever reduced to below p inside a kernel; where a sum has to shrink, it is
//! compared by its top limb alone, whose error of a few hundred units is part of the bounds.
//!
//! Source: Gueron and Krasnov, "Accelerating big integer arithmetic using Intel IFMA extensions" (ARITH 2016).

pub mod ifma256;
pub mod ifma512;
mod mul;
pub mod params;
mod repack;

use core::ops::{Add, BitAnd, Sub};

pub use mul::Limbwise;
pub use params::LaneField;
pub use repack::Repack;

/// A kernel: code that runs with an instruction set switched on. `run` must be `#[inline(always)]`.
pub trait Kernel<I: Isa> {
    /// What it returns.
    type Output;
    /// The body.
    fn run(self, isa: I) -> Self::Output;
}

/// An instruction set; a value proves that this CPU has it.
pub trait Isa: Copy + Send + Sync + 'static {
    /// Its vectors.
    type Vector: Vector<Isa = Self>;

    /// The proof, if this CPU has the instructions.
    fn detect() -> Option<Self>;

    /// Runs a kernel compiled for the instruction set.
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output;
}

/// `LANES` lanes of 64 bits.
pub trait Vector: Copy + core::fmt::Debug + Add<Output = Self> + Sub<Output = Self> + BitAnd<Output = Self> {
    /// The instruction set it belongs to.
    type Isa: Isa<Vector = Self>;
    /// One truth value per lane.
    type Mask: Copy;
    /// Number of lanes: 8 or 4.
    const LANES: usize;

    /// The same value in every lane.
    fn splat(isa: Self::Isa, value: u64) -> Self;

    /// Lanes from consecutive words.
    ///
    /// # Safety
    ///
    /// `LANES` words are readable.
    unsafe fn load(isa: Self::Isa, from: *const u64) -> Self;

    /// Lanes to consecutive words.
    ///
    /// # Safety
    ///
    /// `LANES` words are writable.
    unsafe fn store(self, to: *mut u64);

    /// `self` + the low 52 bits of the product of the low 52 bits of `a` and `b`.
    fn madd_lo(self, a: Self, b: Self) -> Self;
    /// `self` + bits 52..104 of the product of the low 52 bits of `a` and `b`.
    fn madd_hi(self, a: Self, b: Self) -> Self;
    /// Logical shift right.
    fn shr<const S: u32>(self) -> Self;
    /// Shift left.
    fn shl<const S: u32>(self) -> Self;
    /// The low 64 bits of (`high` : `self`) >> S, for 0 < S < 64; `REST` is 64 - S.
    fn shrd<const S: u32, const REST: u32>(self, high: Self) -> Self;
    /// Whether `self` >= `least`, as signed integers.
    fn at_least(self, least: Self) -> Self::Mask;
    /// Subtracts `what` where the mask is set.
    fn sub_if(self, mask: Self::Mask, what: Self) -> Self;
    /// Adds `what` where the mask is set.
    fn add_if(self, mask: Self::Mask, what: Self) -> Self;
    /// Flips all bits where the mask is set.
    fn not_if(self, mask: Self::Mask) -> Self;
    /// Lane i of a mask as bit i.
    fn bits(mask: Self::Mask) -> u32;
    /// Lane D, for D < 4, in every lane.
    fn spread_lane<const D: usize>(self) -> Self;
    /// `self` with lane D, for D < 4, taken from `other`.
    fn with_lane<const D: usize>(self, other: Self) -> Self;
    /// Lane i becomes lane i ^ D, for D = 1, 2, 4.
    fn swap_lanes<const D: usize>(self) -> Self;

    /// The transpose of four words from each of `LANES` rows: vector j holds word j of every row.
    ///
    /// # Safety
    ///
    /// The first `LANES` pointers have four readable words.
    unsafe fn load_rows(isa: Self::Isa, rows: &[*const u64; 8]) -> [Self; 4];

    /// The inverse of `load_rows`.
    ///
    /// # Safety
    ///
    /// The first `LANES` pointers have four writable words.
    unsafe fn store_rows(columns: [Self; 4], rows: &[*mut u64; 8]);
}

/// Repeats a block with a constant index.
macro_rules! unroll {
    ($i:ident in [$($n:literal)*] $body:block) => { $({ const $i: usize = $n; $body })* };
}
pub(crate) use unroll;

#[cfg(test)]
mod tests;
