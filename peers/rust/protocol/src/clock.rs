//! The two clocks of a sample: wall time and the CPU time of the whole process, all threads together.

use crate::message::Sample;

/// Reads both clocks; the CPU clock lies inside the wall clock, so that its own cost is never charged to it.
pub struct Stopwatch {
    wall: u64,
    cpu: u64,
}

impl Stopwatch {
    /// Starts both clocks.
    pub fn start() -> Self {
        let wall = read(libc::CLOCK_MONOTONIC);
        Self { wall, cpu: read(libc::CLOCK_PROCESS_CPUTIME_ID) }
    }

    /// Stops both clocks.
    pub fn stop(self) -> Sample {
        let cpu_ns = read(libc::CLOCK_PROCESS_CPUTIME_ID) - self.cpu;
        let wall_ns = read(libc::CLOCK_MONOTONIC) - self.wall;
        Sample { wall_ns, cpu_ns, copy_ns: None, device_ns: None }
    }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that outlives the call; both clock ids exist on every Linux and macOS.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
