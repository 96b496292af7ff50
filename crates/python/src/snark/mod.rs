//! `_core.snark`: the prover's vectors, sponge, point codecs and pairing. Private: `multiscalar.varuna` is its only user.
//!
//! A vector is a C-contiguous `uint64[n, 4]` of scalars in Montgomery form, changed in place where an operation says
//! so; a single scalar is 32 bytes, canonical, little-endian; points are canonical `uint64[n, 2, 6]`, infinity zeros.
//! Faults are `ValueError`s whose text names index and value. The GIL is released around all work on vectors.

/// Adds functions to a module.
macro_rules! functions {
    ($module:ident: $($name:ident)*) => {$( $module.add_function(pyo3::wrap_pyfunction!($name, $module)?)?; )*};
}
use functions;

mod hashing;
mod points;
mod vectors;
mod views;

use pyo3::prelude::*;

/// Adds the submodule `snark` to the native module.
pub fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(parent.py(), "snark")?;
    vectors::register(&module)?;
    points::register(&module)?;
    module.add_class::<hashing::Sponge>()?;
    parent.add_submodule(&module)
}
