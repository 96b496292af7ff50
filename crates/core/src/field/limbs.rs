//! Carry arithmetic on little-endian 64-bit limbs. Everything unrolls for a constant N.

/// a + b + carry: (low, carry).
#[inline(always)]
pub const fn adc(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let t = a as u128 + b as u128 + carry as u128;
    (t as u64, (t >> 64) as u64)
}

/// a - b - borrow: (low, borrow of 0 or 1).
#[inline(always)]
pub const fn sbb(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let (t, first) = a.overflowing_sub(b);
    let (t, second) = t.overflowing_sub(borrow);
    (t, (first | second) as u64)
}

/// a + b * c + carry: (low, high). Cannot overflow.
#[inline(always)]
pub const fn mac(a: u64, b: u64, c: u64, carry: u64) -> (u64, u64) {
    let t = a as u128 + (b as u128) * (c as u128) + carry as u128;
    (t as u64, (t >> 64) as u64)
}

/// a + b: (sum, carry).
#[inline(always)]
pub fn add<const N: usize>(a: &[u64; N], b: &[u64; N]) -> ([u64; N], u64) {
    let (mut sum, mut carry) = ([0; N], 0);
    for i in 0..N {
        (sum[i], carry) = add_word(a[i], b[i], carry);
    }
    (sum, carry.into())
}

/// a - b: (difference, borrow).
#[inline(always)]
pub fn sub<const N: usize>(a: &[u64; N], b: &[u64; N]) -> ([u64; N], u64) {
    let (mut difference, mut borrow) = ([0; N], 0);
    for i in 0..N {
        (difference[i], borrow) = sub_word(a[i], b[i], borrow);
    }
    (difference, borrow.into())
}

/// `adc` by the instruction of that name: compilers lose the carry flag in longer chains of the plain form.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unused_unsafe, reason = "safe since Rust 1.94 or so")]
fn add_word(a: u64, b: u64, carry: u8) -> (u64, u8) {
    let mut sum = 0;
    // SAFETY: needs no feature beyond x86-64.
    let carry = unsafe { core::arch::x86_64::_addcarry_u64(carry, a, b, &mut sum) };
    (sum, carry)
}

/// `sbb` by the instruction of that name.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unused_unsafe, reason = "safe since Rust 1.94 or so")]
fn sub_word(a: u64, b: u64, borrow: u8) -> (u64, u8) {
    let mut difference = 0;
    // SAFETY: needs no feature beyond x86-64.
    let borrow = unsafe { core::arch::x86_64::_subborrow_u64(borrow, a, b, &mut difference) };
    (difference, borrow)
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn add_word(a: u64, b: u64, carry: u8) -> (u64, u8) {
    let (sum, carry) = adc(a, b, carry.into());
    (sum, carry as u8)
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn sub_word(a: u64, b: u64, borrow: u8) -> (u64, u8) {
    let (difference, borrow) = sbb(a, b, borrow.into());
    (difference, borrow as u8)
}

/// a < b.
#[inline(always)]
pub fn less<const N: usize>(a: &[u64; N], b: &[u64; N]) -> bool {
    sub(a, b).1 == 1
}

/// `if flag { a } else { b }` without a branch.
#[inline(always)]
pub const fn select<const N: usize>(flag: bool, a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    let mask = (flag as u64).wrapping_neg();
    let (mut chosen, mut i) = ([0; N], 0);
    while i < N {
        chosen[i] = b[i] ^ (mask & (a[i] ^ b[i]));
        i += 1;
    }
    chosen
}

/// a / 2, rounded down.
#[inline(always)]
pub const fn shift_right<const N: usize>(a: &[u64; N]) -> [u64; N] {
    let (mut half, mut i) = ([0; N], 0);
    while i < N {
        half[i] = a[i] >> 1 | if i + 1 < N { a[i + 1] << 63 } else { 0 };
        i += 1;
    }
    half
}

/// a / 2^count in place, rounded down.
pub fn shift_right_by(a: &mut [u64], count: u32) {
    let (words, bits) = ((count / 64) as usize, count % 64);
    for i in 0..a.len() {
        let low = a.get(i + words).map_or(0, |limb| limb >> bits);
        let high = if bits > 0 { a.get(i + words + 1).map_or(0, |limb| limb << (64 - bits)) } else { 0 };
        a[i] = low | high;
    }
}

/// Number of significant bits.
pub fn bit_length(limbs: &[u64]) -> u32 {
    match limbs.iter().rposition(|&limb| limb != 0) {
        Some(top) => 64 * top as u32 + 64 - limbs[top].leading_zeros(),
        None => 0,
    }
}

/// Bit i.
#[inline(always)]
pub fn bit(limbs: &[u64], i: u32) -> bool {
    limbs[(i / 64) as usize] >> (i % 64) & 1 == 1
}

/// The `width` bits from bit `from` on, for a width of 1 to 32; bits beyond the last limb are zero.
#[inline(always)]
pub fn bits(limbs: &[u64], from: u32, width: u32) -> u32 {
    let (word, shift) = ((from / 64) as usize, from % 64);
    let low = limbs.get(word).map_or(0, |limb| limb >> shift);
    let high = if shift + width > 64 { limbs.get(word + 1).map_or(0, |limb| limb << (64 - shift)) } else { 0 };
    (low | high) as u32 & u32::MAX >> (32 - width)
}
