//! Polynomials by their coefficients, lowest degree first.
//!
//! Division by X^n - 1 costs no multiplication, evaluation one per coefficient. Division by X - z costs one per coefficient
//! on up to two threads and two on more: it is one long chain, the longest serial work of a large proof.

use ark_ff::{Field, Zero};
use rayon::prelude::*;

use crate::{Fr, Result, refuse};

/// Coefficients that one thread takes at a time.
const BLOCK: usize = 1 << 11;

/// p(z), by Horner's rule on blocks, so that neither threads nor the multiplier's pipeline idle.
pub fn evaluate(p: &[Fr], z: Fr) -> Fr {
    if p.len() <= BLOCK {
        return horner(p, z);
    }
    p.par_chunks(BLOCK).enumerate().map(|(block, p)| horner(p, z) * z.pow([(block * BLOCK) as u64])).sum()
}

fn horner(p: &[Fr], z: Fr) -> Fr {
    p.iter().rev().fold(Fr::zero(), |sum, c| sum * z + c)
}

/// Turns p into q with p = q · (X - z) + p(z), in place (the top coefficient becomes zero); returns p(z).
///
/// Two threads are no faster than one, since every block is passed over twice: once for what it carries into the next
/// one below, once for the quotient.
pub fn divide_linear(p: &mut [Fr], z: Fr) -> Fr {
    if p.len() <= BLOCK || rayon::current_num_threads() <= 2 {
        return divide_block(p, z, Fr::zero());
    }
    let values: Vec<Fr> = p.par_chunks(BLOCK).map(|block| horner(block, z)).collect();
    let step = z.pow([BLOCK as u64]);
    let mut carry = Fr::zero();
    // blocks above a given one, from the top: only the topmost may be short, and nothing is carried into it
    let mut carries: Vec<Fr> = values
        .iter()
        .rev()
        .map(|value| {
            let into = carry;
            carry = carry * step + value;
            into
        })
        .collect();
    carries.reverse();
    p.par_chunks_mut(BLOCK).zip(carries).for_each(|(block, carry)| {
        divide_block(block, z, carry);
    });
    carry
}

/// `divide_linear` of one block, given what the blocks above carry into it; returns what it carries on.
fn divide_block(p: &mut [Fr], z: Fr, mut carry: Fr) -> Fr {
    for c in p.iter_mut().rev() {
        let next = carry * z + *c;
        *c = carry;
        carry = next;
    }
    carry
}

/// p = q · (X^n - 1) + r with r of n coefficients: q is left in `p[n..]`, r in `p[..n]`.
pub fn divide_vanishing(p: &mut [Fr], n: usize) -> Result<()> {
    if n == 0 {
        return refuse("X^0 - 1 is zero; n must be at least 1");
    }
    // q_i = p_{i+n} + q_{i+n}: strided sums from the top; r_i = p_i + q_i
    for i in (0..p.len().saturating_sub(n)).rev() {
        let above = p[i + n];
        p[i] += above;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::with_threads;
    use ark_ff::One;

    fn sample(n: u64) -> Vec<Fr> {
        (0..n).map(|i| Fr::from(i + 2).pow([5 + i])).collect()
    }

    #[test]
    fn evaluation_is_the_sum_of_terms() {
        let (p, z) = (sample(5000), Fr::from(12345));
        let expected: Fr = p.iter().enumerate().map(|(i, c)| z.pow([i as u64]) * c).sum();
        assert_eq!(evaluate(&p, z), expected);
        assert_eq!(evaluate(&[], z), Fr::zero());
    }

    #[test]
    fn linear_division_recombines() {
        let (p, z, at) = (sample(50), Fr::from(9), Fr::from(31));
        let mut q = p.clone();
        let value = divide_linear(&mut q, z);
        assert_eq!(value, evaluate(&p, z));
        assert!(q[49].is_zero());
        assert_eq!(evaluate(&q, at) * (at - z) + value, evaluate(&p, at));
    }

    #[test]
    fn linear_division_is_the_same_on_any_number_of_threads() {
        let z = Fr::from(987_654_321);
        for n in [0, 1, BLOCK, BLOCK + 1, 3 * BLOCK, 5 * BLOCK - 1] {
            let p = sample(n as u64);
            let divided = |threads| {
                let mut q = p.clone();
                let value = with_threads(threads, || divide_linear(&mut q, z));
                (value, q)
            };
            let plain = divided(1);
            assert_eq!(plain.0, evaluate(&p, z));
            for threads in [2, 3, 8] {
                assert_eq!(divided(threads), plain);
            }
        }
    }

    #[test]
    fn vanishing_division_recombines() {
        let at = Fr::from(31);
        for (length, n) in [(50, 16), (16, 16), (7, 16), (33, 16), (64, 16), (5, 1)] {
            let p = sample(length);
            let mut both = p.clone();
            divide_vanishing(&mut both, n).unwrap();
            let (r, q) = both.split_at(n.min(both.len()));
            let vanishing = at.pow([n as u64]) - Fr::one();
            assert_eq!(evaluate(q, at) * vanishing + evaluate(r, at), evaluate(&p, at));
        }
        assert!(divide_vanishing(&mut sample(3), 0).is_err());
    }
}
