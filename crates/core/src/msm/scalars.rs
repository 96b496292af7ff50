//! The scalars of a call, in the caller's own array.

use super::MsmError;
use crate::field::{PrimeField, limbs};

/// Scalars, borrowed from the caller. Narrow integers are taken as they are.
#[derive(Clone, Copy, Debug)]
pub enum Scalars<'a> {
    /// Plain integers of 256 bits, little-endian limbs.
    Canonical(&'a [[u64; 4]]),
    /// Montgomery form with R = 2^256.
    Montgomery(&'a [[u64; 4]]),
    /// 64-bit integers.
    U64(&'a [u64]),
    /// 32-bit integers.
    U32(&'a [u32]),
    /// 16-bit integers.
    U16(&'a [u16]),
    /// 8-bit integers.
    U8(&'a [u8]),
    /// Truth values, one a byte; anything but zero is one.
    Bool(&'a [u8]),
}

impl<'a> Scalars<'a> {
    /// Number of scalars.
    pub fn len(&self) -> usize {
        match self {
            Self::Canonical(values) | Self::Montgomery(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U16(values) => values.len(),
            Self::U8(values) | Self::Bool(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The array as limbs of plain integers, and the limbs of one scalar, where that is what it is.
    pub(super) fn limbs(&self) -> Option<(&'a [u64], usize)> {
        match *self {
            Self::Canonical(values) => Some((values.as_flattened(), 4)),
            Self::U64(values) => Some((values, 1)),
            _ => None,
        }
    }

    /// The i-th scalar as a plain integer below the modulus of `S`; refused, or reduced, if it is not below.
    pub(super) fn get<S: PrimeField<Limbs = [u64; 4]>>(&self, i: usize, reduce: bool) -> Result<[u64; 4], MsmError> {
        let plain = |values: &[[u64; 4]]| match (limbs::less(&values[i], &S::MODULUS), reduce) {
            (true, _) => Ok(values[i]),
            (false, true) => Ok(reduced::<S>(values[i])),
            (false, false) => Err(MsmError::ScalarRange { index: i }),
        };
        match self {
            Self::Canonical(values) => plain(values),
            Self::Montgomery(values) => Ok(S::from_mont(plain(values)?).to_canonical()),
            Self::U64(values) => Ok([values[i], 0, 0, 0]),
            Self::U32(values) => Ok([values[i].into(), 0, 0, 0]),
            Self::U16(values) => Ok([values[i].into(), 0, 0, 0]),
            Self::U8(values) => Ok([values[i].into(), 0, 0, 0]),
            Self::Bool(values) => Ok([(values[i] != 0).into(), 0, 0, 0]),
        }
    }
}

/// value mod the modulus of `S`, by subtraction: a modulus of b bits is at most 2^(257 - b) times below 2^256.
fn reduced<S: PrimeField<Limbs = [u64; 4]>>(mut value: [u64; 4]) -> [u64; 4] {
    while !limbs::less(&value, &S::MODULUS) {
        value = limbs::sub(&value, &S::MODULUS).0;
    }
    value
}
