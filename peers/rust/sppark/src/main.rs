//! sppark on an NVIDIA GPU: its Pippenger as sppark calls it (path `cuda`) and as snarkVM calls it (path `snarkvm`).

use blst as _; // host-side field arithmetic of sppark's headers
use peer_gpu::{Caller, Gpu, devices, gpu_curve};
use peer_protocol::{Curve, Hello, serve};
use sppark as _; // the kernels' sources

const PATHS: &[&str] = &["cuda", "snarkvm"];

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
        name: "sppark",
        version: env!("PEER_LIBRARY_VERSION"),
        curves: &["bn254", "bls12-377", "bls12-381"],
        groups: &["g1"],
        devices: devices(),
        paths: PATHS,
        scopes: &["end-to-end", "resident-bases"],
        options: &["c"],
        timed: "path cuda: resident-bases, invoke of an msm_t that holds the points, scalars from pageable host memory; \
                end-to-end, mult_pippenger on pageable host arrays (points in Montgomery form); path snarkvm: a new msm_t \
                and invoke on points with infinity flags, as snarkVM's wrapper does. To an affine point; device_ns: \
                from before the call to after it on the device's clock",
    };
    serve(hello, &CURVES, Caller);
}
