//! Server side of the peer protocol: JSON lines on stdin and stdout, bulk data in raw files.
//!
//! A peer names its curves (`Curve` entries), says how its threads are held (`Threads`) and calls [`serve`]. Panics of
//! the library become answers of kind `panic`; stdout belongs to the protocol alone.

mod clock;
mod measure;
mod message;
mod raw;
mod threads;

use std::any::Any;
use std::io::{BufRead, Write, stdin, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use serde_json::{Value, json};

pub use measure::{Call, Clocks, Engine, Loaded, Workload};
pub use message::{Affine, Failure, Form, Hello, Load, Outcome, Run, Sample, Scope};
pub use raw::{Raw, SCALAR_LIMBS, is_infinity};
pub use threads::{OneThread, RayonThreads, Threads};

/// One curve of a peer: its name and how a workload on it is loaded.
pub struct Curve {
    pub name: &'static str,
    load: fn(&Load) -> Result<Box<dyn Loaded>, Failure>,
}

impl Curve {
    /// Binds `name` to the engine `E`.
    pub const fn of<E: Engine>(name: &'static str) -> Self
    where
        Workload<E>: Loaded,
    {
        Self { name, load: |load| Ok(Box::new(Workload::<E>::new(Raw::read(load, E::LIMBS)?)?)) }
    }
}

/// Answers requests until `bye` or the end of stdin.
pub fn serve(hello: Hello, curves: &[Curve], mut threads: impl Threads) {
    let mut loaded: Option<Box<dyn Loaded>> = None;
    for line in stdin().lock().lines() {
        let Ok(line) = line else { return };
        let answer = match serde_json::from_str::<message::Request>(&line) {
            Err(e) => Err(Failure::usage(format!("not a request: {e}"))),
            Ok(message::Request::Bye) => {
                say(&json!({"ok": true}));
                return;
            }
            Ok(message::Request::Hello) => with_ok(&hello),
            Ok(message::Request::Load(load)) => guarded(|| {
                loaded = None;
                let started = Instant::now();
                loaded = Some(find(curves, &load)?(&load)?);
                Ok(json!({"ok": true, "ns": started.elapsed().as_nanos() as u64}))
            }),
            Ok(message::Request::Run(run)) => {
                guarded(|| with_ok(&measured(&hello, loaded.as_deref(), &run, &mut threads)?))
            }
        };
        say(&answer.unwrap_or_else(|failure| json!({"error": failure})));
    }
}

type Loader = fn(&Load) -> Result<Box<dyn Loaded>, Failure>;

fn find(curves: &[Curve], load: &Load) -> Result<Loader, Failure> {
    if load.group != "g1" {
        return Err(Failure::unsupported(format!("group {:?}: this peer has g1", load.group)));
    }
    let found = curves.iter().find(|curve| curve.name == load.curve);
    found.map(|curve| curve.load).ok_or_else(|| Failure::unsupported(format!("curve {:?}", load.curve)))
}

fn measured(
    hello: &Hello,
    loaded: Option<&dyn Loaded>,
    run: &Run,
    threads: &mut impl Threads,
) -> Result<Outcome, Failure> {
    let loaded = loaded.ok_or_else(|| Failure::usage("nothing is loaded"))?;
    if !hello.paths.contains(&run.path.as_str()) {
        return Err(Failure::unsupported(format!("path {:?}: this peer has {:?}", run.path, hello.paths)));
    }
    if let Some(option) = run.options.keys().find(|key| !hello.options.contains(&key.as_str())) {
        return Err(Failure::unsupported(format!("option {option:?}: this peer has {:?}", hello.options)));
    }
    if !hello.scopes.contains(&run.scope.word()) {
        return Err(Failure::unsupported(format!("scope {}: this peer has {:?}", run.scope.word(), hello.scopes)));
    }
    if run.repeats == 0 {
        return Err(Failure::usage("repeats is at least 1"));
    }
    if run.n.is_some_and(|n| n > loaded.n()) {
        return Err(Failure::usage(format!("n is over the {} terms loaded", loaded.n())));
    }
    let count = threads::resolve(run.threads);
    let mut outcome = None;
    threads.with(count, &mut || outcome = Some(loaded.measure(run, count)))?;
    outcome.expect("the job ran")
}

/// Turns a panic of the library into an answer.
fn guarded(job: impl FnOnce() -> Result<Value, Failure>) -> Result<Value, Failure> {
    catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|panic| Err(Failure { kind: "panic", message: text(&*panic) }))
}

fn text(panic: &(dyn Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    literal.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panic without a message".into())
}

fn with_ok(answer: &impl serde::Serialize) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(answer).map_err(|e| Failure::library(e.to_string()))?;
    value["ok"] = true.into();
    Ok(value)
}

fn say(answer: &Value) {
    let mut out = stdout().lock();
    // A closed stdout means that the lab has gone: the next read of stdin ends the loop.
    let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
}
