//! Faults as `_core.Failure(kind, index, text)`: the Python side turns them into its own hierarchy.

use multiscalar_core::msm::MsmError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    multiscalar._core,
    Failure,
    PyException,
    "A fault found by the native core: args are (kind, index or None, text)."
);

/// A failure of some kind, at an index where there is one.
pub fn failure(kind: &'static str, index: Option<usize>, text: impl Into<String>) -> PyErr {
    Failure::new_err((kind, index, text.into()))
}

/// The package's own error for a fault in the package: for callers that translate no failures.
pub fn internal(py: Python<'_>, text: &str) -> PyErr {
    let errors = py.import("multiscalar.errors");
    match errors.and_then(|errors| errors.getattr("InternalError")?.call1((format!("the native core failed: {text}"),)))
    {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// The failure that says what `error` says.
pub fn from_msm(error: MsmError) -> PyErr {
    let (kind, index) = match error {
        MsmError::PointLength { .. } => ("shape", None),
        MsmError::Length { .. } => ("length", None),
        MsmError::ScalarRange { index } => ("scalar-range", Some(index)),
        MsmError::CoordinateRange { index } => ("coordinate-range", Some(index)),
        MsmError::NotOnCurve { index } => ("not-on-curve", Some(index)),
        MsmError::NotInSubgroup { index } => ("not-in-subgroup", Some(index)),
        MsmError::Window { .. } | MsmError::PathUnavailable { .. } => ("option", None),
        MsmError::IsaUnavailable(_) => ("isa", None),
        MsmError::TooMany { .. } => ("too-many", None),
        MsmError::Cancelled => ("cancelled", None),
    };
    failure(kind, index, error.to_string())
}
