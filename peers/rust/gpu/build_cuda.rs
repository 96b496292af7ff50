//! Runs CUDA's compiler for the peers' build scripts: objects with only the interface's symbols visible, in one archive.
//!
//! NVCC_PEERS names the compiler (else `nvcc`), CUDA_ARCHS the architectures, e.g. `75,90` (else 90). Each curve's object
//! keeps its own copies of the library's templates and kernels: two curves' kernels of one name must never be merged.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Cuda {
    nvcc: PathBuf,
    out: PathBuf,
    flags: Vec<String>,
    objects: Vec<PathBuf>,
}

impl Cuda {
    pub fn new(includes: &[PathBuf], flags: &[&str]) -> Self {
        println!("cargo:rerun-if-env-changed=NVCC_PEERS");
        println!("cargo:rerun-if-env-changed=CUDA_ARCHS");
        let mut all: Vec<String> = ["-O3", "-std=c++17", "-Xcompiler=-fPIC,-fno-gnu-unique"].map(String::from).to_vec();
        for arch in env::var("CUDA_ARCHS").unwrap_or_else(|_| "90".into()).split(',') {
            all.push(format!("-gencode=arch=compute_{arch},code=sm_{arch}"));
        }
        all.extend(includes.iter().map(|folder| format!("-I{}", folder.display())));
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let nvcc = env::var_os("NVCC_PEERS").map_or_else(|| "nvcc".into(), PathBuf::from);
        Self {
            nvcc,
            out: PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")),
            flags: all,
            objects: Vec::new(),
        }
    }

    /// Compiles `source` to an object of which only `visible` (or everything, when empty) can be linked to.
    pub fn compile(&mut self, source: &Path, name: &str, flags: &[String], visible: &[String]) {
        println!("cargo:rerun-if-changed={}", source.display());
        let object = self.out.join(format!("{name}.o"));
        let mut nvcc = Command::new(&self.nvcc);
        run(nvcc.args(&self.flags).args(flags).args(["-x", "cu", "-c"]).arg(source).arg("-o").arg(&object));
        if !visible.is_empty() {
            self.hide(&object, visible);
        }
        self.objects.push(object);
    }

    /// Makes every other symbol local. Section groups go first: a linker keeps one of two groups of a name, and what is
    /// local in the other would be lost.
    fn hide(&self, object: &Path, visible: &[String]) {
        let whole = object.with_extension("whole.o");
        run(Command::new("ld").args(["-r", "--force-group-allocation"]).arg(object).arg("-o").arg(&whole));
        let keep = visible.iter().map(|symbol| format!("--keep-global-symbol={symbol}"));
        run(Command::new("objcopy").args(keep).arg(&whole).arg(object));
    }

    /// Archives the objects and links them with the static CUDA runtime.
    pub fn link(self, name: &str) {
        let archive = self.out.join(format!("lib{name}.a"));
        let _ = std::fs::remove_file(&archive);
        run(Command::new("ar").arg("crs").arg(&archive).args(&self.objects));
        println!("cargo:rustc-link-search=native={}", self.out.display());
        println!("cargo:rustc-link-lib=static:+whole-archive={name}");
        for folder in ["lib", "lib64", "targets/x86_64-linux/lib"] {
            if let Some(root) = self.nvcc.parent().and_then(Path::parent) {
                println!("cargo:rustc-link-search=native={}", root.join(folder).display());
            }
        }
        println!("cargo:rustc-link-lib=static=cudart_static");
        for library in ["stdc++", "dl", "rt", "pthread"] {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    }
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|e| panic!("error: {:?}: {e}", command.get_program()));
    assert!(status.success(), "error: {:?} failed: {status}", command.get_program());
}
