//! How a library is held to a number of threads.

use std::thread::available_parallelism;

use crate::message::Failure;

/// Runs a job so that the library uses `threads` threads.
pub trait Threads {
    /// Runs `job`; fails when the library cannot be held to `threads`.
    fn with(&mut self, threads: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), Failure>;
}

/// The count that was asked for; zero means every processor that this process may use.
pub fn resolve(asked: usize) -> usize {
    if asked > 0 { asked } else { available_parallelism().map_or(1, |count| count.get()) }
}

/// For libraries on rayon: the job runs inside a pool of its own, built once for each count.
#[derive(Default)]
pub struct RayonThreads {
    pool: Option<rayon::ThreadPool>,
}

impl Threads for RayonThreads {
    fn with(&mut self, threads: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), Failure> {
        if self.pool.as_ref().is_none_or(|pool| pool.current_num_threads() != threads) {
            let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            self.pool = Some(built.map_err(|e| Failure::library(format!("no pool of {threads} threads: {e}")))?);
        }
        self.pool.as_ref().expect("built above").install(job);
        Ok(())
    }
}

/// For libraries without threads: one, or an honest refusal.
pub struct OneThread;

impl Threads for OneThread {
    fn with(&mut self, threads: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), Failure> {
        if threads != 1 {
            return Err(Failure::unsupported("this build of the library has one thread"));
        }
        job();
        Ok(())
    }
}
