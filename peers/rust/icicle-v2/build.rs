//! Compiles ICICLE v2.8's multi-scalar multiplication for each curve, unchanged, from the sources of its Go module.
//!
//! ICICLE_V2_DIR names a folder that holds the module; else `go mod download` fetches it, checked by its published sum.

#[path = "../gpu/build_cuda.rs"]
mod build_cuda;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = "github.com/ingonyama-zk/icicle/v2@v2.8.0";
const SUM: &str = "h1:c2sSreq6qBcdrhn9uc1hTFy9kk32k5g8QwMrUgbk2HQ=";
/// ICICLE's number of each curve, as its own build files define it.
const CURVES: [(&str, u32); 3] = [("bn254", 1), ("bls12_377", 3), ("bls12_381", 2)];

fn main() {
    println!("cargo:rerun-if-env-changed=ICICLE_V2_DIR");
    let sources = env::var_os("ICICLE_V2_DIR").map_or_else(download, PathBuf::from).join("icicle");
    let includes = [sources.join("include"), sources.join("src/msm"), PathBuf::from("../gpu/include")];
    let mut cuda = build_cuda::Cuda::new(&includes, &["--expt-relaxed-constexpr", "-w"]);
    for (curve, id) in CURVES {
        let visible = ["open", "close", "prepare", "msm"].map(|what| format!("{curve}_{what}"));
        let defines = ["CURVE_ID", "FIELD_ID"].map(|name| format!("-D{name}={id}"));
        let names = [format!("-DCURVE={curve}"), format!("-DPEER_CURVE={curve}")];
        cuda.compile(Path::new("cuda/msm.cu"), curve, &[defines, names].concat(), &visible);
    }
    cuda.compile(Path::new("cuda/device.cu"), "device", &[], &[]);
    cuda.link("peer_icicle_v2_cuda");
    println!("cargo:rerun-if-changed=../gpu/build_cuda.rs");
    println!("cargo:rerun-if-changed=../gpu/include");
}

fn download() -> PathBuf {
    let done = Command::new("go").args(["mod", "download", "-json", MODULE]).current_dir(env::temp_dir()).output();
    let text = String::from_utf8_lossy(&done.expect("error: go, to fetch ICICLE's sources").stdout).into_owned();
    let field = |name: &str| text.split(&format!("\"{name}\": \"")).nth(1).and_then(|rest| rest.split('"').next());
    assert_eq!(field("Sum"), Some(SUM), "error: {MODULE} has another sum: {text}");
    PathBuf::from(field("Dir").expect("error: go names no folder"))
}
