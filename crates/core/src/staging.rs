//! Host memory carried into a staging buffer by several threads. Cost: none in the field.
//!
//! One core copies some 12 GB/s, a link to a device takes 55; the pool is the one of the sums. Much is written past the
//! caches: nobody but the device will read it, and fetching each line first takes a third of the time. What is sent in
//! pieces is filled in one go: the helpers are woken once and go from piece to piece while the caller sends those that
//! are complete.

use std::convert::Infallible;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::msm::pool;

/// From here on all threads copy, past the caches.
const MUCH: usize = 2 << 20;
/// Less is begun by the caller, with a helper for each 128 KiB, from a quarter of the cores: they take ten microseconds to
/// wake, and where there are few cores they are likely to be busy.
const PER_THREAD: usize = 128 << 10;
/// What is copied ahead has a helper for so much, and no more than two: there is time, and each costs the caller some.
const PER_HELPER: usize = 256 << 10;
const MOST_HELPERS: usize = 2;
/// Each thread takes so much at a time: so that a piece is done soon, and so that what is large is not cut too finely.
const BLOCK: usize = 64 << 10;
const LARGE_BLOCK: usize = 256 << 10;
const BLOCKS: usize = 32;
/// A caller with nothing left to copy looks so often before it lets others have its core.
const SPINS: usize = 200;

/// Rows that come to lie `stride` bytes apart in `target`. What lies between them is left as it is.
pub struct Piece<'a> {
    /// Where to: it ends with the last row, or later.
    pub target: &'a mut [u8],
    /// From where.
    pub rows: Vec<&'a [u8]>,
    /// From row to row in the target.
    pub stride: usize,
}

/// Copies `rows[k]` to `target[k * stride ..]`, on up to `threads` threads (0: one per core). What lies between the rows
/// is left as it is.
///
/// Panics when a row is longer than `stride` or `target` ends before the last row does.
pub fn gather(target: &mut [u8], rows: &[&[u8]], stride: usize, threads: usize) {
    let piece = Piece { target, rows: rows.to_vec(), stride };
    match fill(vec![piece], threads, |_| Ok::<(), Infallible>(())) {
        Ok(()) => {}
    }
}

/// Fills `pieces` in order, on up to `threads` threads (0: one per core), and calls `filled(k)` here as soon as piece k is
/// complete, while others go on with the next ones. An error of `filled` ends it.
///
/// Panics when a row is longer than its stride or a target ends before its last row does.
pub fn fill<E>(
    pieces: Vec<Piece<'_>>,
    threads: usize,
    mut filled: impl FnMut(usize) -> Result<(), E>,
) -> Result<(), E> {
    let total = pieces.iter().map(Piece::size).sum::<usize>();
    let (most, much) = (pool::threads(threads), total >= MUCH);
    let threads = if much { most } else { total.div_ceil(PER_THREAD).min(most.div_ceil(4)) };
    let mut blocks = Vec::new();
    let mut left = Vec::with_capacity(pieces.len());
    for (k, piece) in pieces.into_iter().enumerate() {
        let block = (piece.size() / BLOCKS).next_power_of_two().clamp(BLOCK, LARGE_BLOCK);
        let before = blocks.len();
        piece.cut(block, |place, row| blocks.push((k, Mutex::new((place, row)))));
        left.push(AtomicUsize::new(blocks.len() - before));
    }
    let work = |i: usize| {
        let (piece, block) = &blocks[i];
        let mut block = block.lock().unwrap_or_else(PoisonError::into_inner);
        let (place, row) = &mut *block;
        if much {
            stream(place, row)
        } else {
            place.copy_from_slice(row)
        }
        left[*piece].fetch_sub(1, Ordering::Release);
    };
    pool::lead(threads, blocks.len(), &work, |step| {
        (0..left.len()).try_for_each(|k| {
            let mut looks = 0;
            while left[k].load(Ordering::Acquire) > 0 {
                if step() {
                    continue;
                }
                looks += 1;
                if looks % SPINS == 0 { std::thread::yield_now() } else { spin_loop() }
            }
            filled(k)
        })
    })
}

/// A copy under way. When it is gone, nobody reads or writes for it any more.
pub struct Ahead(pool::Begun);

/// Begins to copy `size` bytes: helpers wake and copy while the caller does other things, `finish` does the rest. What is
/// too little to wake anybody for is left to `finish`.
///
/// # Safety
///
/// Until the result is gone, `size` bytes at `source` stay readable and as they are, and `size` bytes at `target` stay
/// writable and are touched by nobody else.
pub unsafe fn ahead(target: *mut u8, source: *const u8, size: usize) -> Ahead {
    struct Ends(*mut u8, *const u8);
    // SAFETY: the caller's promise holds in any thread, and blocks do not overlap.
    unsafe impl Send for Ends {}
    // SAFETY: as above.
    unsafe impl Sync for Ends {}
    let ends = Ends(target, source);
    let helpers = (size / PER_HELPER).min(pool::threads(0) / 4).min(MOST_HELPERS);
    let work = move |i: usize| {
        let Ends(target, source) = &ends;
        let (start, count) = (i * BLOCK, BLOCK.min(size - i * BLOCK));
        // SAFETY: within `size`, and the caller promised the rest.
        unsafe { source.add(start).copy_to_nonoverlapping(target.add(start), count) };
    };
    Ahead(pool::begin(helpers, size.div_ceil(BLOCK), Arc::new(work)))
}

impl Ahead {
    /// Copies what is left and waits for the helpers.
    pub fn finish(self) {
        self.0.finish();
    }
}

impl<'a> Piece<'a> {
    /// Bytes to copy.
    fn size(&self) -> usize {
        self.rows.iter().map(|row| row.len()).sum()
    }

    /// Blocks of at most so many bytes, each with its place.
    fn cut(self, block: usize, mut each: impl FnMut(&'a mut [u8], &'a [u8])) {
        let (mut rest, count) = (self.target, self.rows.len());
        for (k, row) in self.rows.into_iter().enumerate() {
            assert!(row.len() <= self.stride, "row {k} is longer than the stride");
            let (place, after) = rest.split_at_mut(if k + 1 < count { self.stride } else { row.len() });
            rest = after;
            place[..row.len()].chunks_mut(block).zip(row.chunks(block)).for_each(|(place, row)| each(place, row));
        }
    }
}

/// `to.copy_from_slice(from)` without reading `to` into the caches first.
#[cfg(target_arch = "x86_64")]
fn stream(to: &mut [u8], from: &[u8]) {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    assert_eq!(to.len(), from.len());
    // SAFETY: any bytes are a __m128i.
    let (head, middle, tail) = unsafe { to.align_to_mut::<__m128i>() };
    let (first, from) = from.split_at(head.len());
    let (between, last) = from.split_at(size_of_val(middle));
    head.copy_from_slice(first);
    for (place, piece) in middle.iter_mut().zip(between.as_chunks::<16>().0) {
        // SAFETY: SSE2 is part of x86_64, `place` is aligned, `piece` has 16 bytes.
        unsafe { _mm_stream_si128(place, _mm_loadu_si128(piece.as_ptr().cast())) };
    }
    tail.copy_from_slice(last);
    // SAFETY: as above. Whoever learns that this block is done, by whatever lock, finds it in memory.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn stream(to: &mut [u8], from: &[u8]) {
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::{Piece, ahead, fill, gather};

    #[test]
    fn what_is_copied_ahead_is_there_in_the_end() {
        let long: Vec<u8> = (0..1_000_003_u32).map(|i| (i % 233) as u8).collect();
        for size in [0, 1, 65_536, 65_537, 300_001, long.len()] {
            let mut target = vec![0xEE; long.len() + 1];
            // SAFETY: both outlive the copy, and nobody looks before it has ended.
            unsafe { ahead(target.as_mut_ptr(), long.as_ptr(), size) }.finish();
            assert!(target[..size] == long[..size]);
            assert!(target[size..].iter().all(|&byte| byte == 0xEE));
        }
    }

    #[test]
    fn rows_land_at_their_places_and_gaps_stay() {
        let long: Vec<u8> = (0..1_000_003_u32).map(|i| (i % 251) as u8).collect();
        let rows: [&[u8]; 4] = [&long, &[], &long[7..99], &long[1..]];
        let stride = long.len() + 5;
        for threads in [1, 3, 16] {
            let mut target = vec![0xEE; 3 * stride + long.len() - 1];
            gather(&mut target, &rows, stride, threads);
            for (k, row) in rows.iter().enumerate() {
                assert!(target[k * stride..k * stride + row.len()] == **row);
                if k < 3 {
                    assert!(target[k * stride + row.len()..(k + 1) * stride].iter().all(|&byte| byte == 0xEE));
                }
            }
        }
    }

    #[test]
    fn many_bytes_from_and_to_odd_places() {
        let long: Vec<u8> = (0..super::MUCH + 100).map(|i| (i % 241) as u8).collect();
        for (from, to, short) in [(0, 0, 0), (1, 3, 5), (17, 8, 16), (30, 31, 39)] {
            let row = &long[from..super::MUCH + from + 40 - short];
            let mut target = vec![0xEE; to + row.len() + 40];
            gather(&mut target[to..to + row.len()], &[row], row.len(), 3);
            assert!(target[to..to + row.len()] == *row);
            assert!(target[..to].iter().chain(&target[to + row.len()..]).all(|&byte| byte == 0xEE));
        }
    }

    #[test]
    fn nothing_is_nothing() {
        gather(&mut [], &[], 8, 0);
        assert_eq!(fill(vec![], 0, |_| Err(())), Ok(()));
        assert_eq!(fill(vec![Piece { target: &mut [], rows: vec![], stride: 1 }], 0, Err), Err(0));
    }

    #[test]
    fn pieces_come_in_order_and_are_complete() {
        let long: Vec<u8> = (0..3 * super::MUCH).map(|i| (i % 239) as u8).collect();
        for (size, threads) in [(70_001, 1), (1 << 20, 3), (1 << 20, 16), (5 << 20, 2)] {
            let mut target = vec![0xEE; long.len()];
            let pieces = target
                .chunks_mut(size)
                .zip(long.chunks(size))
                .map(|(target, row)| Piece { target, rows: vec![row], stride: size })
                .collect();
            let mut seen = vec![];
            let end = fill(pieces, threads, |k| {
                seen.push(k);
                if k == 4 { Err("enough") } else { Ok(()) }
            });
            let count = long.len().div_ceil(size).min(5);
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
            assert_eq!(end, if count == 5 { Err("enough") } else { Ok(()) });
            let done = long.len().min(count * size);
            assert!(target[..done] == long[..done]);
        }
    }
}
