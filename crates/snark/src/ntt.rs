//! Number-theoretic transforms on domains of 2^k-th roots of unity, k <= 22.
//!
//! Decimation in frequency: n/2 · log2(n) multiplications, then the bit-reversal permutation. The inverse is
//! the forward transform with its output reversed and scaled, so one set of root tables serves both.
//! Source: Cooley & Tukey 1965 in the ordering of Gentleman & Sande 1966.

use ark_ff::{FftField, Field, One};
use multiscalar_core::published::Published;
use rayon::prelude::*;

use crate::pool::GRAIN;
use crate::{Fr, Limbs, Result, as_scalars_mut, refuse};

/// Largest domain, as a power of two.
pub const MAX_LOG: u32 = 22;

/// Smallest size for vector lanes: below it, setting them up costs more than it saves.
#[cfg(target_arch = "x86_64")]
const LANES_FROM: usize = 32;

/// Layer k: the powers 0 .. 2^k - 1 of the root of order 2^(k+1). Every domain size shares them.
static LAYERS: [Published<Vec<Fr>>; MAX_LOG as usize] = [const { Published::new() }; MAX_LOG as usize];

/// The root of unity of order 2^log that snarkVM uses: 22^((r-1)/2^47), squared 47 - log times.
pub fn root_of_unity(log: u32) -> Fr {
    let mut root = Fr::TWO_ADIC_ROOT_OF_UNITY;
    for _ in log..Fr::TWO_ADICITY {
        root.square_in_place();
    }
    root
}

fn layer(log_half: u32) -> &'static [Fr] {
    LAYERS[log_half as usize].get(|| {
        let root = root_of_unity(log_half + 1);
        let mut power = Fr::one();
        (0..1usize << log_half)
            .map(|_| {
                let current = power;
                power *= root;
                current
            })
            .collect()
    })
}

fn log_size(n: usize) -> Result<u32> {
    if n.is_power_of_two() && n.trailing_zeros() <= MAX_LOG {
        Ok(n.trailing_zeros())
    } else {
        refuse(format!("a transform of {n} elements; sizes are powers of two up to 2^{MAX_LOG}"))
    }
}

/// Coefficients to values: a[i] becomes p(ω^i), in place.
pub fn forward(a: &mut [Limbs]) -> Result<()> {
    log_size(a.len())?;
    if !in_lanes(a, false) {
        portable_forward(as_scalars_mut(a));
    }
    Ok(())
}

/// Values to coefficients, in place: the inverse of [`forward`].
pub fn inverse(a: &mut [Limbs]) -> Result<()> {
    log_size(a.len())?;
    if !in_lanes(a, true) {
        portable_inverse(as_scalars_mut(a));
    }
    Ok(())
}

/// Whether the transform was done in vector lanes: where the CPU has them and there is more than one block.
fn in_lanes(a: &mut [Limbs], inverse: bool) -> bool {
    #[cfg(target_arch = "x86_64")]
    if a.len() >= LANES_FROM
        && let Some(isa) = crate::lanes::available()
    {
        crate::lanes::transform(isa, a, inverse);
        return true;
    }
    let _ = (a, inverse);
    false
}

/// [`forward`] for any CPU.
pub(crate) fn portable_forward(a: &mut [Fr]) {
    let log = a.len().trailing_zeros();
    butterflies(a, log);
    reverse_bits(a, log);
}

/// [`inverse`] for any CPU.
pub(crate) fn portable_inverse(a: &mut [Fr]) {
    portable_forward(a);
    a[1..].reverse();
    let factor = Fr::from(a.len() as u64).inverse().unwrap_or_default();
    a.iter_mut().for_each(|a| *a *= factor);
}

fn butterflies(a: &mut [Fr], log: u32) {
    if log == 0 {
        return;
    }
    let (low, high) = a.split_at_mut(1 << (log - 1));
    let roots = layer(log - 1);
    let step = |low: &mut [Fr], high: &mut [Fr], roots: &[Fr]| {
        for ((u, v), w) in low.iter_mut().zip(high).zip(roots) {
            let difference = *u - *v;
            *u += *v;
            *v = difference * w;
        }
    };
    if low.len() >= 2 * GRAIN {
        low.par_chunks_mut(GRAIN)
            .zip(high.par_chunks_mut(GRAIN))
            .zip(roots.par_chunks(GRAIN))
            .for_each(|((low, high), roots)| step(low, high, roots));
        rayon::join(|| butterflies(low, log - 1), || butterflies(high, log - 1));
    } else {
        step(low, high, roots);
        butterflies(low, log - 1);
        butterflies(high, log - 1);
    }
}

fn reverse_bits(a: &mut [Fr], log: u32) {
    if log < 2 {
        return;
    }
    for i in 0..a.len() {
        let j = i.reverse_bits() >> (usize::BITS - log);
        if i < j {
            a.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_scalars;
    use crate::poly::evaluate;

    fn sample(n: usize) -> Vec<Limbs> {
        (0..n as u64).map(|i| Fr::from(i + 2).pow([5 + i]).0.0).collect()
    }

    #[test]
    fn root_is_the_one_of_the_protocol() {
        let expected = "8065159656716812877374967518403273466521432693661810619979959746626482506078";
        assert_eq!(root_of_unity(47).to_string(), expected);
        assert!(root_of_unity(3).pow([8]).is_one() && !root_of_unity(3).pow([4]).is_one());
    }

    #[test]
    fn values_are_evaluations() {
        for log in 0..8 {
            let p = sample(1 << log);
            let mut values = p.clone();
            forward(&mut values).unwrap();
            let (p, root) = (as_scalars(&p), root_of_unity(log));
            let expected = |i: usize| evaluate(p, root.pow([i as u64]));
            assert!(as_scalars(&values).iter().enumerate().all(|(i, v)| *v == expected(i)));
            let mut portable = p.to_vec();
            portable_forward(&mut portable);
            assert_eq!(portable, as_scalars(&values));
        }
    }

    #[test]
    fn inverse_undoes_on_one_thread_and_many() {
        for log in [0, 1, 5, 14] {
            let p = sample(1 << log);
            let round_trip = || {
                let mut a = p.clone();
                forward(&mut a).unwrap();
                inverse(&mut a).unwrap();
                a
            };
            assert_eq!(crate::pool::with_threads(1, round_trip), p);
            assert_eq!(crate::pool::with_threads(4, round_trip), p);
        }
    }

    #[test]
    fn odd_sizes_are_refused() {
        assert!(forward(&mut sample(12)).unwrap_err().0.contains("12 elements"));
        assert!(inverse(&mut []).is_err());
    }
}
