//! The thread pool of the vector operations: one per process and width, made on first use.
//!
//! A forked child inherits memory but no threads; a pool is therefore remembered together with the
//! process that made it, and a child makes its own.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;

struct Made {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());

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
        Some(pool) => pool.install(work),
        None => work(),
    }
}

fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    let process = std::process::id();
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = made.iter().find(|m| m.process == process && m.threads == threads) {
        return Some(known.pool.clone());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new)?;
    made.push(Made { process, threads, pool: pool.clone() });
    Some(pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_is_respected_and_the_pool_is_reused() {
        assert_eq!(with_threads(3, rayon::current_num_threads), 3);
        let first = pool(2).unwrap();
        assert!(Arc::ptr_eq(&first, &pool(2).unwrap()));
    }
}
