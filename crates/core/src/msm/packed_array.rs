//! Arrays of packed points that start on a cache line: a 64-byte point is then one line and not two, and a point of 96
//! bytes two and not three. An allocator aligns to 16 bytes, which costs an addition in a large array half its time.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use super::adder::Packed;
use crate::field::Field;

/// A cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// An array of points, of fixed length.
#[derive(Clone, Debug)]
pub struct PackedArray<F: Field> {
    lines: Vec<Line>,
    length: usize,
    field: PhantomData<F>,
}

impl<F: Field> PackedArray<F> {
    /// So many points, all `Packed::EMPTY`.
    pub fn new(length: usize) -> Self {
        const { assert!(align_of::<Packed<F>>() <= align_of::<Line>()) };
        let lines = vec![Line([0; 8]); (length * size_of::<Packed<F>>()).div_ceil(size_of::<Line>())];
        let mut array = Self { lines, length, field: PhantomData };
        let start = array.lines.as_mut_ptr().cast::<Packed<F>>();
        for i in 0..length {
            // SAFETY: the lines have room for `length` points and are aligned for them.
            unsafe { start.add(i).write(Packed::EMPTY) };
        }
        array
    }
}

impl<F: Field> Deref for PackedArray<F> {
    type Target = [Packed<F>];
    fn deref(&self) -> &[Packed<F>] {
        // SAFETY: `new` has written `length` points.
        unsafe { core::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}

impl<F: Field> DerefMut for PackedArray<F> {
    fn deref_mut(&mut self) -> &mut [Packed<F>] {
        // SAFETY: `new` has written `length` points.
        unsafe { core::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}
