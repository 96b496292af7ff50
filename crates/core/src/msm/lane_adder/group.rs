//! Groups of pairs, one pair per lane, as rows of memory.

use core::marker::PhantomData;

use crate::field::lanes::Vector;
use crate::msm::adder::Pair;

/// A cache line of scratch.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line(pub [u64; 8]);

/// A batch cut into groups. Lanes without a pair are idle: they add (2, 0) to (1, 0) in rows of scratch.
pub(super) struct Groups<'a, V, const N: usize> {
    accumulators: *mut u64,
    sources: *const u64,
    pairs: &'a [Pair],
    /// The pairs of the last, partial group, padded.
    tail: [Pair; 8],
    /// Nine rows: the accumulators of idle lanes and their common source.
    idle: *mut u64,
    vector: PhantomData<V>,
}

/// Lines of scratch that idle lanes need.
pub(super) const IDLE_LINES: usize = 18;
/// Words from one idle row to the next.
const IDLE_ROW: usize = 16;

impl<'a, V: Vector, const N: usize> Groups<'a, V, N> {
    /// # Safety
    ///
    /// The pairs' rows are readable (and those of accumulators writable) for as long as this lives, and `idle` has
    /// `IDLE_LINES` lines of its own.
    pub(super) unsafe fn new(accumulators: *mut u64, sources: *const u64, pairs: &'a [Pair], idle: *mut u64) -> Self {
        const { assert!(2 * N <= IDLE_ROW) };
        let rest = &pairs[pairs.len() / V::LANES * V::LANES..];
        let mut tail = [Pair::new(0, 0, false); 8];
        tail[..rest.len()].copy_from_slice(rest);
        for row in 0..=8 {
            for word in 0..IDLE_ROW {
                let x = if row < 8 { 1 } else { 2 };
                // SAFETY: the caller vouches for the lines.
                unsafe { *idle.add(row * IDLE_ROW + word) = if word == 0 { x } else { 0 } };
            }
        }
        Self { accumulators, sources, pairs, tail, idle, vector: PhantomData }
    }

    /// Number of groups, made even.
    pub(super) fn count(&self) -> usize {
        self.pairs.len().div_ceil(V::LANES).next_multiple_of(2)
    }

    /// The pairs of a group; those beyond the batch are idle.
    #[inline(always)]
    pub(super) fn pairs(&self, group: usize) -> &[Pair] {
        self.pairs.get(group * V::LANES..(group + 1) * V::LANES).unwrap_or(&self.tail[..V::LANES])
    }

    /// How many lanes of a group are not idle.
    #[inline(always)]
    pub(super) fn live(&self, group: usize) -> usize {
        self.pairs.len().saturating_sub(group * V::LANES).min(V::LANES)
    }

    /// The rows of a group's sources.
    #[inline(always)]
    pub(super) fn sources(&self, group: usize) -> [*const u64; 8] {
        let (pairs, live) = (self.pairs(group), self.live(group));
        let mut rows = [self.idle.wrapping_add(8 * IDLE_ROW).cast_const(); 8];
        for i in 0..V::LANES {
            if live == V::LANES || i < live {
                rows[i] = self.sources.wrapping_add(pairs[i].src() * 2 * N);
            }
        }
        rows
    }

    /// The rows of a group's accumulators.
    #[inline(always)]
    pub(super) fn accumulators(&self, group: usize) -> [*mut u64; 8] {
        let (pairs, live) = (self.pairs(group), self.live(group));
        let mut rows = [self.idle; 8];
        for i in 0..V::LANES {
            rows[i] = if live == V::LANES || i < live {
                self.accumulators.wrapping_add(pairs[i].dst as usize * 2 * N)
            } else {
                self.idle.wrapping_add(i * IDLE_ROW)
            };
        }
        rows
    }

    /// Fetches the rows of a group that will be needed soon.
    #[inline(always)]
    pub(super) fn fetch(&self, group: usize) {
        let Some(pairs) = self.pairs.get(group * V::LANES..(group + 1) * V::LANES) else { return };
        for pair in pairs {
            fetch::<N>(self.accumulators.wrapping_add(pair.dst as usize * 2 * N));
            fetch::<N>(self.sources.wrapping_add(pair.src() * 2 * N));
        }
    }
}

/// Fetches the lines of a point.
#[inline(always)]
fn fetch<const N: usize>(row: *const u64) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch may name any address.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(row.cast());
        if N > 4 {
            _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(2 * N - 1).cast());
        }
    }
}
