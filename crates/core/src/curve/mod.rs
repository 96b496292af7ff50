//! Curves y^2 = x^3 + b and their points.

mod affine;
pub mod endo;
mod jacobian;
pub mod tables;

use core::fmt::Debug;

use crate::field::{Field, PrimeField};

pub use affine::Affine;
pub use jacobian::Jacobian;

/// A curve y^2 = x^3 + b with a subgroup of prime order, generated from `curves/*.toml`.
pub trait CurveParams: Copy + Debug + Eq + Send + Sync + 'static {
    /// The field of the coordinates.
    type Field: Field;
    /// Integers modulo the group order.
    type Scalar: PrimeField<Limbs = [u64; 4]>;
    /// The curve's name.
    const NAME: &'static str;
    /// Names of the byte encodings that are defined for its points.
    const CODECS: &'static [&'static str];
    /// The coefficient b; not zero.
    const B: Self::Field;
    /// Order of the curve over order of the subgroup.
    const COFACTOR: &'static [u64];
    /// A generator of the subgroup.
    const GENERATOR: (Self::Field, Self::Field);
    /// The endomorphism of the curve.
    const ENDOMORPHISM: Endomorphism<Self::Field>;
}

/// A signed integer: (is negative, magnitude).
pub type Signed<const N: usize> = (bool, [u64; N]);

/// phi(x, y) = (beta x, y), which is multiplication by lambda on the subgroup, and how to split a scalar by it.
///
/// With c_i = round(k g_i / 2^384), g the `rounding` constants, (k1, k2) = (k, 0) - c1 v1 - c2 v2 satisfies
/// k = k1 + k2 lambda mod r and |k_i| < 2^bits.
#[derive(Clone, Copy, Debug)]
pub struct Endomorphism<F> {
    /// Cube root of unity in the field.
    pub beta: F,
    /// The same modulo the group order.
    pub lambda: [u64; 4],
    /// Two short vectors (u, v) with u + v lambda = 0 mod r.
    pub lattice: [[Signed<2>; 2]; 2],
    /// round(2^384 b_2 / r) and round(-2^384 b_1 / r), of the second coordinates of the lattice rows.
    pub rounding: [Signed<5>; 2],
    /// Bound on the bit length of the halves.
    pub bits: u32,
}
