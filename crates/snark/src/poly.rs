//! Polynomials by their coefficients, lowest degree first.
//!
//! Division by X^n - 1 costs no multiplication, evaluation and division by X - z one per coefficient.

use ark_ff::Zero;
use rayon::prelude::*;

use crate::{Fr, Result, refuse};

/// p(z), by Horner's rule on blocks, so that neither threads nor the multiplier's pipeline idle.
pub fn evaluate(p: &[Fr], z: Fr) -> Fr {
    use ark_ff::Field;
    const BLOCK: usize = 1 << 11;
    if p.len() <= BLOCK {
        return horner(p, z);
    }
    p.par_chunks(BLOCK).enumerate().map(|(block, p)| horner(p, z) * z.pow([(block * BLOCK) as u64])).sum()
}

fn horner(p: &[Fr], z: Fr) -> Fr {
    p.iter().rev().fold(Fr::zero(), |sum, c| sum * z + c)
}

/// Turns p into q with p = q · (X - z) + p(z), in place (the top coefficient becomes zero); returns p(z).
pub fn divide_linear(p: &mut [Fr], z: Fr) -> Fr {
    let mut carry = Fr::zero();
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
    use ark_ff::{Field, One};

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
