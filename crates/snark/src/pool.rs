//! The thread pools of the vector operations: one per process and width, made on first use.
//!
//! A forked child inherits memory but no threads, and perhaps a lock that a thread of its parent held: it finds
//! another process id, touches none of that and makes pools of its own. Where the system refuses threads the
//! caller does the work alone.

use std::sync::{Arc, Mutex, PoisonError};

use multiscalar_core::published::Published;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// The pools of one process.
struct Made {
    process: u32,
    pools: Mutex<Vec<(usize, Arc<ThreadPool>)>>,
}

static MADE: Published<Made> = Published::new();

/// Elements up to which a vector operation is one piece of work. Handing over costs 5 us, on a busy machine far more.
pub const GRAIN: usize = 1 << 10;

/// Runs an operation on `size` elements: up to `GRAIN` on the calling thread (no operation splits so few), else as
/// [`with_threads`].
pub fn for_size<T: Send>(size: usize, threads: usize, work: impl FnOnce() -> T + Send) -> T {
    if size <= GRAIN { work() } else { with_threads(threads, work) }
}

/// Runs `work` on `threads` threads (0: all the machine has); parallel iterators inside use them.
pub fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        given => given,
    };
    match pool(threads) {
        Ok(pool) => pool.install(work),
        Err(_) => alone(work),
    }
}

fn pool(threads: usize) -> Result<Arc<ThreadPool>, ThreadPoolBuildError> {
    let process = std::process::id();
    let made = MADE.get_fitting(|made| made.process == process, || Made { process, pools: Mutex::default() });
    let mut pools = made.pools.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = pools.iter().find(|(width, _)| *width == threads) {
        return Ok(pool.clone());
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?);
    pools.push((threads, pool.clone()));
    Ok(pool)
}

/// Runs `work` on this thread, in a pool that consists of it: parallel iterators outside of any pool would ask the
/// system for threads once more, and panic when they get none.
fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if rayon::current_thread_index().is_some() {
        return work(); // it was here before, and a thread belongs to its pool for good
    }
    match ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn width_is_respected_and_the_pool_is_reused() {
        assert_eq!(with_threads(3, rayon::current_num_threads), 3);
        let first = pool(2).unwrap();
        assert!(Arc::ptr_eq(&first, &pool(2).unwrap()));
    }

    #[test]
    fn a_thread_alone_does_parallel_work_again_and_again() {
        let sum = || (0..10_000u64).into_par_iter().sum::<u64>();
        for _ in 0..3 {
            assert_eq!(alone(|| (rayon::current_num_threads(), sum())), (1, 49_995_000));
        }
        assert_eq!(with_threads(2, || (rayon::current_num_threads(), sum())), (2, 49_995_000));
    }
}
