//! How the grid of windows x terms is cut into cells for threads.
//!
//! Whole windows first: as many for each thread as go round, in groups whose buckets stay in cache together. Windows
//! that are left over are cut along the terms as well, which costs a reduction for every piece.

use super::bucket::Cell;

/// Buckets that one cell may hold, when it holds more than one window: about half of a megabyte of second-level cache.
const JOINT_BUCKETS: usize = 8192;

/// The shape of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Number of terms.
    pub(super) terms: usize,
    /// Number of windows.
    pub(super) windows: u32,
    /// Width of a window.
    pub(super) c: u32,
    /// Threads that may work on it.
    pub(super) threads: usize,
}

impl Grid {
    /// Windows that no thread can take whole without making others wait.
    fn left_over(&self) -> u32 {
        self.windows % self.threads as u32
    }

    /// Pieces that a left-over window is cut into.
    fn pieces(&self) -> usize {
        if self.left_over() == 0 {
            return 1;
        }
        let most = self.threads.min(self.terms.max(1));
        (1..=most).min_by(|&a, &b| self.left_over_cost(a).total_cmp(&self.left_over_cost(b))).unwrap_or(1)
    }

    /// Additions that the busiest thread does for left-over windows in so many pieces each.
    fn left_over_cost(&self, pieces: usize) -> f64 {
        let rounds = (self.left_over() as usize * pieces).div_ceil(self.threads);
        rounds as f64 * (self.terms as f64 / pieces as f64 + self.reduction())
    }

    /// Additions of the reduction of one window.
    fn reduction(&self) -> f64 {
        (1u64 << self.c) as f64
    }

    /// The cells of the busiest thread, as (number, terms, windows) of two kinds: whole windows and pieces of others.
    pub(super) fn busiest(&self) -> [(f64, f64, f64); 2] {
        let windows = self.windows / self.threads as u32;
        let groups = windows.div_ceil(self.joint());
        let pieces = self.pieces();
        let rounds = (self.left_over() as usize * pieces).div_ceil(self.threads);
        [
            (f64::from(groups), self.terms as f64, f64::from(windows) / f64::from(groups.max(1))),
            (rounds as f64, self.terms as f64 / pieces as f64, 1.0),
        ]
    }

    /// Windows whose buckets stay in cache together.
    fn joint(&self) -> u32 {
        (JOINT_BUCKETS >> (self.c - 1)).max(1) as u32
    }

    /// The cells, costliest first.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let left_over = self.left_over();
        let whole = self.windows - left_over;
        let mut cells = Vec::new();
        if whole > 0 {
            let groups = self.threads as u32 * (whole / self.threads as u32).div_ceil(self.joint());
            cells.extend((0..groups).map(|i| Cell { windows: share(whole, groups, i), terms: 0..self.terms }));
            // Two groups of three windows and two of two go round two threads in this order and in no other.
            cells.sort_by_key(|cell| core::cmp::Reverse(cell.windows.len()));
        }
        let pieces = self.pieces();
        for w in whole..self.windows {
            cells.extend(
                (0..pieces)
                    .map(|i| Cell { windows: w..w + 1, terms: self.terms * i / pieces..self.terms * (i + 1) / pieces }),
            );
        }
        cells
    }
}

/// The i-th of `parts` even parts of 0..total.
fn share(total: u32, parts: u32, i: u32) -> core::ops::Range<u32> {
    total * i / parts..total * (i + 1) / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every (window, term) is in exactly one cell.
    #[test]
    fn cells_tile_the_grid() {
        for terms in [0, 1, 5, 100] {
            for windows in [1, 2, 7, 20, 33] {
                for threads in [1, 2, 3, 8, 40] {
                    let grid = Grid { terms, windows, c: 4, threads };
                    let mut seen = vec![0; terms * windows as usize];
                    for cell in grid.cells() {
                        for w in cell.windows {
                            cell.terms.clone().for_each(|t| seen[w as usize * terms + t] += 1);
                        }
                    }
                    assert!(seen.iter().all(|&times| times == 1), "{grid:?}");
                }
            }
        }
    }

    /// Threads that take the cells in turn get as many windows each, whatever the groups.
    #[test]
    fn turns_are_even() {
        for windows in [6, 8, 10, 12, 14, 20, 22] {
            for threads in [2, 3, 4] {
                let grid = Grid { terms: 1 << 15, windows, c: 12, threads };
                let mut busy = vec![0; threads];
                for cell in grid.cells().iter().filter(|cell| cell.terms.len() == grid.terms) {
                    *busy.iter_mut().min().expect("there is a thread") += cell.windows.len();
                }
                let most = windows as usize / threads;
                assert!(busy.iter().all(|&turns| turns == most), "{grid:?}: {busy:?}");
            }
        }
    }

    /// Two threads share an odd number of windows evenly.
    #[test]
    fn threads_share_evenly() {
        let one = Grid { terms: 1 << 16, windows: 21, c: 12, threads: 1 };
        let two = Grid { threads: 2, ..one };
        let cost = |grid: Grid| -> f64 {
            grid.busiest().iter().map(|(times, terms, windows)| times * windows * (terms + 4096.0)).sum()
        };
        assert!(cost(one) / cost(two) > 1.9);
    }
}
