//! Host memory carried into a staging buffer by several threads. Cost: none in the field.
//!
//! One core copies some 12 GB/s, a link to a device takes 55; the pool is the one of the sums. Much is written past the
//! caches: nobody but the device will read it, and fetching each line first takes a third of the time.

use std::sync::{Mutex, PoisonError};

use crate::msm::pool;

/// From here on all threads copy, past the caches; each takes this much at a time.
const MUCH: usize = 2 << 20;
const LARGE_BLOCK: usize = 256 << 10;
/// Less is begun by the caller, with a helper for each 128 KiB, from a quarter of the cores: they take ten microseconds to
/// wake, and where there are few cores they are likely to be busy.
const BLOCK: usize = 64 << 10;
const PER_THREAD: usize = 128 << 10;

/// Copies `rows[k]` to `target[k * stride ..]`, on up to `threads` threads (0: one per core). What lies between the rows
/// is left as it is.
///
/// Panics when a row is longer than `stride` or `target` ends before the last row does.
pub fn gather(target: &mut [u8], rows: &[&[u8]], stride: usize, threads: usize) {
    let total = rows.iter().map(|row| row.len()).sum::<usize>();
    let (most, much) = (pool::threads(threads), total >= MUCH);
    let (threads, block) =
        if much { (most, LARGE_BLOCK) } else { (total.div_ceil(PER_THREAD).min(most.div_ceil(4)), BLOCK) };
    let mut blocks = Vec::new();
    let mut rest = target;
    for (k, row) in rows.iter().enumerate() {
        assert!(row.len() <= stride, "row {k} is longer than the stride");
        let (place, after) = rest.split_at_mut(if k + 1 < rows.len() { stride } else { row.len() });
        rest = after;
        let pieces = place[..row.len()].chunks_mut(block).zip(row.chunks(block));
        blocks.extend(pieces.map(Mutex::new));
    }
    pool::run(threads, blocks.len(), &|k| {
        let mut block = blocks[k].lock().unwrap_or_else(PoisonError::into_inner);
        let (place, piece) = &mut *block;
        if much { stream(place, piece) } else { place.copy_from_slice(piece) }
    });
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
    use super::gather;

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
    }
}
