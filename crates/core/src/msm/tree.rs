//! Tree mode: sums waiting terms bucket by bucket, pairs of neighbours first, so that no batch has a conflict
//! however few buckets the terms are for. k terms of a bucket cost k - 1 additions in ceil(log2 k) rounds.

use super::adder::{BatchAdder, Packed, Pair};
use super::buckets::{Batcher, Slot, signed};
use crate::field::Field;

/// Scratch of the tree, and its result.
pub(super) struct Tree<F: Field> {
    /// Signed bases, sorted by bucket; the first of each run ends up as the sum of the run.
    pub(super) points: Vec<Packed<F>>,
    slots: Vec<Slot>,
    runs: Vec<Run>,
}

/// Terms of one bucket: `points[start..end]`.
struct Run {
    bucket: u32,
    start: u32,
    end: u32,
}

impl<F: Field> Default for Tree<F> {
    fn default() -> Self {
        Self { points: Vec::new(), slots: Vec::new(), runs: Vec::new() }
    }
}

impl<F: Field> Tree<F> {
    /// Sums `terms` (emptied) by bucket.
    pub(super) fn sum<A: BatchAdder<F>>(
        &mut self,
        batcher: &mut Batcher<F, A>,
        terms: &mut Vec<Pair>,
        bases: &[Packed<F>],
    ) {
        terms.sort_unstable_by_key(|term| term.dst);
        self.points.clear();
        self.runs.clear();
        for term in terms.drain(..) {
            let position = self.points.len() as u32;
            match self.runs.last_mut() {
                Some(run) if run.bucket == term.dst => run.end += 1,
                _ => self.runs.push(Run { bucket: term.dst, start: position, end: position + 1 }),
            }
            self.points.push(signed(&bases[term.src()], term.negate()));
        }
        self.slots.clear();
        self.slots.resize(self.points.len(), Slot::Full);
        let longest = self.runs.iter().map(|run| run.end - run.start).max().unwrap_or(0);
        let mut stride = 1;
        while stride < longest {
            self.round(batcher, stride);
            stride *= 2;
        }
    }

    /// Adds to every 2 stride-th point of a run the one `stride` after it.
    fn round<A: BatchAdder<F>>(&mut self, batcher: &mut Batcher<F, A>, stride: u32) {
        for run in &self.runs {
            let mut dst = run.start;
            while dst + stride < run.end {
                fold(batcher, &mut self.points, &mut self.slots, dst, dst + stride);
                dst += 2 * stride;
            }
        }
        batcher.flush_within(&mut self.points, &mut self.slots);
    }

    /// (bucket, index of its sum in `points`) for every bucket whose sum is finite, each bucket once.
    pub(super) fn sums(&self) -> impl Iterator<Item = (u32, u32)> {
        self.runs.iter().filter(|run| self.slots[run.start as usize] == Slot::Full).map(|run| (run.bucket, run.start))
    }
}

/// points[dst] += points[src], in this step's batch; nothing to add where either is infinity.
#[inline(always)]
pub(super) fn fold<F: Field, A: BatchAdder<F>>(
    batcher: &mut Batcher<F, A>,
    points: &mut [Packed<F>],
    slots: &mut [Slot],
    dst: u32,
    src: u32,
) {
    if slots[src as usize] == Slot::Empty {
        return;
    }
    if slots[dst as usize] == Slot::Empty {
        slots[dst as usize] = Slot::Full;
        points[dst as usize] = points[src as usize];
        return;
    }
    batcher.pairs.push(Pair::new(dst, src, false));
    if batcher.is_full() {
        batcher.flush_within(points, slots);
    }
}
