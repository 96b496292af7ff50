//! Multi-scalar multiplication: `prepare` bases once, then `msm` any number of scalar vectors over them.

pub mod adder;
mod engines;
mod error;
mod isa;
mod options;
mod prepare;
pub mod reference;
pub mod scalar_adder;
mod scalars;
pub mod straus;

use std::time::Instant;

use crate::curve::{Affine, CurveParams};

pub use engines::Engines;
pub use error::MsmError;
pub use isa::Isa;
pub use options::{Counts, Options, Path, Phases, Stats};
pub use prepare::{Check, Points, PrepareOptions, Prepared, prepare};
pub use scalars::Scalars;

/// The sum of s_i P_i over the first `scalars.len()` bases, in affine form, and how it was computed.
pub fn msm<C: CurveParams<Field: Engines>>(
    bases: &Prepared<C>,
    scalars: Scalars<'_>,
    options: &Options<'_>,
) -> Result<(Affine<C>, Stats), MsmError> {
    if scalars.len() > bases.len() {
        return Err(MsmError::Length { bases: bases.len(), scalars: scalars.len() });
    }
    let started = Instant::now();
    let values: Vec<_> =
        (0..scalars.len()).map(|i| scalars.get::<C::Scalar>(i, options.reduce)).collect::<Result<_, _>>()?;
    let read = Instant::now();
    let points: Vec<_> = (0..values.len()).map(|i| bases.point(i)).collect();
    let sum = reference::msm(&points, &values).to_affine();
    let stats = Stats {
        path: Path::Reference,
        isa: bases.isa,
        window: 0,
        windows: 0,
        endomorphism: false,
        threads: 1,
        terms: values.len(),
        phases: Phases { scalars: read - started, buckets: read.elapsed(), ..Phases::default() },
        counts: Counts::default(),
    };
    Ok((sum, stats))
}
