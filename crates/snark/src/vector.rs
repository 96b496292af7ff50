//! Elementwise operations on vectors of scalars.
//!
//! Cost per element in multiplications: add, sub 0; mul, scale, add_scaled 1; powers 1; invert 3 (and one
//! inversion per thread and vector: Montgomery's trick). All are split over the threads of the current pool.

use ark_ff::{BigInt, Field, One, PrimeField, Zero};
use rayon::prelude::*;

use crate::pool::GRAIN;
use crate::{Fr, Limbs, Result, as_scalars, as_scalars_mut, refuse};

fn same_length(a: usize, b: usize) -> Result<()> {
    if a == b { Ok(()) } else { refuse(format!("vectors of {a} and {b} elements; they must be of one length")) }
}

/// The part of an operation that vector lanes take; each returns how many elements are done, from the first.
#[cfg(target_arch = "x86_64")]
mod lanes {
    use crate::lanes::{self, available};
    use crate::{Fr, as_limbs, as_limbs_mut};

    pub fn multiply(a: &mut [Fr], b: &[Fr]) -> usize {
        available().map_or(0, |isa| lanes::multiply(isa, as_limbs_mut(a), as_limbs(b)))
    }

    pub fn scale(a: &mut [Fr], k: Fr) -> usize {
        available().map_or(0, |isa| lanes::scale(isa, as_limbs_mut(a), k))
    }

    pub fn add_scaled(a: &mut [Fr], k: Fr, b: &[Fr]) -> usize {
        available().map_or(0, |isa| lanes::add_scaled(isa, as_limbs_mut(a), k, as_limbs(b)))
    }
}

/// No lanes on this architecture.
#[cfg(not(target_arch = "x86_64"))]
mod lanes {
    use crate::Fr;

    pub fn multiply(_: &mut [Fr], _: &[Fr]) -> usize {
        0
    }

    pub fn scale(_: &mut [Fr], _: Fr) -> usize {
        0
    }

    pub fn add_scaled(_: &mut [Fr], _: Fr, _: &[Fr]) -> usize {
        0
    }
}

/// Calls `op` with pieces of both vectors, on the threads of the pool if there is more than one piece.
fn pieces(a: &mut [Fr], b: &[Fr], op: impl Fn(&mut [Fr], &[Fr]) + Sync) -> Result<()> {
    same_length(a.len(), b.len())?;
    if a.len() <= GRAIN {
        op(a, b);
    } else {
        a.par_chunks_mut(GRAIN).zip(b.par_chunks(GRAIN)).for_each(|(a, b)| op(a, b));
    }
    Ok(())
}

fn zip(a: &mut [Fr], b: &[Fr], op: impl Fn(&mut Fr, &Fr) + Sync) -> Result<()> {
    pieces(a, b, |a, b| a.iter_mut().zip(b).for_each(|(a, b)| op(a, b)))
}

/// Calls `op` with the number of each piece and the piece.
fn numbered<T: Send>(a: &mut [T], op: impl Fn(usize, &mut [T]) + Sync) {
    if a.len() <= GRAIN {
        op(0, a);
    } else {
        a.par_chunks_mut(GRAIN).enumerate().for_each(|(i, a)| op(i, a));
    }
}

fn each(a: &mut [Fr], op: impl Fn(&mut Fr) + Sync) {
    numbered(a, |_, a| a.iter_mut().for_each(&op));
}

/// a += b.
pub fn add(a: &mut [Fr], b: &[Fr]) -> Result<()> {
    zip(a, b, |a, b| *a += b)
}

/// a -= b.
pub fn sub(a: &mut [Fr], b: &[Fr]) -> Result<()> {
    zip(a, b, |a, b| *a -= b)
}

/// a *= b, element by element.
pub fn mul(a: &mut [Fr], b: &[Fr]) -> Result<()> {
    pieces(a, b, |a, b| {
        let done = lanes::multiply(a, b);
        a[done..].iter_mut().zip(&b[done..]).for_each(|(a, b)| *a *= b);
    })
}

/// a += k b.
pub fn add_scaled(a: &mut [Fr], k: Fr, b: &[Fr]) -> Result<()> {
    if k.is_one() {
        return add(a, b);
    }
    pieces(a, b, |a, b| {
        let done = lanes::add_scaled(a, k, b);
        a[done..].iter_mut().zip(&b[done..]).for_each(|(a, b)| *a += k * b);
    })
}

/// a *= k.
pub fn scale(a: &mut [Fr], k: Fr) {
    if k.is_one() {
        return;
    }
    numbered(a, |_, a| {
        let done = lanes::scale(a, k);
        a[done..].iter_mut().for_each(|a| *a *= k);
    });
}

/// a = k - a.
pub fn subtract_from(a: &mut [Fr], k: Fr) {
    each(a, |a| *a = k - *a);
}

/// out[i] = first · base^i.
pub fn powers(out: &mut [Fr], first: Fr, base: Fr) {
    numbered(out, |block, out| {
        let mut power = first * base.pow([(block * GRAIN) as u64]);
        for slot in out {
            *slot = power;
            power *= base;
        }
    });
}

/// a = 1/a, element by element; a zero is refused with its index, and `a` is then unspecified.
pub fn invert(a: &mut [Fr]) -> Result<()> {
    if let Some(index) = a.iter().position(Fr::is_zero) {
        return refuse(format!("element {index} is zero and has no inverse"));
    }
    if a.len() <= GRAIN {
        invert_piece(a);
    } else {
        let block = a.len().div_ceil(rayon::current_num_threads()).max(GRAIN);
        a.par_chunks_mut(block).for_each(invert_piece);
    }
    Ok(())
}

/// Montgomery's trick on elements of which none is zero.
fn invert_piece(a: &mut [Fr]) {
    let mut prefix = Vec::with_capacity(a.len());
    let mut product = Fr::one();
    for value in a.iter() {
        prefix.push(product);
        product *= value;
    }
    // the product of non-zero elements is not zero
    let mut suffix = product.inverse().unwrap_or_default();
    for (value, before) in a.iter_mut().zip(&prefix).rev() {
        let inverse = suffix * before;
        suffix *= *value;
        *value = inverse;
    }
}

/// Σ a[i] b[i].
pub fn dot(a: &[Fr], b: &[Fr]) -> Result<Fr> {
    same_length(a.len(), b.len())?;
    let piece = |(a, b): (&[Fr], &[Fr])| a.iter().zip(b).map(|(a, b)| *a * b).sum::<Fr>();
    if a.len() <= GRAIN {
        return Ok(piece((a, b)));
    }
    Ok(a.par_chunks(GRAIN).zip(b.par_chunks(GRAIN)).map(piece).sum())
}

/// Montgomery form of canonical values, in place; a value at or above r is refused with its index.
pub fn from_canonical(a: &mut [Limbs]) -> Result<()> {
    if let Some(index) = a.iter().position(|limbs| BigInt(*limbs) >= Fr::MODULUS) {
        return refuse(format!("scalar {index} is not below the group order r"));
    }
    // r < 2^253, so a limb vector below r is a valid residue; times R gives its Montgomery form
    let r2 = Fr::from_bigint(BigInt(montgomery_of_one())).unwrap_or_default();
    each(as_scalars_mut(a), |a| *a *= r2);
    Ok(())
}

/// Canonical values of elements in Montgomery form, in place.
pub fn to_canonical(a: &mut [Limbs]) {
    numbered(a, |_, a| {
        for limbs in a {
            *limbs = as_scalars(std::slice::from_ref(limbs))[0].into_bigint().0;
        }
    });
}

/// R mod r as an integer: what 1 looks like in Montgomery form.
fn montgomery_of_one() -> Limbs {
    Fr::one().0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(n: u64) -> Vec<Fr> {
        (0..n).map(|i| Fr::from(i * i + 3) * Fr::from(0x9e37_79b9_7f4a_7c15u64 ^ i)).collect()
    }

    #[test]
    fn elementwise_operations_are_the_field_ones() {
        let (a, b, k) = (sample(3000), sample(3000).into_iter().rev().collect::<Vec<_>>(), Fr::from(77));
        let check = |op: &dyn Fn(&mut [Fr]), expected: &dyn Fn(Fr, Fr) -> Fr| {
            let mut out = a.clone();
            op(&mut out);
            assert!(out.iter().zip(a.iter().zip(&b)).all(|(o, (a, b))| *o == expected(*a, *b)));
        };
        check(&|o| add(o, &b).unwrap(), &|a, b| a + b);
        check(&|o| sub(o, &b).unwrap(), &|a, b| a - b);
        check(&|o| mul(o, &b).unwrap(), &|a, b| a * b);
        check(&|o| add_scaled(o, k, &b).unwrap(), &|a, b| a + k * b);
        check(&|o| scale(o, k), &|a, _| a * k);
        check(&|o| subtract_from(o, k), &|a, _| k - a);
        check(&|o| invert(o).unwrap(), &|a, _| a.inverse().unwrap());
        assert_eq!(dot(&a, &b).unwrap(), a.iter().zip(&b).map(|(a, b)| *a * b).sum::<Fr>());
    }

    #[test]
    fn powers_continue_across_blocks() {
        let (first, base) = (Fr::from(5), Fr::from(7));
        let mut out = vec![Fr::zero(); 2 * GRAIN + 3];
        powers(&mut out, first, base);
        assert_eq!(out[0], first);
        assert!(out.windows(2).all(|w| w[1] == w[0] * base));
    }

    #[test]
    fn canonical_and_back() {
        let mut limbs: Vec<Limbs> = (0..5).map(|i| [i, 1, 2, 3]).collect();
        let before = limbs.clone();
        from_canonical(&mut limbs).unwrap();
        assert!(as_scalars(&limbs).iter().zip(&before).all(|(a, b)| a.into_bigint().0 == *b));
        to_canonical(&mut limbs);
        assert_eq!(limbs, before);
        limbs[3] = Fr::MODULUS.0;
        assert!(from_canonical(&mut limbs).unwrap_err().0.contains("scalar 3"));
    }

    #[test]
    fn refusals_name_the_index_and_lengths() {
        let mut a = sample(9);
        a[4] = Fr::zero();
        assert!(invert(&mut a).unwrap_err().0.contains("element 4"));
        assert!(add(&mut a, &sample(8)).unwrap_err().0.contains("9 and 8"));
    }
}
