//! Points made from discrete logarithms, and conversions of form.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use multiscalar_core::staging::{self, Piece};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffers::{Bytes, Input, Output};
use crate::curves::{AnyCurve, find};
use crate::failure::{failure, from_msm};
use crate::interrupt::run;

/// Limbs of results from which the work may take so long that a signal should not wait for it.
const LONG: usize = 1 << 15;

/// The curve, or a failure: Python passes canonical names only.
pub fn curve(name: &str) -> PyResult<&'static dyn AnyCurve> {
    find(name).ok_or_else(|| failure("internal", None, format!("the core has no curve {name}")))
}

fn limbs4(values: &[u64]) -> PyResult<&[[u64; 4]]> {
    match values.as_chunks() {
        (chunks, []) => Ok(chunks),
        _ => Err(failure("internal", None, "scalars are not rows of four limbs")),
    }
}

/// Writes (a + i b) G to `out`, uint64[n, 2, L]; a and b are uint64[4]; `threads` = 0 means one a core.
#[pyfunction]
pub fn known_points(
    py: Python<'_>,
    name: &str,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    threads: usize,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (curve, a, b, mut out) = (curve(name)?, Input::<u64>::new(a)?, Input::<u64>::new(b)?, Output::new(out)?);
    let (out, cancel) = (out.as_slice(), AtomicBool::new(false));
    let long = out.len() > LONG;
    run(py, long, &cancel, None, || curve.progression(a.as_slice(), b.as_slice(), out, threads, &cancel))
}

/// Writes k_i G to `out`, uint64[n, 2, L]; `scalars` is uint64[n, 4]; `threads` = 0 means one a core.
#[pyfunction]
pub fn multiples(
    py: Python<'_>,
    name: &str,
    scalars: &Bound<'_, PyAny>,
    threads: usize,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (curve, scalars, mut out) = (curve(name)?, Input::<u64>::new(scalars)?, Output::new(out)?);
    let (scalars, out, cancel) = (limbs4(scalars.as_slice())?, out.as_slice(), AtomicBool::new(false));
    run(py, true, &cancel, None, || curve.multiples(scalars, out, threads, &cancel))
}

/// Writes coordinates in the other form to `out`.
#[pyfunction]
pub fn convert(
    py: Python<'_>,
    name: &str,
    values: &Bound<'_, PyAny>,
    to_montgomery: bool,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (curve, values, mut out) = (curve(name)?, Input::<u64>::new(values)?, Output::new(out)?);
    let (values, out, cancel) = (values.as_slice(), out.as_slice(), AtomicBool::new(false));
    let long = values.len() > LONG;
    run(py, long, &cancel, None, || curve.convert(values, to_montgomery, out, &cancel))?.map_err(from_msm)
}

/// The affine points of sums in projective Montgomery form: from `[n][3][L]` to `[n][2][L]` limbs as little-endian bytes;
/// infinity becomes (0, 0). With them the first sum that is (0 : 0 : 0), which is no point.
#[pyfunction]
pub fn normalize<'py>(
    py: Python<'py>,
    name: &str,
    projective: &[u8],
) -> PyResult<(Bound<'py, PyBytes>, Option<usize>)> {
    let curve = curve(name)?;
    let limbs: Vec<u64> = projective.as_chunks().0.iter().map(|limb| u64::from_le_bytes(*limb)).collect();
    let mut affine = vec![0; limbs.len() / 3 * 2];
    let exceptional = curve.normalize(&limbs, &mut affine);
    let bytes = PyBytes::new_with(py, 8 * affine.len(), |bytes| {
        for (place, limb) in bytes.as_chunks_mut().0.iter_mut().zip(affine) {
            *place = limb.to_le_bytes();
        }
        Ok(())
    })?;
    Ok((bytes, exceptional))
}

/// Copies the bytes of `rows[k]` to `target[k * stride ..]`, all C-contiguous, on `threads` threads (0: all). The caller
/// made `target` and lets nobody else touch it meanwhile.
#[pyfunction]
pub fn gather(
    py: Python<'_>,
    target: &Bound<'_, PyAny>,
    rows: Vec<Bound<'_, PyAny>>,
    stride: usize,
    threads: usize,
) -> PyResult<()> {
    let mut target = Output::<u8>::new(target)?;
    let rows = rows.iter().map(Bytes::new).collect::<PyResult<Vec<_>>>()?;
    let rows: Vec<&[u8]> = rows.iter().map(Bytes::as_slice).collect();
    let target = target.as_slice();
    py.detach(|| staging::gather(target, &rows, stride, threads));
    Ok(())
}

/// A copy that goes on while Python does other things; see `ahead`.
#[pyclass(frozen)]
pub struct Ahead {
    /// First, so that it has ended before the buffers go.
    copy: Mutex<Option<staging::Ahead>>,
    _ends: (Bytes, Output<u8>),
}

#[pymethods]
impl Ahead {
    /// Returns when all of it is copied.
    fn finish(&self, py: Python<'_>) {
        let copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(copy) = copy {
            py.detach(|| copy.finish());
        }
    }
}

/// Begins to copy the bytes of `row`, C-contiguous, to the start of `target`. The caller made `target`, lets nobody else
/// touch it and leaves `row` as it is until `finish` has returned or the result is gone.
#[pyfunction]
pub fn ahead(target: &Bound<'_, PyAny>, row: &Bound<'_, PyAny>) -> PyResult<Ahead> {
    let (mut target, row) = (Output::<u8>::new(target)?, Bytes::new(row)?);
    let (place, bytes) = (target.as_slice(), row.as_slice());
    if place.len() < bytes.len() {
        return Err(failure("internal", None, format!("{} bytes do not fit into {}", bytes.len(), place.len())));
    }
    // SAFETY: the result holds both buffers until the copy has ended, and the caller keeps others away.
    let copy = unsafe { staging::ahead(place.as_mut_ptr(), bytes.as_ptr(), bytes.len()) };
    Ok(Ahead { copy: Mutex::new(Some(copy)), _ends: (row, target) })
}

/// Copies pieces of `rows` to `target`, on `threads` threads (0: all). A piece is (offset, first, count, low, high): bytes
/// low .. high of `count` rows from number `first` on, or as many as a row has, `stride` apart from `offset` on. Offsets
/// grow. `filled(k)` is called as soon as piece k is complete; what it raises ends the call.
#[pyfunction]
pub fn fill(
    py: Python<'_>,
    target: &Bound<'_, PyAny>,
    rows: Vec<Bound<'_, PyAny>>,
    pieces: Vec<(usize, usize, usize, usize, usize)>,
    stride: usize,
    threads: usize,
    filled: Py<PyAny>,
) -> PyResult<()> {
    let mut target = Output::<u8>::new(target)?;
    let rows = rows.iter().map(Bytes::new).collect::<PyResult<Vec<_>>>()?;
    let mut made = Vec::with_capacity(pieces.len());
    let (mut rest, mut start) = (target.as_slice(), 0);
    for (k, &(offset, first, count, low, high)) in pieces.iter().enumerate() {
        let rows: Vec<&[u8]> = rows[first..first + count]
            .iter()
            .map(|row| {
                let row = row.as_slice();
                &row[low.min(row.len())..high.min(row.len())]
            })
            .collect();
        let end = pieces.get(k + 1).map_or(start + rest.len(), |piece| piece.0);
        let (place, after) = rest.split_at_mut(end - start);
        let stride = if count == 1 { usize::MAX } else { stride };
        made.push(Piece { target: &mut place[offset - start..], rows, stride });
        (rest, start) = (after, end);
    }
    py.detach(|| staging::fill(made, threads, |k| Python::attach(|py| filled.call1(py, (k,)).map(|_| ()))))
}
