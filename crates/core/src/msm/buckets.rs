//! Buckets and their scheduler: turns a stream of (bucket, signed base) into conflict-free batches for a `BatchAdder`.
//!
//! 1. The first base that meets an empty bucket is copied: no addition.
//! 2. A bucket that is already in the current batch is busy: the term waits in a queue, which is tried again after
//!    the batch is flushed. With many buckets few terms ever wait (B / 2 buckets of a batch of B).
//! 3. When the queue grows nevertheless (skewed scalars), it is summed bucket by bucket as a tree (`tree.rs`) whose
//!    batches are free of conflicts however skewed the terms are, and only the sums go to the buckets.
//!
//! Cost: one addition (6M) a term and 1/B of an inversion, whatever the distribution of the scalars.

use super::adder::{BatchAdder, Packed, Pair};
use super::options::Counts;
use super::packed_array::PackedArray;
use super::tree::Tree;
use crate::field::Field;

/// Terms that may wait before they are summed as a tree: enough to fill batches, few enough to stay in cache.
const QUEUE: usize = 8192;

/// Content of a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// Infinity: the coordinates mean nothing.
    Empty,
    /// A finite point.
    Full,
    /// A finite point that the current batch will change.
    Busy,
}

/// The buckets of some windows, over one set of bases.
pub(super) struct Buckets<'a, F: Field, A> {
    pub(super) adder: Batcher<F, A>,
    bases: &'a [Packed<F>],
    pub(super) points: PackedArray<F>,
    pub(super) slots: Vec<Slot>,
    queue: Vec<Pair>,
    retried: Vec<Pair>,
    tree: Tree<F>,
}

/// An adder with its batch in the making.
pub(super) struct Batcher<F: Field, A> {
    adder: A,
    pub(super) pairs: Vec<Pair>,
    pub(super) capacity: usize,
    cancelled: Vec<u32>,
    pub(super) counts: Counts,
    field: core::marker::PhantomData<F>,
}

impl<F: Field, A: BatchAdder<F>> Batcher<F, A> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            adder: A::new(capacity),
            pairs: Vec::with_capacity(capacity),
            capacity,
            cancelled: Vec::new(),
            counts: Counts::default(),
            field: core::marker::PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.pairs.len() == self.capacity
    }

    /// Adds the batch: `points[dst] += ±sources[src]`; sums at infinity empty their slots, the others are full.
    pub(super) fn flush(&mut self, points: &mut [Packed<F>], slots: &mut [Slot], sources: &[Packed<F>]) {
        debug_assert!(self.pairs.iter().all(|p| (p.dst as usize) < points.len() && p.src() < sources.len()));
        // SAFETY: indices are in range (above; every pair is made from an index into these arrays); destinations
        // differ because each pair marked its slot busy or belongs to a step without conflicts.
        unsafe { self.flush_raw(points.as_mut_ptr(), sources.as_ptr(), slots) };
    }

    /// Adds the batch within one array: `points[dst] += ±points[src]`.
    pub(super) fn flush_within(&mut self, points: &mut [Packed<F>], slots: &mut [Slot]) {
        debug_assert!(self.pairs.iter().all(|p| (p.dst as usize) < points.len() && p.src() < points.len()));
        let base = points.as_mut_ptr();
        // SAFETY: as in `flush`; no source of a step of the tree or of the reduction is a destination of that step.
        unsafe { self.flush_raw(base, base, slots) };
    }

    unsafe fn flush_raw(&mut self, points: *mut Packed<F>, sources: *const Packed<F>, slots: &mut [Slot]) {
        if self.pairs.is_empty() {
            return;
        }
        // SAFETY: the callers above; the batch never exceeds the capacity, and the instruction set was checked when
        // the bases were prepared.
        unsafe { self.adder.add(points, sources, &self.pairs, &mut self.cancelled) };
        self.counts.additions += self.pairs.len() as u64;
        self.counts.inversions += 1;
        self.pairs.drain(..).for_each(|pair| slots[pair.dst as usize] = Slot::Full);
        self.cancelled.drain(..).for_each(|dst| slots[dst as usize] = Slot::Empty);
    }
}

impl<'a, F: Field, A: BatchAdder<F>> Buckets<'a, F, A> {
    /// `count` empty buckets over `bases`, with batches of up to `capacity` additions.
    pub(super) fn new(count: usize, capacity: usize, bases: &'a [Packed<F>]) -> Self {
        Self {
            adder: Batcher::new(capacity),
            bases,
            points: PackedArray::new(count),
            slots: vec![Slot::Empty; count],
            queue: Vec::with_capacity(QUEUE),
            retried: Vec::with_capacity(QUEUE),
            tree: Tree::default(),
        }
    }

    /// bucket += ±base for every term, now or later. Whether a bucket is busy is a coin toss that no CPU predicts, so
    /// each term is written to the batch and to the queue, and one of them grows. Meanwhile `ahead`, which is read
    /// next, is fetched: alone, it would wait for memory.
    pub(super) fn push_all(&mut self, mut terms: &[Pair], ahead: &[u64]) {
        let stride = ahead.len() / terms.len().max(1);
        let mut ahead = ahead.as_ptr();
        while !terms.is_empty() {
            let (mut batch, mut waiting) = (Tail::of(&mut self.adder.pairs), Tail::of(&mut self.queue));
            let (full, long) = (self.adder.capacity, QUEUE);
            let mut done = 0;
            while done < terms.len() && batch.length < full && waiting.length < long {
                let term = terms[done];
                done += 1;
                fetch(ahead);
                ahead = ahead.wrapping_add(stride);
                let slot = &mut self.slots[term.dst as usize];
                if *slot == Slot::Empty {
                    *slot = Slot::Full;
                    self.points[term.dst as usize] = signed(&self.bases[term.src()], term.negate());
                    continue;
                }
                fetch_point(&self.points[term.dst as usize]);
                let free = *slot == Slot::Full;
                *slot = Slot::Busy;
                batch.append_if(free, term);
                waiting.append_if(!free, term);
            }
            let (batch, waiting) = (batch.length, waiting.length);
            // SAFETY: `Tail` has written the terms up to these lengths.
            unsafe {
                self.adder.pairs.set_len(batch);
                self.queue.set_len(waiting);
            }
            terms = &terms[done..];
            if batch == full {
                self.flush_and_retry();
            }
            if self.queue.len() == long {
                self.drain();
            }
        }
    }

    #[inline(never)]
    fn flush_and_retry(&mut self) {
        self.adder.flush(&mut self.points, &mut self.slots, self.bases);
        // A long queue means few hot buckets: trying it again and again would cost more than its tree will.
        if self.queue.len() <= self.adder.capacity / 2 {
            let waited = core::mem::take(&mut self.queue);
            self.queue = core::mem::take(&mut self.retried);
            // At most half a batch, so that no flush comes from within.
            self.push_all(&waited, &[]);
            self.retried = waited;
            self.retried.clear();
        }
    }

    /// Adds everything that waits.
    #[inline(never)]
    pub(super) fn drain(&mut self) {
        self.adder.flush(&mut self.points, &mut self.slots, self.bases);
        self.tree.sum(&mut self.adder, &mut self.queue, self.bases);
        for (bucket, index) in self.tree.sums() {
            let slot = &mut self.slots[bucket as usize];
            match *slot {
                Slot::Empty => {
                    *slot = Slot::Full;
                    self.points[bucket as usize] = self.tree.points[index as usize];
                }
                _ => {
                    self.adder.pairs.push(Pair::new(bucket, index, false));
                    if self.adder.is_full() {
                        self.adder.flush(&mut self.points, &mut self.slots, &self.tree.points);
                    }
                }
            }
        }
        self.adder.flush(&mut self.points, &mut self.slots, &self.tree.points);
    }
}

/// The end of a vector, to append to without a branch.
struct Tail {
    start: *mut Pair,
    length: usize,
    capacity: usize,
}

impl Tail {
    fn of(terms: &mut Vec<Pair>) -> Self {
        Self { start: terms.as_mut_ptr(), length: terms.len(), capacity: terms.capacity() }
    }

    /// Writes the term in any case, and counts it if `condition`.
    #[inline(always)]
    fn append_if(&mut self, condition: bool, term: Pair) {
        debug_assert!(self.length < self.capacity);
        // SAFETY: `push_all` stops before the length reaches the capacity.
        unsafe { self.start.add(self.length).write(term) };
        self.length += condition as usize;
    }
}

/// ±point. p - y in any domain, as y is reduced; y = 0 stays 0.
#[inline(always)]
pub(super) fn signed<F: Field>(point: &Packed<F>, negate: bool) -> Packed<F> {
    if negate { Packed { x: point.x, y: (-F::from_mont(point.y)).to_mont() } } else { *point }
}

/// Asks for the lines of a point that the next flush will need.
#[inline(always)]
fn fetch_point<F: Field>(point: &Packed<F>) {
    let first = core::ptr::from_ref(point).cast::<u64>();
    fetch(first);
    if size_of::<Packed<F>>() > 64 {
        fetch(first.wrapping_add(size_of::<Packed<F>>() / 8 - 1));
    }
}

/// Asks for a cache line, which need not exist.
#[inline(always)]
fn fetch(address: *const u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch may name any address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T1 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
