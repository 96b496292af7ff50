//! Raw operand files: scalars `u64[n, 4]`, points `u64[n, 2, L]`, little-endian limbs, affine, (0, 0) for infinity.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::message::{Failure, Form, Load};

/// Limbs of every scalar, whatever the curve.
pub const SCALAR_LIMBS: usize = 4;

/// One workload as it lies in the files.
pub struct Raw {
    pub n: usize,
    /// Limbs of a coordinate: 4 for BN254, 6 for the BLS12 curves.
    pub limbs: usize,
    pub points: Vec<u64>,
    pub scalars: Vec<u64>,
    pub form: Form,
    pub scalar_form: Form,
}

impl Raw {
    /// Reads both files and holds them to the sizes that `n` demands.
    pub fn read(load: &Load, limbs: usize) -> Result<Self, Failure> {
        Ok(Self {
            n: load.n,
            limbs,
            points: words(&load.points, load.n, 2 * limbs)?,
            scalars: words(&load.scalars, load.n, SCALAR_LIMBS)?,
            form: load.form,
            scalar_form: load.scalar_form,
        })
    }

    /// The coordinates (x, y) of each point; both all-zero for infinity.
    pub fn coordinates(&self) -> impl Iterator<Item = (&[u64], &[u64])> {
        self.points.chunks_exact(2 * self.limbs).map(|point| point.split_at(self.limbs))
    }

    /// Each scalar's limbs.
    pub fn scalar_limbs(&self) -> impl Iterator<Item = [u64; SCALAR_LIMBS]> {
        self.scalars.chunks_exact(SCALAR_LIMBS).map(|s| [s[0], s[1], s[2], s[3]])
    }

    /// Fails unless the scalars are canonical, for libraries that take nothing else.
    pub fn canonical_scalars(&self) -> Result<&[u64], Failure> {
        match self.scalar_form {
            Form::Canonical => Ok(&self.scalars),
            Form::Montgomery => Err(Failure::unsupported("this peer reads canonical scalars only")),
        }
    }
}

/// Whether a point's two coordinates encode infinity.
pub fn is_infinity(x: &[u64], y: &[u64]) -> bool {
    x.iter().chain(y).all(|&limb| limb == 0)
}

fn words(path: &Path, n: usize, words_each: usize) -> Result<Vec<u64>, Failure> {
    let failure = |why: String| Failure::data(format!("{}: {why}", path.display()));
    let wanted = n.checked_mul(words_each * 8).ok_or_else(|| Failure::usage(format!("n = {n} is too large")))?;
    let file = File::open(path).map_err(|e| failure(e.to_string()))?;
    let held = file.metadata().map_err(|e| failure(e.to_string()))?.len();
    if held < wanted as u64 {
        return Err(failure(format!("{held} bytes, n = {n} needs {wanted}")));
    }
    let mut bytes = Vec::with_capacity(wanted);
    file.take(wanted as u64).read_to_end(&mut bytes).map_err(|e| failure(e.to_string()))?;
    Ok(bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect())
}
