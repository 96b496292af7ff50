//! Arrays of the caller as slices, scalars as bytes, faults as `ValueError`, and work without the GIL.

use multiscalar_snark::{Fr, Limbs, Refused, as_scalars, as_scalars_mut, pool, vector};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::failure::internal;
use crate::interrupt::caught;

/// The exception that says what was refused.
pub(super) fn refused(error: Refused) -> PyErr {
    PyValueError::new_err(error.0)
}

/// A C-contiguous array; kept alive and pinned by the buffer protocol.
pub(super) struct View<T: Element>(PyBuffer<T>);

impl<T: Element> View<T> {
    pub(super) fn new(object: &Bound<'_, PyAny>, writable: bool) -> PyResult<Self> {
        let buffer = PyBuffer::<T>::get(object)?;
        if !buffer.is_c_contiguous() || (writable && buffer.readonly()) {
            return Err(PyValueError::new_err("a C-contiguous array is needed, writable where results go"));
        }
        Ok(Self(buffer))
    }

    pub(super) fn range(&self) -> std::ops::Range<usize> {
        let start = self.0.buf_ptr() as usize;
        start..start + self.0.len_bytes()
    }

    pub(super) fn get(&self) -> &[T] {
        if self.0.item_count() == 0 {
            return &[];
        }
        // SAFETY: contiguous, of this length, checked for type and alignment by PyBuffer, alive as long as self.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), self.0.item_count()) }
    }
}

impl View<u64> {
    pub(super) fn scalars(&self) -> &[Fr] {
        as_scalars(self.get().as_chunks().0)
    }
}

/// A vector that an operation changes, apart from all vectors it reads.
pub(super) struct Target(View<u64>);

impl Target {
    pub(super) fn new(object: &Bound<'_, PyAny>, apart_from: &[&View<u64>]) -> PyResult<Self> {
        let view = View::new(object, true)?;
        let own = view.range();
        if apart_from.iter().map(|other| other.range()).any(|r| own.start < r.end && r.start < own.end) {
            return Err(PyValueError::new_err("the vector that is changed overlaps one that is read"));
        }
        Ok(Self(view))
    }

    pub(super) fn limbs(&mut self) -> &mut [Limbs] {
        let count = self.0.0.item_count() / 4;
        if count == 0 {
            return &mut [];
        }
        // SAFETY: as in `View::get`; writable and apart from what is read (`new`), and Python calls with arrays that
        // no other thread uses meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.0.0.buf_ptr().cast(), count) }
    }

    pub(super) fn scalars(&mut self) -> &mut [Fr] {
        as_scalars_mut(self.limbs())
    }
}

/// A scalar from 32 canonical bytes.
pub(super) fn scalar(bytes: &[u8]) -> PyResult<Fr> {
    let mut limbs = [Limbs::default()];
    if bytes.len() != 32 {
        return Err(PyValueError::new_err(format!("a scalar has 32 bytes, not {}", bytes.len())));
    }
    for (limb, chunk) in limbs[0].iter_mut().zip(bytes.as_chunks::<8>().0) {
        *limb = u64::from_le_bytes(*chunk);
    }
    vector::from_canonical(&mut limbs).map_err(refused)?;
    Ok(as_scalars(&limbs)[0])
}

/// Scalars as canonical bytes, 32 each.
pub(super) fn scalar_bytes<'py>(py: Python<'py>, values: &[Fr]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| {
            let mut limbs = [value.0.0];
            vector::to_canonical(&mut limbs);
            limbs[0]
        })
        .flat_map(u64::to_le_bytes)
        .collect();
    PyBytes::new(py, &bytes)
}

/// Work on vectors, without the GIL; a panic becomes an error.
pub(super) fn work<T: Send>(py: Python<'_>, threads: usize, task: impl FnOnce() -> T + Send) -> PyResult<T> {
    caught(py, || pool::with_threads(threads, task)).map_err(|text| internal(py, &text))
}

/// As `work`, for an operation on a vector of `size` elements.
pub(super) fn work_on<T: Send>(
    py: Python<'_>,
    size: usize,
    threads: usize,
    task: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    caught(py, || pool::for_size(size, threads, task)).map_err(|text| internal(py, &text))
}
