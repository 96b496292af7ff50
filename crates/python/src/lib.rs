//! The native module `multiscalar._core`: buffers in, GIL released, results out. Private: `multiscalar.engine` is its
//! only user, and validates types, shapes and options before it calls.

mod bases;
mod buffers;
mod codec;
mod curves;
mod failure;
mod inputs;
mod interrupt;
mod multiples;
mod normalize;
mod snark;

use multiscalar_core::msm::Isa;
use pyo3::prelude::*;

/// Instruction sets that this CPU can run, best last.
#[pyfunction]
fn isas() -> Vec<&'static str> {
    Isa::ALL.into_iter().filter(|isa| isa.is_available()).map(Isa::name).collect()
}

/// Panics. Tests use it to see that a panic arrives as an ordinary error.
#[pyfunction]
fn provoke_panic(py: Python<'_>, long: bool) -> PyResult<()> {
    interrupt::run(py, long, &std::sync::atomic::AtomicBool::new(false), None, || panic!("provoked"))
}

/// Native core of multiscalar.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    interrupt::install_panic_hook();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("INTERFACE", include_str!("../../../python/multiscalar/_core.pyi"))?;
    module.add("Failure", module.py().get_type::<failure::Failure>())?;
    module.add_class::<bases::Bases>()?;
    module.add_function(wrap_pyfunction!(bases::prepare, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::known_points, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::multiples, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::convert, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::normalize, module)?)?;
    module.add_class::<inputs::Ahead>()?;
    module.add_function(wrap_pyfunction!(inputs::ahead, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::gather, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::fill, module)?)?;
    module.add_function(wrap_pyfunction!(codec::point_size, module)?)?;
    module.add_function(wrap_pyfunction!(codec::encode, module)?)?;
    module.add_function(wrap_pyfunction!(codec::decode, module)?)?;
    module.add_function(wrap_pyfunction!(isas, module)?)?;
    module.add_function(wrap_pyfunction!(provoke_panic, module)?)?;
    snark::register(module)
}
