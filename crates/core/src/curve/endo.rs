//! The endomorphism phi(x, y) = (beta x, y) and the split of a scalar into two halves by it (GLV).
//!
//! Cost: phi is 1M; a split is 52 word multiplications and no division.
//! Source: Gallant, Lambert, Vanstone, "Faster point multiplication on elliptic curves with efficient endomorphisms",
//! CRYPTO 2001; division by rounding constants as in "Guide to Elliptic Curve Cryptography", section 3.5.
//!
//! phi is multiplication by lambda only on the subgroup of order r: whoever uses a split must know that the point is in it.

use super::{Affine, CurveParams, Signed};
use crate::field::PrimeField;
use crate::field::limbs::{adc, mac};

/// (k1, k2) with k = k1 + k2·lambda mod r and |k1|, |k2| < 2^bits, for k < r.
///
/// The halves are taken modulo 2^128 all along: they are shorter than that, so nothing is lost.
#[inline]
pub fn split<C: CurveParams>(k: &[u64; 4]) -> [i128; 2] {
    const { assert!(C::ENDOMORPHISM.bits <= 127, "a half must fit a signed 128-bit integer") };
    let endomorphism = &C::ENDOMORPHISM;
    let mut halves = [u128::from(k[0]) | u128::from(k[1]) << 64, 0];
    for (row, rounding) in endomorphism.lattice.iter().zip(&endomorphism.rounding) {
        let multiple = rounded_product(k, rounding);
        for (half, &(negative, [low, high])) in halves.iter_mut().zip(row) {
            let term = multiple.wrapping_mul(u128::from(low) | u128::from(high) << 64);
            *half = if negative { half.wrapping_add(term) } else { half.wrapping_sub(term) };
        }
    }
    halves.map(|half| half as i128)
}

/// round(k·g / 2^384) modulo 2^128.
#[inline]
fn rounded_product(k: &[u64; 4], &(negative, g): &Signed<5>) -> u128 {
    let mut product = [0; 9];
    for (i, &word) in k.iter().enumerate() {
        let mut carry = 0;
        for (j, &factor) in g.iter().enumerate() {
            (product[i + j], carry) = mac(product[i + j], word, factor, carry);
        }
        product[i + 5] = carry;
    }
    let (low, carry) = adc(product[6], 0, product[5] >> 63);
    let magnitude = u128::from(low) | u128::from(product[7].wrapping_add(carry)) << 64;
    if negative { magnitude.wrapping_neg() } else { magnitude }
}

/// Whether lambda^2 + lambda + 1 = r as integers.
pub fn minimal_polynomial_is_order<C: CurveParams>() -> bool {
    let [low, high, 0, 0] = C::ENDOMORPHISM.lambda else { return false };
    let (mut sum, mut carry) = ([low, high, 0, 0], 1);
    for (i, word) in [low, high].into_iter().enumerate() {
        let mut overflow = 0;
        for (j, factor) in [low, high].into_iter().enumerate() {
            (sum[i + j], overflow) = mac(sum[i + j], word, factor, overflow);
        }
        for limb in &mut sum[i + 2..] {
            (*limb, overflow) = adc(*limb, overflow, 0);
        }
    }
    for limb in &mut sum {
        (*limb, carry) = adc(*limb, carry, 0);
    }
    sum == C::Scalar::MODULUS
}

/// phi(P): lambda·P for P in the subgroup of order r.
#[inline(always)]
pub fn phi<C: CurveParams>(point: &Affine<C>) -> Affine<C> {
    Affine { x: point.x * C::ENDOMORPHISM.beta, y: point.y }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::tables::{bls12_377, bls12_381, bn254};
    use crate::field::{Field, PrimeField, limbs};

    /// Zero, one, r−1, r−2, lambda and its neighbours, multiples of 2^64, the vectors' own words, random values.
    fn scalars<C: CurveParams>() -> Vec<[u64; 4]> {
        let r = C::Scalar::MODULUS;
        let lambda = C::ENDOMORPHISM.lambda;
        let mut values = vec![[0; 4], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [u64::MAX, u64::MAX, 0, 0]];
        for small in 1..20 {
            let small = [small, 0, 0, 0];
            values.extend([limbs::sub(&r, &small).0, limbs::sub(&lambda, &small).0, limbs::add(&lambda, &small).0]);
            values.push(limbs::sub(&r, &limbs::add(&lambda, &small).0).0);
        }
        values.extend(C::ENDOMORPHISM.lattice.iter().flatten().map(|(_, [low, high])| [*low, *high, 0, 0]));
        let mut state = 0x2545_f491_4f6c_dd1du64;
        values.extend((0..2000).map(|_| {
            let mut value = core::array::from_fn(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            });
            value[3] %= r[3];
            value
        }));
        values
    }

    fn scalar<C: CurveParams>(half: i128) -> C::Scalar {
        let magnitude = half.unsigned_abs();
        let value = C::Scalar::from_canonical([magnitude as u64, (magnitude >> 64) as u64, 0, 0]).unwrap();
        if half < 0 { -value } else { value }
    }

    fn splits_are_exact_and_short<C: CurveParams>() {
        let lambda = C::Scalar::from_canonical(C::ENDOMORPHISM.lambda).unwrap();
        for k in scalars::<C>() {
            let [first, second] = split::<C>(&k);
            assert_eq!(scalar::<C>(first) + scalar::<C>(second) * lambda, C::Scalar::from_canonical(k).unwrap());
            for half in [first, second] {
                assert!(half.unsigned_abs() >> C::ENDOMORPHISM.bits == 0, "{k:x?} gives {half:x}");
            }
        }
    }

    fn phi_is_lambda<C: CurveParams>() {
        let point = Affine::<C>::GENERATOR.mul_limbs(&[0x1234_5678_9abc_def1, 7]).to_affine();
        assert!(point.mul_limbs(&C::ENDOMORPHISM.lambda) == phi(&point).into());
        assert!(phi(&Affine::<C>::INFINITY).is_infinity() && C::ENDOMORPHISM.beta != C::Field::ONE);
    }

    macro_rules! every_curve {
        ($($name:ident),*) => {$(
            #[test]
            fn $name() {
                splits_are_exact_and_short::<$name::G1>();
                phi_is_lambda::<$name::G1>();
            }
        )*};
    }

    every_curve!(bn254, bls12_377, bls12_381);
}
