//! What the Varuna prover and verifier need beside the MSM, for BLS12-377.
//!
//! `vector`, `ntt`, `poly`, `sparse`: vectors over the scalar field, in Montgomery form, in place
//! wherever that serves. `sponge`: the Fiat–Shamir sponge. `points`: codecs, subgroup tests, pairing.
//! Single field operations, the curve and the pairing come from arkworks; the algorithms are ours.

pub mod grain;
#[cfg(target_arch = "x86_64")]
mod lanes;
pub mod ntt;
pub mod points;
pub mod poly;
pub mod pool;
pub mod sparse;
pub mod sponge;
pub mod vector;

pub use ark_bls12_377::{Fq, Fr};

/// Four limbs of a scalar in Montgomery form (R = 2^256), least significant first.
pub type Limbs = [u64; 4];

const _: () = assert!(size_of::<Fr>() == size_of::<Limbs>() && align_of::<Fr>() == align_of::<Limbs>());

/// The same memory read as field elements.
///
/// Limbs are taken as they are: a value at or above the modulus gives a wrong result, nothing worse.
pub fn as_scalars(limbs: &[Limbs]) -> &[Fr] {
    // SAFETY: `Fr` holds a `[u64; 4]` and, by the assertion above, nothing else, at the same alignment;
    // every bit pattern is a valid `u64`.
    unsafe { std::slice::from_raw_parts(limbs.as_ptr().cast(), limbs.len()) }
}

/// The same memory read as field elements that may be changed; see [`as_scalars`].
pub fn as_scalars_mut(limbs: &mut [Limbs]) -> &mut [Fr] {
    // SAFETY: as in `as_scalars`; the exclusive borrow carries over.
    unsafe { std::slice::from_raw_parts_mut(limbs.as_mut_ptr().cast(), limbs.len()) }
}

/// Field elements read as their limbs; see [`as_scalars`].
#[cfg(target_arch = "x86_64")]
fn as_limbs(scalars: &[Fr]) -> &[Limbs] {
    // SAFETY: as in `as_scalars`.
    unsafe { std::slice::from_raw_parts(scalars.as_ptr().cast(), scalars.len()) }
}

/// Field elements read as limbs that may be changed; see [`as_scalars`].
#[cfg(target_arch = "x86_64")]
fn as_limbs_mut(scalars: &mut [Fr]) -> &mut [Limbs] {
    // SAFETY: as in `as_scalars`; the exclusive borrow carries over.
    unsafe { std::slice::from_raw_parts_mut(scalars.as_mut_ptr().cast(), scalars.len()) }
}

/// Why an operation could not be done; the message is complete and names the offending index or length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Shorthand of the crate.
pub type Result<T> = std::result::Result<T, Refused>;

pub(crate) fn refuse<T>(message: impl Into<String>) -> Result<T> {
    Err(Refused(message.into()))
}
