//! Multi-scalar multiplication: `prepare` bases once, then `msm` any number of scalar vectors over them.
//!
//! `adder` is the primitive; `bucket` the method, made of `digits`, `buckets`, `tree`, `reduce` and `combine`;
//! `terms` classifies the scalars, `cost`, `work` and `grid` choose, `pool` runs, `engine` puts one call together.

pub mod adder;
mod bucket;
mod buckets;
pub mod chain;
mod combine;
mod cost;
mod digits;
mod engine;
mod engines;
mod error;
mod grid;
mod halves;
mod isa;
#[cfg(target_arch = "x86_64")]
pub mod lane_adder;
mod options;
mod packed_array;
pub(crate) mod pool;
mod prepare;
mod progression;
mod reduce;
pub mod reference;
pub mod scalar_adder;
mod scalars;
pub mod straus;
mod subgroup;
mod terms;
mod tree;
mod wnaf;
mod work;

use crate::curve::{Affine, CurveParams};

pub use engines::Engines;
pub use error::MsmError;
pub use isa::Isa;
pub use options::{Counts, Options, Path, Phases, Stats};
pub use prepare::{Check, Points, PrepareOptions, Prepared, prepare};
pub use progression::progression;
pub use scalars::Scalars;
pub use subgroup::first_outside_subgroup;

/// Most terms of one call: an index and its sign share 32 bits.
pub const MOST_TERMS: usize = 1 << 30;

/// The sum of s_i P_i over `scalars.len()` bases from `options.first` on, in affine form, and how it was computed.
///
/// Errors: more scalars than bases, a scalar that is not below the group order (unless `reduce`), options that these
/// inputs cannot honour, cancellation.
pub fn msm<C: CurveParams<Field: Engines>>(
    bases: &Prepared<C>,
    scalars: Scalars<'_>,
    options: &Options<'_>,
) -> Result<(Affine<C>, Stats), MsmError> {
    let left = bases.len().saturating_sub(options.first);
    if scalars.len() > left {
        return Err(MsmError::Length { bases: left, scalars: scalars.len() });
    }
    if let Some(window) = options.window.filter(|w| !(1..=digits::WIDEST).contains(w)) {
        return Err(MsmError::Window { window, most: digits::WIDEST });
    }
    match bases.isa() {
        Isa::Scalar => engine::run::<C, <C::Field as Engines>::Scalar>(bases, &scalars, options),
        Isa::Ifma256 => engine::run::<C, <C::Field as Engines>::Ifma256>(bases, &scalars, options),
        Isa::Ifma512 => engine::run::<C, <C::Field as Engines>::Ifma512>(bases, &scalars, options),
    }
}
