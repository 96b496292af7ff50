//! A private pool of threads, made lazily and kept.
//!
//! The calling thread always works on its own job, and idle workers join it; a job never waits for a worker to become
//! free, so nested and concurrent calls cannot deadlock. After `fork` the child finds another process id and makes a
//! pool of its own: it never touches a lock that a thread of the parent may have held.

use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::published::Published;

/// Whoever finishes what was begun looks so often before it sleeps: some tens of microseconds.
const SPINS: usize = 200;
/// Most threads that a call may use.
pub(super) const MOST: usize = 256;

/// Threads for a request: 0 asks for one per core that this process may use.
pub(crate) fn threads(requested: usize) -> usize {
    // Asking the system reads files of the control group, which takes longer than a small sum.
    static AVAILABLE: Published<usize> = Published::new();
    match requested {
        0 => *AVAILABLE.get(|| std::thread::available_parallelism().map_or(1, usize::from).min(MOST)),
        n => n.min(MOST),
    }
}

/// Runs `work(0)`, .., `work(tasks - 1)`, each once, on up to `threads` threads, the caller's among them.
/// A panic of a task is raised again here, after all tasks have ended.
pub(crate) fn run(threads: usize, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
    if threads.min(tasks) <= 1 {
        return (0..tasks).for_each(work);
    }
    lead(threads, tasks, work, |step| while step() {});
}

/// `run` with a caller that does other things too: `own` is called here, with a function that does the next task and says
/// whether there was one. When `own` returns, no further task is begun, and those that are have ended.
pub(crate) fn lead<T>(
    threads: usize,
    tasks: usize,
    work: &(dyn Fn(usize) + Sync),
    own: impl FnOnce(&dyn Fn() -> bool) -> T,
) -> T {
    let helpers = threads.min(tasks).saturating_sub(1);
    // SAFETY: the job outlives this call only as an exhausted counter: `work` is called for task numbers below
    // `tasks` only, and this function returns after `finish` has seen all helpers leave.
    let work: &'static (dyn Fn(usize) + Sync) = unsafe { core::mem::transmute(work) };
    let job = Job::new(work, tasks);
    let pool = (helpers > 0).then(Pool::current);
    if let Some(pool) = pool {
        pool.offer(&job, helpers);
    }
    let own = catch_unwind(AssertUnwindSafe(|| own(&|| job.step())));
    if let Some(pool) = pool {
        pool.withdraw(&job);
    }
    job.finish();
    match own {
        Err(panic) => resume_unwind(panic),
        Ok(_) if job.panicked.load(Ordering::Relaxed) => panic!("a worker thread panicked"),
        Ok(value) => value,
    }
}

/// Invites up to `helpers` workers to `work(0)`, .., `work(tasks - 1)` and returns: the caller does other things meanwhile.
pub(crate) fn begin(helpers: usize, tasks: usize, work: Arc<dyn Fn(usize) + Send + Sync>) -> Begun {
    // SAFETY: as in `lead`: `Begun` holds the closure and lets it go after `finish` has seen all helpers leave. Not in a
    // box: moving one says that nobody else refers to what is in it.
    let forever: &'static (dyn Fn(usize) + Sync) = unsafe { &*Arc::as_ptr(&work) };
    let job = Job::new(forever, tasks);
    let pool = (helpers > 0).then(Pool::current);
    if let Some(pool) = pool {
        pool.offer(&job, helpers);
    }
    Begun { job, pool, _work: work }
}

/// A job under way. Dropped before `finish`, it begins no further task, and those that were begun have ended.
pub(crate) struct Begun {
    job: Arc<Job>,
    pool: Option<&'static Pool>,
    _work: Arc<dyn Fn(usize) + Send + Sync>,
}

impl Begun {
    /// Does the tasks that are left and waits for the others. A panic of a task is raised again here.
    pub(crate) fn finish(self) {
        while self.job.step() {}
        // The others are about to end: sleeping would take longer than that.
        for _ in 0..SPINS {
            if *lock(&self.job.helpers) == 0 {
                break;
            }
            (0..16).for_each(|_| spin_loop());
        }
        let job = Arc::clone(&self.job);
        drop(self);
        assert!(!job.panicked.load(Ordering::Relaxed), "a worker thread panicked");
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let Some(pool) = self.pool {
            if pool.process != std::process::id() {
                return; // a forked child has none of the helpers, and waits for none
            }
            pool.withdraw(&self.job);
        }
        self.job.finish();
    }
}

struct Job {
    work: &'static (dyn Fn(usize) + Sync),
    tasks: usize,
    next: AtomicUsize,
    panicked: AtomicBool,
    /// Helpers inside `work`.
    helpers: Mutex<usize>,
    left: Condvar,
}

impl Job {
    fn new(work: &'static (dyn Fn(usize) + Sync), tasks: usize) -> Arc<Self> {
        Arc::new(Self {
            work,
            tasks,
            next: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            helpers: Mutex::new(0),
            left: Condvar::new(),
        })
    }

    /// Does the next task, if there is one.
    fn step(&self) -> bool {
        let task = self.next.fetch_add(1, Ordering::Relaxed);
        if task >= self.tasks {
            return false;
        }
        (self.work)(task);
        true
    }

    fn help(&self) {
        if catch_unwind(AssertUnwindSafe(|| while self.step() {})).is_err() {
            self.panicked.store(true, Ordering::Relaxed);
        }
        *lock(&self.helpers) -= 1;
        self.left.notify_all();
    }

    /// Takes the tasks that are left from the helpers and waits for the helpers. Called when none can join any more.
    fn finish(&self) {
        self.next.fetch_max(self.tasks, Ordering::Relaxed);
        let mut helpers = lock(&self.helpers);
        while *helpers > 0 {
            helpers = self.left.wait(helpers).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

struct Pool {
    process: u32,
    state: Mutex<State>,
    offered: Condvar,
}

#[derive(Default)]
struct State {
    /// Jobs that want helpers, and how many more.
    offers: Vec<(Arc<Job>, usize)>,
    workers: usize,
    idle: usize,
}

static CURRENT: Published<Pool> = Published::new();

impl Pool {
    /// The pool of this process.
    fn current() -> &'static Self {
        let process = std::process::id();
        CURRENT.get_fitting(
            |pool| pool.process == process,
            || Self { process, state: Mutex::default(), offered: Condvar::new() },
        )
    }

    /// Invites up to `helpers` workers, starting threads when too few are idle.
    fn offer(&'static self, job: &Arc<Job>, helpers: usize) {
        let mut state = lock(&self.state);
        let missing = helpers.saturating_sub(state.idle).min(MOST - state.workers.min(MOST));
        for _ in 0..missing {
            // Without another thread the job is done by those there are.
            if std::thread::Builder::new().name("multiscalar".into()).spawn(|| self.serve()).is_ok() {
                state.workers += 1;
            }
        }
        state.offers.push((Arc::clone(job), helpers));
        let spare = state.idle > helpers;
        drop(state);
        if spare {
            // Each waking takes a microsecond of the caller's.
            (0..helpers).for_each(|_| self.offered.notify_one());
        } else {
            self.offered.notify_all();
        }
    }

    /// No worker joins the job after this.
    fn withdraw(&self, job: &Arc<Job>) {
        lock(&self.state).offers.retain(|(offered, _)| !Arc::ptr_eq(offered, job));
    }

    /// The life of a worker.
    fn serve(&self) {
        let mut state = lock(&self.state);
        loop {
            let Some((job, more)) = state.offers.first_mut() else {
                state.idle += 1;
                state = self.offered.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            let job = Arc::clone(job);
            *more -= 1;
            if *more == 0 {
                state.offers.remove(0);
            }
            // Before the lock is released, so that `withdraw` and `finish` cannot miss this helper.
            *lock(&job.helpers) += 1;
            drop(state);
            job.help();
            drop(job);
            state = lock(&self.state);
        }
    }
}

/// No invariant of these locks can be broken by a panic, so poison means nothing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(threads: usize, tasks: usize) -> usize {
        let total = AtomicUsize::new(0);
        run(threads, tasks, &|i| {
            total.fetch_add(i + 1, Ordering::Relaxed);
        });
        total.into_inner()
    }

    #[test]
    fn every_task_runs_once() {
        for threads in [1, 2, 3, 7] {
            for tasks in [0, 1, 2, 100] {
                assert_eq!(sum(threads, tasks), tasks * (tasks + 1) / 2);
            }
        }
    }

    #[test]
    fn nested_and_concurrent_jobs_end() {
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    run(3, 10, &|_| {
                        total.fetch_add(sum(3, 10), Ordering::Relaxed);
                    });
                });
            }
        });
        assert_eq!(total.into_inner(), 4 * 10 * 55);
    }

    #[test]
    fn a_leader_does_some_tasks_and_ends_it_all() {
        for threads in [1, 2, 7] {
            let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let work = |_| {
                begun.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
                ended.fetch_add(1, Ordering::Relaxed);
            };
            assert!(lead(threads, 1_000_000_000, &work, |step| step() && step()));
            let count = ended.load(Ordering::Relaxed);
            assert_eq!(count, begun.load(Ordering::Relaxed), "what was begun has ended");
            std::thread::yield_now();
            assert_eq!(count, begun.load(Ordering::Relaxed), "nothing more is begun");
            assert!(count >= 2);
            assert!(lead(threads, 3, &work, |step| step() && step() && step()) || threads > 1);
        }
    }

    #[test]
    fn what_was_begun_ends_with_finish_or_when_dropped() {
        for helpers in [0, 1, 6] {
            let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let work = {
                let (begun, ended) = (Arc::clone(&begun), Arc::clone(&ended));
                move |_| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    std::thread::yield_now();
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            };
            super::begin(helpers, 1000, Arc::new(work.clone())).finish();
            assert_eq!(ended.load(Ordering::Relaxed), 1000);
            drop(super::begin(helpers, 1_000_000_000, Arc::new(work)));
            let count = ended.load(Ordering::Relaxed);
            assert_eq!(count, begun.load(Ordering::Relaxed), "what was begun has ended");
            std::thread::yield_now();
            assert_eq!(count, begun.load(Ordering::Relaxed), "nothing more is begun");
        }
        assert!(catch_unwind(|| super::begin(2, 8, Arc::new(|i| assert_ne!(i, 5))).finish()).is_err());
    }

    #[test]
    fn a_panic_comes_back_and_the_pool_lives() {
        for bad in 0..8 {
            let raised = catch_unwind(|| run(3, 8, &|i| assert_ne!(i, bad)));
            assert!(raised.is_err());
        }
        assert_eq!(sum(3, 100), 5050);
    }
}
