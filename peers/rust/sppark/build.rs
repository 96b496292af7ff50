//! Compiles sppark's kernels for each curve, unchanged, from the sources of its crate.

#[path = "../gpu/build_cuda.rs"]
mod build_cuda;

use std::env;
use std::path::{Path, PathBuf};

const CURVES: [(&str, &str); 3] =
    [("bn254", "FEATURE_BN254"), ("bls12_377", "FEATURE_BLS12_377"), ("bls12_381", "FEATURE_BLS12_381")];

fn main() {
    let folder = |name: &str| PathBuf::from(env::var_os(name).unwrap_or_else(|| panic!("error: {name} is not set")));
    let (sppark, blst) = (folder("DEP_SPPARK_ROOT"), folder("DEP_BLST_C_SRC"));
    let includes = [sppark.clone(), blst, PathBuf::from("../gpu/include")];
    let flags = ["-DTAKE_RESPONSIBILITY_FOR_ERROR_MESSAGE", "-D__ADX__", "-Xcompiler=-Wno-subobject-linkage", "-w"];
    let mut cuda = build_cuda::Cuda::new(&includes, &flags);
    for (curve, feature) in CURVES {
        let visible = ["open", "close", "prepare", "msm"].map(|what| format!("{curve}_{what}"));
        let defines = [format!("-D{feature}"), format!("-DPEER_CURVE={curve}")];
        cuda.compile(Path::new("cuda/msm.cu"), curve, &defines, &visible);
    }
    cuda.compile(&sppark.join("util/all_gpus.cpp"), "all_gpus", &[], &[]);
    cuda.compile(Path::new("cuda/device.cu"), "device", &[], &[]);
    cuda.link("peer_sppark_cuda");
    println!("cargo:rustc-env=PEER_LIBRARY_VERSION={}", locked("sppark"));
    println!("cargo:rerun-if-changed=../gpu/build_cuda.rs");
    println!("cargo:rerun-if-changed=../gpu/include");
}

fn locked(library: &str) -> String {
    let lock = std::fs::read_to_string("Cargo.lock").expect("error: Cargo.lock");
    let entry = lock.split("[[package]]").find(|entry| entry.contains(&format!("name = \"{library}\"\n")));
    let version = entry.and_then(|entry| entry.split("version = \"").nth(1)).and_then(|rest| rest.split('"').next());
    version.expect("error: not locked").to_owned()
}
