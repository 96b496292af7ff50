//! Host memory carried into a staging buffer by several threads. Cost: none in the field.
//!
//! One core copies some 12 GB/s, a link to a device takes 55; the pool is the one of the sums.

use std::sync::{Mutex, PoisonError};

use crate::msm::pool;

/// Bytes that one thread takes at a time: they stay in its second-level cache.
const BLOCK: usize = 256 << 10;

/// Copies `rows[k]` to `target[k * stride ..]`, on up to `threads` threads (0: one per core). What lies between the rows
/// is left as it is.
///
/// Panics when a row is longer than `stride` or `target` ends before the last row does.
pub fn gather(target: &mut [u8], rows: &[&[u8]], stride: usize, threads: usize) {
    let mut blocks = Vec::new();
    let mut rest = target;
    for (k, row) in rows.iter().enumerate() {
        assert!(row.len() <= stride, "row {k} is longer than the stride");
        let (place, after) = rest.split_at_mut(if k + 1 < rows.len() { stride } else { row.len() });
        rest = after;
        let pieces = place[..row.len()].chunks_mut(BLOCK).zip(row.chunks(BLOCK));
        blocks.extend(pieces.map(Mutex::new));
    }
    pool::run(pool::threads(threads), blocks.len(), &|k| {
        let mut block = blocks[k].lock().unwrap_or_else(PoisonError::into_inner);
        let (place, piece) = &mut *block;
        place.copy_from_slice(piece);
    });
}

#[cfg(test)]
mod tests {
    use super::gather;

    #[test]
    fn rows_land_at_their_places_and_gaps_stay() {
        let long: Vec<u8> = (0..1_000_003_u32).map(|i| (i % 251) as u8).collect();
        let rows: [&[u8]; 4] = [&long, &[], &long[7..99], &long[1..]];
        let stride = long.len() + 5;
        for threads in [1, 3] {
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
    fn nothing_is_nothing() {
        gather(&mut [], &[], 8, 0);
    }
}
