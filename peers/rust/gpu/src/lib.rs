//! An engine of the peer protocol over the C interface of `include/peer_gpu.h`: whatever the library, its peer program
//! names the functions of each curve (`gpu_curve!`), its paths and its words, and is done.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

use peer_protocol::{Affine, Call, Clocks, Engine, Failure, Form, OneThread, Raw, Scope, Threads};
use serde_json::{Map, Value};

const WHY: usize = 256;
const NO_DEVICE: c_int = 2;

#[repr(C)]
pub struct CCall {
    n: u64,
    scope: i32,
    path: i32,
    c: i32,
}

#[repr(C)]
#[derive(Default)]
pub struct CTimes {
    copy_ns: u64,
    device_ns: u64,
}

#[repr(C)]
pub struct CDevice {
    name: [c_char; 128],
    uuid: [c_char; 37],
    compute_major: i32,
    compute_minor: i32,
    multiprocessors: i32,
    driver: i32,
    runtime: i32,
    memory_total: u64,
    memory_free: u64,
}

unsafe extern "C" {
    fn peer_describe(device: *mut CDevice, why: *mut c_char) -> c_int;
}

/// The C functions of one curve.
pub struct Api {
    pub open: unsafe extern "C" fn(*const u64, u64, c_int, *mut *mut c_void, *mut c_char) -> c_int,
    pub close: unsafe extern "C" fn(*mut c_void),
    pub prepare: unsafe extern "C" fn(*mut c_void, *const u64, *const CCall, *mut c_char) -> c_int,
    pub msm: unsafe extern "C" fn(*mut c_void, *const u64, *const CCall, *mut u64, *mut CTimes, *mut c_char) -> c_int,
}

/// One curve of a GPU library.
pub trait GpuCurve: 'static {
    const LIMBS: usize;
    /// Paths in the order that the C side numbers them.
    const PATHS: &'static [&'static str];
    fn api() -> Api;
}

/// Declares a curve type from the prefix of its C functions.
#[macro_export]
macro_rules! gpu_curve {
    ($name:ident, $limbs:expr, $paths:expr, $open:ident, $close:ident, $prepare:ident, $msm:ident) => {
        pub struct $name;

        unsafe extern "C" {
            fn $open(
                points: *const u64,
                n: u64,
                montgomery: std::ffi::c_int,
                handle: *mut *mut std::ffi::c_void,
                why: *mut std::ffi::c_char,
            ) -> std::ffi::c_int;
            fn $close(handle: *mut std::ffi::c_void);
            fn $prepare(
                handle: *mut std::ffi::c_void,
                scalars: *const u64,
                call: *const $crate::CCall,
                why: *mut std::ffi::c_char,
            ) -> std::ffi::c_int;
            fn $msm(
                handle: *mut std::ffi::c_void,
                scalars: *const u64,
                call: *const $crate::CCall,
                xy: *mut u64,
                times: *mut $crate::CTimes,
                why: *mut std::ffi::c_char,
            ) -> std::ffi::c_int;
        }

        impl $crate::GpuCurve for $name {
            const LIMBS: usize = $limbs;
            const PATHS: &'static [&'static str] = $paths;
            fn api() -> $crate::Api {
                $crate::Api { open: $open, close: $close, prepare: $prepare, msm: $msm }
            }
        }
    };
}

/// The engine over a curve's C functions.
pub struct Gpu<C>(std::marker::PhantomData<C>);

/// Host bases in the library's form, and whatever it keeps on the device for them.
pub struct Handle {
    api: Api,
    raw: Mutex<*mut c_void>,
}

// SAFETY: the handle is used under its lock only, and the CUDA runtime lets any thread use a context.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        let raw = self.raw.lock().map_or(null_mut(), |raw| *raw);
        // SAFETY: made by `open`, closed once.
        unsafe { (self.api.close)(raw) }
    }
}

/// A sum and the times of the call that gave it.
pub struct Sum {
    xy: Vec<u64>,
    times: CTimes,
}

impl PartialEq for Sum {
    fn eq(&self, other: &Self) -> bool {
        self.xy == other.xy
    }
}

fn checked(code: c_int, why: &[c_char; WHY]) -> Result<(), Failure> {
    // SAFETY: the buffer starts zeroed and the C side ends what it writes with a zero.
    let message = || unsafe { CStr::from_ptr(why.as_ptr()) }.to_string_lossy().into_owned();
    match code {
        0 => Ok(()),
        NO_DEVICE => Err(Failure::device(message())),
        _ => Err(Failure::library(message())),
    }
}

fn c_call<C: GpuCurve>(call: &Call) -> Result<CCall, Failure> {
    let scope = match call.scope {
        Scope::EndToEnd => 0,
        Scope::ResidentBases => 1,
        Scope::Resident => 2,
    };
    let path = C::PATHS.iter().position(|path| *path == call.path).unwrap_or(0) as i32;
    let c = match call.options.get("c") {
        None => 0,
        Some(value) => value
            .as_i64()
            .and_then(|c| i32::try_from(c).ok())
            .filter(|c| (0..=24).contains(c))
            .ok_or_else(|| Failure::usage(format!("c = {value}: an integer from 0 (automatic) to 24")))?,
    };
    Ok(CCall { n: call.n as u64, scope, path, c })
}

impl<C: GpuCurve> Engine for Gpu<C> {
    type Bases = Handle;
    type Scalars = Vec<u64>;
    type Sum = Sum;

    const LIMBS: usize = C::LIMBS;
    const TAKES_HOST_ARRAYS: bool = true;

    fn bases(raw: &Raw) -> Result<Self::Bases, Failure> {
        let (api, mut handle, mut why) = (C::api(), null_mut(), [0; WHY]);
        let montgomery = c_int::from(raw.form == Form::Montgomery);
        // SAFETY: `points` holds n points of 2·LIMBS words; the outputs are valid for the call.
        let code = unsafe { (api.open)(raw.points.as_ptr(), raw.n as u64, montgomery, &mut handle, why.as_mut_ptr()) };
        checked(code, &why)?;
        Ok(Handle { api, raw: Mutex::new(handle) })
    }

    fn scalars(raw: &Raw) -> Result<Self::Scalars, Failure> {
        Ok(raw.canonical_scalars()?.to_vec())
    }

    fn prepare(bases: &Self::Bases, scalars: &Self::Scalars, call: &Call) -> Result<(), Failure> {
        let (call, mut why) = (c_call::<C>(call)?, [0; WHY]);
        let handle = bases.raw.lock().map_err(|_| Failure::library("an earlier call panicked"))?;
        // SAFETY: `call.n` is at most the number of points and scalars held.
        checked(unsafe { (bases.api.prepare)(*handle, scalars.as_ptr(), &call, why.as_mut_ptr()) }, &why)
    }

    fn msm(bases: &Self::Bases, scalars: &Self::Scalars, call: &Call) -> Result<Self::Sum, Failure> {
        let (call, mut why) = (c_call::<C>(call)?, [0; WHY]);
        let (mut xy, mut times) = (vec![0; 2 * C::LIMBS], CTimes::default());
        let handle = bases.raw.lock().map_err(|_| Failure::library("an earlier call panicked"))?;
        // SAFETY: as in `prepare`; `xy` holds the 2·LIMBS words that the C side writes.
        let code =
            unsafe { (bases.api.msm)(*handle, scalars.as_ptr(), &call, xy.as_mut_ptr(), &mut times, why.as_mut_ptr()) };
        checked(code, &why)?;
        Ok(Sum { xy, times })
    }

    fn affine(sum: &Self::Sum) -> Affine {
        let (x, y) = sum.xy.split_at(C::LIMBS);
        if sum.xy.iter().all(|&limb| limb == 0) { Affine::infinity() } else { Affine::finite(x, y) }
    }

    fn clocks(sum: &Self::Sum) -> Clocks {
        let known = |ns| Some(ns).filter(|&ns| ns > 0);
        Clocks { copy_ns: known(sum.times.copy_ns), device_ns: known(sum.times.device_ns) }
    }

    fn place(_sum: Option<&Self::Sum>) -> (String, Map<String, Value>) {
        ("cuda".into(), describe().unwrap_or_default())
    }
}

/// The device in use: name, UUID, versions and free memory now.
pub fn describe() -> Result<Map<String, Value>, Failure> {
    // SAFETY: plain bits, all valid when zero.
    let (mut device, mut why) = (unsafe { std::mem::zeroed::<CDevice>() }, [0; WHY]);
    // SAFETY: both outputs are valid for the call.
    checked(unsafe { peer_describe(&mut device, why.as_mut_ptr()) }, &why)?;
    // SAFETY: both texts end with a zero.
    let text = |chars: &[c_char]| unsafe { CStr::from_ptr(chars.as_ptr()) }.to_string_lossy().into_owned();
    let version = |number: i32| format!("{}.{}", number / 1000, number % 1000 / 10);
    let facts: [(&str, Value); 8] = [
        ("device", text(&device.name).into()),
        ("uuid", text(&device.uuid).into()),
        ("compute_capability", format!("{}.{}", device.compute_major, device.compute_minor).into()),
        ("multiprocessors", device.multiprocessors.into()),
        ("cuda_driver", version(device.driver).into()),
        ("cuda_runtime", version(device.runtime).into()),
        ("memory_total", device.memory_total.into()),
        ("memory_free", device.memory_free.into()),
    ];
    Ok(facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Device names for hello: one, or none with the reason on stderr.
pub fn devices() -> Vec<String> {
    match describe() {
        Ok(facts) => vec![facts["device"].as_str().unwrap_or("GPU").to_owned()],
        Err(failure) => {
            eprintln!("no device: {}", failure.message);
            Vec::new()
        }
    }
}

/// A GPU library's own host threads are its business: any cap is taken as met by the one thread that calls it.
pub struct Caller;

impl Threads for Caller {
    fn with(&mut self, _threads: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), Failure> {
        OneThread.with(1, job)
    }
}
