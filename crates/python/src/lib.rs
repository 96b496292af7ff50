//! The native module `multiscalar._core`.

mod snark;

use pyo3::prelude::*;

/// Native core of multiscalar.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    snark::register(module)
}
