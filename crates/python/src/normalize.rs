//! Sums that a device leaves in projective form, as affine points. Cost: five multiplications a sum and one inversion.
//! Source: Montgomery, Speeding the Pollard and elliptic curve methods, 1987 (one inversion for all).

use multiscalar_core::curve::CurveParams;
use multiscalar_core::field::{Field, Limbs};

/// Turns (X : Y : Z), each in any representative of its Montgomery form, into canonical (X/Z, Y/Z), or (0, 0) when
/// Z = 0. The Montgomery factor cancels in the quotients. `projective` is `[n][3][L]`, `out` is `[n][2][L]`.
///
/// Returns the first sum that is (0 : 0 : 0), which is no point: complete formulas (Renes, Costello, Batina 2016) leave it
/// where they added points whose difference has order two, and from there it spreads to the result.
pub fn normalize<C: CurveParams>(projective: &[u64], out: &mut [u64]) -> Option<usize> {
    let count = <C::Field as Field>::Limbs::COUNT;
    let modulus = modulus::<C::Field>();
    let sums: Vec<[C::Field; 3]> = projective
        .chunks_exact(3 * count)
        .map(|sum| [0, 1, 2].map(|k| element::<C::Field>(&sum[k * count..(k + 1) * count], &modulus)))
        .collect();
    let mut product = C::Field::ONE;
    let before: Vec<C::Field> = sums
        .iter()
        .map(|[_, _, z]| {
            let before = product;
            product = if z.is_zero() { product } else { product * *z };
            before
        })
        .collect();
    // A product of values that are not zero has an inverse. It is written without its Montgomery factor, as are then its
    // multiples: the last multiplications leave canonical coordinates.
    let inverse = product.invert().unwrap_or(C::Field::ONE);
    let mut inverse = C::Field::from_mont(inverse.to_canonical());
    let mut exceptional = None;
    for (i, point) in out.chunks_exact_mut(2 * count).enumerate().rev() {
        let [x, y, z] = sums[i];
        point.fill(0);
        if !z.is_zero() {
            let own = inverse * before[i];
            inverse = inverse * z;
            point[..count].copy_from_slice((x * own).to_mont().as_ref());
            point[count..].copy_from_slice((y * own).to_mont().as_ref());
        } else if x.is_zero() && y.is_zero() {
            exceptional = Some(i);
        }
    }
    exceptional
}

/// p, which is odd, from the largest canonical value p - 1.
fn modulus<F: Field>() -> F::Limbs {
    let mut limbs = (-F::ONE).to_canonical();
    limbs.as_mut()[0] |= 1;
    limbs
}

/// The element whose Montgomery form is `limbs` modulo p.
fn element<F: Field>(limbs: &[u64], modulus: &F::Limbs) -> F {
    let mut reduced = F::Limbs::ZERO;
    reduced.as_mut().copy_from_slice(limbs);
    while !F::is_reduced(&reduced) {
        let mut borrow = false;
        for (limb, p) in reduced.as_mut().iter_mut().zip(modulus.as_ref()) {
            let (difference, under) = limb.overflowing_sub(*p);
            let (difference, under_again) = difference.overflowing_sub(u64::from(borrow));
            (*limb, borrow) = (difference, under | under_again);
        }
    }
    F::from_mont(reduced)
}
