//! Points to bytes and back, in the named formats.

use std::sync::atomic::AtomicBool;

use multiscalar_core::codec::{CodecError, Format};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bases::check_by_name;
use crate::buffers::{Input, Output};
use crate::failure::failure;
use crate::inputs::curve;
use crate::interrupt::run;

/// Bytes or points from which the work may take so long that a signal should not wait for it.
const LONG: usize = 1 << 14;

fn from_codec(error: CodecError) -> PyErr {
    let (kind, index) = match error {
        CodecError::Unsupported { .. } => ("codec", None),
        CodecError::Length { .. } => ("encoding", None),
        CodecError::NotInSubgroup { index } => ("not-in-subgroup", Some(index)),
        CodecError::Cancelled => ("cancelled", None),
        CodecError::Flags { index, .. }
        | CodecError::Coordinate { index }
        | CodecError::Infinity { index }
        | CodecError::Sign { index }
        | CodecError::NotOnCurve { index } => ("encoding", Some(index)),
    };
    failure(kind, index, error.to_string())
}

fn format_by_name(name: &str) -> PyResult<Format> {
    Format::from_name(name).ok_or_else(|| failure("codec", None, format!("no codec is called {name:?}")))
}

/// Bytes of one encoded point.
#[pyfunction]
pub fn point_size(name: &str, format: &str, compressed: bool) -> PyResult<usize> {
    curve(name)?.point_size(format_by_name(format)?, compressed).map_err(from_codec)
}

/// The encodings of points, uint64[n, 2, L], one after the other.
#[pyfunction]
pub fn encode<'py>(
    py: Python<'py>,
    name: &str,
    points: &Bound<'py, PyAny>,
    montgomery: bool,
    format: &str,
    compressed: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let (curve, points, format) = (curve(name)?, Input::<u64>::new(points)?, format_by_name(format)?);
    let limbs = points.as_slice();
    let cancel = AtomicBool::new(false);
    let bytes =
        run(py, limbs.len() > LONG, &cancel, None, || curve.encode(limbs, montgomery, format, compressed, &cancel))?;
    Ok(PyBytes::new(py, &bytes.map_err(from_codec)?))
}

/// Writes the points that `data` encodes to `out`, canonical, uint64[n, 2, L].
#[pyfunction]
pub fn decode(
    py: Python<'_>,
    name: &str,
    data: &[u8],
    format: &str,
    compressed: bool,
    check: &str,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (curve, format, check) = (curve(name)?, format_by_name(format)?, check_by_name(check)?);
    let mut out = Output::new(out)?;
    let out = out.as_slice();
    let cancel = AtomicBool::new(false);
    let done =
        run(py, data.len() > LONG, &cancel, None, || curve.decode(data, format, compressed, check, &cancel, out))?;
    done.map_err(from_codec)
}
