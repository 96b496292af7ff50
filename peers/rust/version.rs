//! Build script of every peer: hands the locked version of the measured library to the program as PEER_LIBRARY_VERSION.

use std::{env, fs, path::Path};

const LIBRARIES: [(&str, &str); 5] = [
    ("peer-arkworks", "ark-ec"),
    ("peer-blst", "blst"),
    ("peer-halo2curves", "halo2curves"),
    ("peer-snarkvm", "snarkvm-algorithms"),
    ("peer-varuna", "snarkvm-algorithms"),
];

fn main() {
    let package = env::var("CARGO_PKG_NAME").expect("set by cargo");
    let (_, library) = LIBRARIES.iter().find(|(peer, _)| *peer == package).expect("listed above");
    let lock = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../Cargo.lock");
    let text = fs::read_to_string(&lock).expect("Cargo.lock beside the workspace");
    let entry = text.split("[[package]]").find(|entry| entry.contains(&format!("name = \"{library}\"\n")));
    let version = entry.and_then(|entry| entry.split("version = \"").nth(1)).and_then(|rest| rest.split('"').next());
    println!("cargo:rustc-env=PEER_LIBRARY_VERSION={}", version.expect("locked"));
    println!("cargo:rerun-if-changed={}", lock.display());
    println!("cargo:rerun-if-changed=../version.rs");
}
