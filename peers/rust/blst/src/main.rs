//! blst: Pippenger for BLS12-381 through its own entry points.
//!
//! One thread: `blst_p1s_mult_pippenger`, which is what blst's Rust layer itself calls when it sees one processor. More
//! threads: the Rust layer's `MultiPoint::mult` with its grid of points × windows. Its pool is made once, at first use,
//! with one thread for each processor that the process may run on; so the affinity is narrowed while it is made.

use blst::{
    MultiPoint, blst_bendian_from_fp, blst_fp, blst_fp_from_uint64, blst_p1, blst_p1_affine, blst_p1_affine_is_inf,
    blst_p1_to_affine, blst_p1s_mult_pippenger, blst_p1s_mult_pippenger_scratch_sizeof, p1_affines,
};
use peer_protocol::{Affine, Call, Curve, Engine, Failure, Form, Hello, Raw, Threads, serve};

const LIMBS: usize = 6;
const SCALAR_BYTES: usize = 32;
/// Bits of the group order r.
const SCALAR_BITS: usize = 255;

struct Blst;

fn element(limbs: &[u64], form: Form) -> blst_fp {
    let mut value = blst_fp::default();
    match form {
        Form::Montgomery => value.l.copy_from_slice(limbs),
        // SAFETY: both pointers are to six limbs.
        Form::Canonical => unsafe { blst_fp_from_uint64(&mut value, limbs.as_ptr()) },
    }
    value
}

fn limbs(value: &blst_fp) -> [u64; LIMBS] {
    let mut bytes = [0u8; 8 * LIMBS];
    // SAFETY: the output is the 48 bytes that the function writes.
    unsafe { blst_bendian_from_fp(bytes.as_mut_ptr(), value) };
    let mut words = bytes.rchunks_exact(8).map(|word| u64::from_be_bytes(word.try_into().expect("eight bytes")));
    std::array::from_fn(|_| words.next().expect("six words"))
}

impl Engine for Blst {
    type Bases = Vec<blst_p1_affine>;
    type Scalars = Vec<u8>;
    type Sum = blst_p1_affine;

    const LIMBS: usize = LIMBS;

    fn bases(raw: &Raw) -> Result<Self::Bases, Failure> {
        // blst's own encoding of infinity is (0, 0) as well.
        let point = |(x, y): (&[u64], &[u64])| blst_p1_affine { x: element(x, raw.form), y: element(y, raw.form) };
        Ok(raw.coordinates().map(point).collect())
    }

    fn scalars(raw: &Raw) -> Result<Self::Scalars, Failure> {
        Ok(raw.canonical_scalars()?.iter().flat_map(|limb| limb.to_le_bytes()).collect())
    }

    fn msm(bases: &Self::Bases, scalars: &Self::Scalars, call: &Call) -> Result<Self::Sum, Failure> {
        let (bases, scalars) = (&bases[..call.n], &scalars[..call.n * SCALAR_BYTES]);
        let sum = if call.threads == 1 { one_thread(bases, scalars) } else { bases.mult(scalars, SCALAR_BITS) };
        let mut affine = blst_p1_affine::default();
        // SAFETY: both are valid for the call.
        unsafe { blst_p1_to_affine(&mut affine, &sum) };
        Ok(affine)
    }

    fn affine(sum: &Self::Sum) -> Affine {
        // SAFETY: a valid point.
        if unsafe { blst_p1_affine_is_inf(sum) } {
            return Affine::infinity();
        }
        Affine::finite(&limbs(&sum.x), &limbs(&sum.y))
    }
}

fn one_thread(bases: &[blst_p1_affine], scalars: &[u8]) -> blst_p1 {
    let (points, bytes) = ([bases.as_ptr(), std::ptr::null()], [scalars.as_ptr(), std::ptr::null()]);
    let mut sum = blst_p1::default();
    // SAFETY: a null second pointer says that points and scalars are contiguous; scratch has the size blst asks for.
    unsafe {
        let mut scratch = vec![0u64; blst_p1s_mult_pippenger_scratch_sizeof(bases.len()).div_ceil(8)];
        blst_p1s_mult_pippenger(
            &mut sum,
            points.as_ptr(),
            bases.len(),
            bytes.as_ptr(),
            SCALAR_BITS,
            scratch.as_mut_ptr(),
        );
    }
    sum
}

/// blst's pool, whose size is fixed by the processors visible when it is first used.
#[derive(Default)]
struct Pool {
    threads: Option<usize>,
}

impl Threads for Pool {
    fn with(&mut self, threads: usize, job: &mut (dyn FnMut() + Send)) -> Result<(), Failure> {
        match self.threads {
            _ if threads == 1 => {}
            None => {
                make_pool(threads)?;
                self.threads = Some(threads);
            }
            Some(made) if made == threads => {}
            Some(made) => {
                let why = format!("blst's pool has {made} threads for good; start the peer anew for {threads}");
                return Err(Failure::unsupported(why));
            }
        }
        job();
        Ok(())
    }
}

/// Makes blst's pool while the process may run on `threads` processors only.
fn make_pool(threads: usize) -> Result<(), Failure> {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: cpu_set_t is plain bits; both calls get a set of the stated size.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size, &mut all);
        let usable: Vec<usize> = (0..8 * size).filter(|&cpu| libc::CPU_ISSET(cpu, &all)).collect();
        if usable.len() < threads {
            return Err(Failure::unsupported(format!("{} processors to be had, {threads} asked for", usable.len())));
        }
        let mut few: libc::cpu_set_t = std::mem::zeroed();
        usable[..threads].iter().for_each(|&cpu| libc::CPU_SET(cpu, &mut few));
        libc::sched_setaffinity(0, size, &few);
        drop(p1_affines::from(&[blst_p1::default()]));
        libc::sched_setaffinity(0, size, &all);
    }
    Ok(())
}

const CURVES: [Curve; 1] = [Curve::of::<Blst>("bls12-381")];

fn main() {
    let hello = Hello {
        name: "blst",
        version: env!("PEER_LIBRARY_VERSION"),
        curves: &["bls12-381"],
        groups: &["g1"],
        devices: vec!["cpu".into()],
        paths: &["cpu"],
        scopes: &["resident-bases", "end-to-end"],
        options: &[],
        timed: "blst_p1s_mult_pippenger (one thread) or MultiPoint::mult (more) over blst_p1_affine bases and \
                32-byte little-endian scalars of 255 bits, scratch included, then blst_p1_to_affine",
    };
    serve(hello, &CURVES, Pool::default());
}
