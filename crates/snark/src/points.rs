//! Points of BLS12-377 as bytes, and the pairing check of the verifier.
//!
//! The byte forms are snarkVM's. Compressed G1: x, little-endian, 48 bytes; in the last byte bit 7 says that y
//! is the larger root, bit 6 infinity. Uncompressed: x and y, only the infinity flag, in the last byte.

use ark_bls12_377::{Bls12_377, Fq2, G1Affine, G2Affine};
use ark_ec::AffineRepr;
use ark_ec::pairing::Pairing;
use ark_ff::{AdditiveGroup, BigInt, BigInteger, One, PrimeField, Zero};
use rayon::prelude::*;

use crate::{Fq, Refused, Result, refuse};

/// A point of G1, affine.
pub type G1 = G1Affine;
/// A point of G2, affine.
pub type G2 = G2Affine;

/// Bytes of a compressed G1 point, and of one base-field coordinate.
pub const G1_COMPRESSED: usize = 48;
/// Bytes of an uncompressed G1 point.
pub const G1_UNCOMPRESSED: usize = 96;
/// Bytes of an uncompressed G2 point.
pub const G2_UNCOMPRESSED: usize = 192;

const LARGER_ROOT: u8 = 0x80;
const INFINITY: u8 = 0x40;

fn coordinate(bytes: &[u8], flags: u8) -> Option<(Fq, u8)> {
    let mut words = [0u64; 6];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(chunk.try_into().ok()?);
    }
    let found = (words[5] >> 56) as u8 & flags;
    words[5] &= !(u64::from(flags) << 56);
    Some((Fq::from_bigint(BigInt(words))?, found))
}

fn put(value: Fq, out: &mut [u8]) {
    out.copy_from_slice(&value.into_bigint().to_bytes_le());
}

/// Reads a compressed point and checks that it lies in the subgroup. Canonical encodings only.
pub fn decompress(bytes: &[u8]) -> Result<G1> {
    if bytes.len() != G1_COMPRESSED {
        return refuse(format!("a compressed point has {G1_COMPRESSED} bytes, not {}", bytes.len()));
    }
    let Some((x, flags)) = coordinate(bytes, LARGER_ROOT | INFINITY) else {
        return refuse("x is not below the field modulus");
    };
    if flags & INFINITY != 0 {
        let plain = x.is_zero() && flags == INFINITY;
        return if plain { Ok(G1::zero()) } else { refuse("infinity with other bits set") };
    }
    let Some(point) = G1::get_point_from_x_unchecked(x, flags & LARGER_ROOT != 0) else {
        return refuse("no point of the curve has this x");
    };
    in_subgroup(point)
}

/// Writes a point in compressed form.
pub fn compress(point: &G1) -> [u8; G1_COMPRESSED] {
    let mut out = [0; G1_COMPRESSED];
    if point.is_zero() {
        out[G1_COMPRESSED - 1] = INFINITY;
        return out;
    }
    put(point.x, &mut out);
    if point.y > -point.y {
        out[G1_COMPRESSED - 1] |= LARGER_ROOT;
    }
    out
}

/// Reads an uncompressed G1 point; `subgroup` asks for the subgroup, otherwise only the curve is checked.
pub fn read_g1(bytes: &[u8], subgroup: bool) -> Result<G1> {
    if bytes.len() != G1_UNCOMPRESSED {
        return refuse(format!("an uncompressed point has {G1_UNCOMPRESSED} bytes, not {}", bytes.len()));
    }
    let (x, y) = bytes.split_at(G1_COMPRESSED);
    let (Some((x, _)), Some((y, flags))) = (coordinate(x, 0), coordinate(y, INFINITY)) else {
        return refuse("a coordinate is not below the field modulus");
    };
    if flags != 0 {
        return Ok(G1::zero());
    }
    let point = G1::new_unchecked(x, y);
    if !point.is_on_curve() {
        return refuse("not a point of the curve");
    }
    if subgroup { in_subgroup(point) } else { Ok(point) }
}

/// Reads an uncompressed G2 point and checks curve and subgroup. Infinity is refused: no SRS holds it.
pub fn read_g2(bytes: &[u8]) -> Result<G2> {
    if bytes.len() != G2_UNCOMPRESSED {
        return refuse(format!("a point of G2 has {G2_UNCOMPRESSED} bytes, not {}", bytes.len()));
    }
    let mut parts = [Fq::ZERO; 4];
    for (part, chunk) in parts.iter_mut().zip(bytes.chunks_exact(G1_COMPRESSED)) {
        match coordinate(chunk, 0) {
            Some((value, _)) => *part = value,
            None => return refuse("a coordinate is not below the field modulus"),
        }
    }
    let point = G2::new_unchecked(Fq2::new(parts[0], parts[1]), Fq2::new(parts[2], parts[3]));
    if !point.is_zero() && point.is_on_curve() && point.is_in_correct_subgroup_assuming_on_curve() {
        Ok(point)
    } else {
        refuse("not a point of the subgroup of G2")
    }
}

/// Reads points one by one, in parallel; the first that is refused is named by its index.
pub fn read_all<T: Sync>(encoded: &[T], read: impl Fn(&T) -> Result<G1> + Sync + Send) -> Result<Vec<G1>> {
    let read_one = |(i, one): (usize, &T)| read(one).map_err(|e| Refused(format!("point {i}: {e}")));
    encoded.par_iter().enumerate().map(read_one).collect()
}

/// A point from canonical limbs x, y; infinity is all zeros. Only the range is checked.
pub fn from_limbs(limbs: &[u64; 12]) -> Result<G1> {
    if limbs.iter().all(|limb| *limb == 0) {
        return Ok(G1::zero());
    }
    let part = |at: usize| Fq::from_bigint(BigInt(std::array::from_fn(|i| limbs[at + i])));
    match (part(0), part(6)) {
        (Some(x), Some(y)) => Ok(G1::new_unchecked(x, y)),
        _ => refuse("a coordinate is not below the field modulus"),
    }
}

/// Canonical limbs x, y of a point; infinity is all zeros.
pub fn to_limbs(point: &G1) -> [u64; 12] {
    let mut limbs = [0; 12];
    if !point.is_zero() {
        limbs[..6].copy_from_slice(&point.x.into_bigint().0);
        limbs[6..].copy_from_slice(&point.y.into_bigint().0);
    }
    limbs
}

fn in_subgroup(point: G1) -> Result<G1> {
    if point.is_in_correct_subgroup_assuming_on_curve() {
        Ok(point)
    } else {
        refuse("the point is on the curve but not in the subgroup")
    }
}

/// Whether Π e(a_i, b_i) = 1: one Miller loop a pair, one final exponentiation.
pub fn pairing_product_is_one(g1: &[G1], g2: &[G2]) -> Result<bool> {
    if g1.len() != g2.len() {
        return refuse(format!("{} points of G1 for {} of G2", g1.len(), g2.len()));
    }
    Ok(Bls12_377::multi_pairing(g1, g2).0.is_one())
}

/// base · s for every scalar: the seeded test setup. 8-bit windows, 32 additions a point.
pub fn fixed_base_multiples(base: G1, scalars: &[crate::Fr]) -> Vec<G1> {
    use ark_ec::scalar_mul::BatchMulPreprocessing;
    if scalars.is_empty() {
        return Vec::new();
    }
    BatchMulPreprocessing::new(base.into_group(), scalars.len()).batch_mul(scalars)
}

/// The usual generator of G2.
pub fn g2_generator() -> G2 {
    G2::generator()
}

/// base · k in G2.
pub fn g2_multiple(base: G2, k: crate::Fr) -> G2 {
    (base * k).into()
}

/// Writes a point of G2, uncompressed.
pub fn g2_bytes(point: &G2) -> Vec<u8> {
    let mut out = vec![0; G2_UNCOMPRESSED];
    let parts = [point.x.c0, point.x.c1, point.y.c0, point.y.c1];
    for (part, chunk) in parts.into_iter().zip(out.chunks_exact_mut(G1_COMPRESSED)) {
        put(part, chunk);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fr;

    fn small_order_or_outside() -> G1 {
        // the first x whose point is not in the subgroup
        let mut x = Fq::one();
        loop {
            if let Some(p) = G1::get_point_from_x_unchecked(x, false)
                && !p.is_in_correct_subgroup_assuming_on_curve()
            {
                return p;
            }
            x += Fq::one();
        }
    }

    #[test]
    fn compression_round_trips() {
        for k in [1u64, 2, 3, 1000] {
            let p: G1 = (G1::generator() * Fr::from(k)).into();
            assert_eq!(decompress(&compress(&p)).unwrap(), p);
            let n: G1 = (-p.into_group()).into();
            assert_eq!(decompress(&compress(&n)).unwrap(), n);
        }
        assert!(decompress(&compress(&G1::zero())).unwrap().is_zero());
    }

    #[test]
    fn limbs_round_trip_and_reading_names_the_bad_one() {
        let p: G1 = (G1::generator() * Fr::from(5u64)).into();
        assert_eq!(from_limbs(&to_limbs(&p)).unwrap(), p);
        assert!(from_limbs(&to_limbs(&G1::zero())).unwrap().is_zero());
        assert!(from_limbs(&[u64::MAX; 12]).is_err());
        let encoded = [compress(&p), [0xff; 48]];
        assert!(read_all(&encoded, |e| decompress(e)).unwrap_err().0.starts_with("point 1: "));
    }

    #[test]
    fn multiples_of_one_base() {
        let scalars: Vec<Fr> = (0..40u64).map(|k| Fr::from(k * k + 1)).collect();
        let found = fixed_base_multiples(G1::generator(), &scalars);
        assert!(found.iter().zip(&scalars).all(|(p, s)| *p == G1::from(G1::generator() * s)));
        assert!(fixed_base_multiples(G1::generator(), &[]).is_empty());
    }

    #[test]
    fn bad_points_are_refused() {
        assert!(decompress(&[0xff; 48]).is_err());
        assert!(decompress(&[0; 47]).is_err());
        let mut infinity = compress(&G1::zero());
        infinity[0] = 1;
        assert!(decompress(&infinity).unwrap_err().0.contains("infinity"));
        assert!(decompress(&compress(&small_order_or_outside())).unwrap_err().0.contains("subgroup"));
        assert!(read_g1(&[1; 96], false).unwrap_err().0.contains("not a point"));
        assert!(read_g2(&[0; 192]).is_err());
    }

    #[test]
    fn pairing_is_bilinear() {
        let (p, q) = (G1::generator(), G2::generator());
        let a: G1 = (p * Fr::from(6u64)).into();
        let b: G1 = (-(p * Fr::from(2u64))).into();
        let c: G2 = (q * Fr::from(3u64)).into();
        assert!(pairing_product_is_one(&[a, b], &[q, c]).unwrap());
        assert!(!pairing_product_is_one(&[a, a], &[q, c]).unwrap());
        assert!(pairing_product_is_one(&[a], &[]).is_err());
    }
}
