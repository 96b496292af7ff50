//! The arithmetic an MSM runs on, chosen once per prepared set of bases.

/// Instruction sets with an implementation. Every CPU has `Scalar`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// 64-bit arithmetic.
    Scalar,
    /// 4 lanes of 52-bit limbs: AVX-IFMA, or AVX-512 IFMA with VL and VBMI2.
    Ifma256,
    /// 8 lanes of 52-bit limbs: AVX-512 F, DQ, BW, VL, IFMA and VBMI2.
    Ifma512,
}

impl Isa {
    /// All of them, best last.
    pub const ALL: [Self; 3] = [Self::Scalar, Self::Ifma256, Self::Ifma512];

    /// Whether this CPU can run it.
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            Self::Ifma256 => ifma256_available(),
            Self::Ifma512 => ifma512_available(),
        }
    }

    /// The best one that this CPU can run.
    pub fn best() -> Self {
        Self::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Self::Scalar)
    }

    /// The name used in settings: `scalar`, `ifma256`, `ifma512`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Ifma256 => "ifma256",
            Self::Ifma512 => "ifma512",
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn ifma512_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512ifma")
        && is_x86_feature_detected!("avx512vbmi2")
}

#[cfg(target_arch = "x86_64")]
fn ifma256_available() -> bool {
    (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("avxifma")) || ifma512_available()
}

#[cfg(not(target_arch = "x86_64"))]
fn ifma512_available() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn ifma256_available() -> bool {
    false
}
