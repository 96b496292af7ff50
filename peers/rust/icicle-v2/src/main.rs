//! ICICLE v2.8 on an NVIDIA GPU: its MSM with its default configuration.

use peer_gpu::{Caller, Gpu, devices, gpu_curve};
use peer_protocol::{Curve, Hello, serve};

const PATHS: &[&str] = &["cuda"];

gpu_curve!(Bn254, 4, PATHS, bn254_open, bn254_close, bn254_prepare, bn254_msm);
gpu_curve!(Bls12377, 6, PATHS, bls12_377_open, bls12_377_close, bls12_377_prepare, bls12_377_msm);
gpu_curve!(Bls12381, 6, PATHS, bls12_381_open, bls12_381_close, bls12_381_prepare, bls12_381_msm);

const CURVES: [Curve; 3] = [
    Curve::of::<Gpu<Bn254>>("bn254"),
    Curve::of::<Gpu<Bls12377>>("bls12-377"),
    Curve::of::<Gpu<Bls12381>>("bls12-381"),
];

fn main() {
    let hello = Hello {
        name: "icicle-v2",
        version: env!("CARGO_PKG_VERSION"),
        curves: &["bn254", "bls12-377", "bls12-381"],
        groups: &["g1"],
        devices: devices(),
        paths: PATHS,
        scopes: &["end-to-end", "resident-bases", "resident"],
        options: &["c"],
        timed: "msm::msm with default_msm_config, to an affine point; end-to-end: device allocation, both copies from \
                pageable host memory, the sum and the frees; resident-bases: scalars copied by the call; resident: both \
                on the device; device_ns: span of events around msm::msm, copy_ns: around allocation and copies",
    };
    serve(hello, &CURVES, Caller);
}
