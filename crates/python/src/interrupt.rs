//! Long work without the GIL, that Ctrl-C can end and whose panics become Python errors.
//!
//! Python notices a signal only in the main thread and only while that thread can run Python code. So long work goes
//! to a thread of its own and the caller looks for signals every 20 ms; short work runs where it is. The extra
//! thread costs tens of microseconds and lives no longer than the call, so a fork finds none of it. Where the system
//! refuses the thread, long work runs where it is too: an answer without Ctrl-C is better than none.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};
use std::time::Duration;

use pyo3::prelude::*;

use crate::failure::failure;

const LOOK: Duration = Duration::from_millis(20);

/// Where the last panic happened, for the text of the error.
static PANICKED_AT: Mutex<String> = Mutex::new(String::new());

/// Panics print nothing; what they say goes into the Python error.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
        // A fork may have copied the lock while another thread held it: the place is worth no wait.
        if let Ok(mut text) = PANICKED_AT.try_lock() {
            *text = place.unwrap_or_default();
        }
    }));
}

/// Runs `work` without the GIL. If it is `long`, a signal raises `cancel` and its Python exception is returned once
/// the work has ended; `stop`, a Python function without arguments, raises `cancel` too when it returns true.
pub fn run<T: Send>(
    py: Python<'_>,
    long: bool,
    cancel: &AtomicBool,
    stop: Option<Py<PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (result, signal) =
        py.detach(|| if long { watched(cancel, stop.as_ref(), work) } else { (guarded(work), None) });
    match (signal, result) {
        (Some(error), _) => Err(error),
        (None, Ok(value)) => Ok(value),
        (None, Err(text)) => Err(failure("internal", None, text)),
    }
}

/// Runs short `work` without the GIL: what it returns, or what its panic says.
pub fn caught<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    py.detach(|| guarded(work))
}

/// What `work` returns, or what its panic says.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}

/// An exception of a signal handler or of `stop`, and whether the work is to be stopped.
fn look(stop: Option<&Py<PyAny>>) -> (Option<PyErr>, bool) {
    Python::attach(|py| {
        let asked = py.check_signals().and_then(|()| match stop {
            Some(stop) => stop.bind(py).call0()?.is_truthy(),
            None => Ok(false),
        });
        match asked {
            Ok(stopped) => (None, stopped),
            Err(error) => (Some(error), true),
        }
    })
}

fn watched<T: Send>(
    cancel: &AtomicBool,
    stop: Option<&Py<PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> (Result<T, String>, Option<PyErr>) {
    // Whoever runs the work takes it from here: the worker, or the caller when there is none.
    let work = Mutex::new(Some(work));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let run = || take().map_or_else(|| Err("the work was done twice".into()), guarded);
    scope(|threads| {
        let (done, finished) = channel();
        let worker = Builder::new().name("multiscalar".into()).spawn_scoped(threads, move || {
            let result = run();
            let _ = done.send(()); // the caller may have stopped listening
            result
        });
        let Ok(worker) = worker else { return (run(), None) };
        let mut signal = None;
        while finished.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let (error, stopped) = look(stop);
            if stopped {
                signal = error;
                cancel.store(true, Ordering::Relaxed);
                break;
            }
        }
        (worker.join().unwrap_or_else(|panic| Err(message(&*panic))), signal)
    })
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown panic".into());
    let place = PANICKED_AT.try_lock().map(|text| text.clone()).unwrap_or_default();
    format!("{text} ({place})")
}
