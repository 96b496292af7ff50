//! Caller's arrays as slices. Python has checked layout and type; here both are checked once more, as unsafe code
//! must not depend on that.

use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::prelude::*;

use crate::failure::failure;

/// A C-contiguous array of `T`, kept alive and pinned by the buffer protocol.
pub struct Input<T: Element>(PyBuffer<T>);

impl<T: Element> Input<T> {
    /// Takes the buffer of `object`.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::<T>::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(failure("internal", None, "an array that is not C-contiguous reached the core"));
        }
        Ok(Self(buffer))
    }

    /// The elements. As with any library that works without the GIL, the caller must not write to the array meanwhile.
    pub fn as_slice(&self) -> &[T] {
        if self.0.item_count() == 0 {
            return &[];
        }
        // SAFETY: the buffer is C-contiguous, holds item_count elements of T (PyBuffer checked type, size and
        // alignment) and lives as long as self.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast::<T>(), self.0.item_count()) }
    }
}

/// A C-contiguous array of whatever type as bytes, kept alive by the buffer protocol.
pub struct Bytes(PyUntypedBuffer);

impl Bytes {
    /// Takes the buffer of `object`.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(failure("internal", None, "an array that is not C-contiguous reached the core"));
        }
        Ok(Self(buffer))
    }

    /// The bytes. As with any library that works without the GIL, the caller must not write to the array meanwhile.
    pub fn as_slice(&self) -> &[u8] {
        if self.0.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the buffer is C-contiguous, holds len_bytes bytes, which any values are, and lives as long as self.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast::<u8>(), self.0.len_bytes()) }
    }
}

/// A writable C-contiguous array of `T`, made by our own Python code for results.
pub struct Output<T: Element>(PyBuffer<T>);

impl<T: Element> Output<T> {
    /// Takes the buffer of `object`.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::<T>::get(object)?;
        if !buffer.is_c_contiguous() || buffer.readonly() {
            return Err(failure("internal", None, "results need a writable C-contiguous array"));
        }
        Ok(Self(buffer))
    }

    /// The elements.
    pub fn as_slice(&mut self) -> &mut [T] {
        if self.0.item_count() == 0 {
            return &mut [];
        }
        // SAFETY: as for Input; the array is writable and was made for this call alone.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast::<T>(), self.0.item_count()) }
    }
}
