//! snarkVM's Varuna behind JSON lines on stdin and stdout: the peer of `msm prove`, and the oracle of its tests.
//!
//! `hello`; `load` (file, hiding) -> circuit, id, vk; `prove` (circuits, hiding, version, warmups, repeats, threads,
//! seed) -> samples, proof, verified; `verify` (vk, inputs, hiding, version, proof) -> accepted; `certificate`,
//! `check_certificate`, `proving_key`; `bye`. Bytes travel in hex; errors are {"error": {"kind", "message"}}.
//! The public setup is read by snarkVM itself, from $HOME/.aleo/resources for more than 2^15 powers.

mod circuit;
mod prover;

use anyhow::{Result, anyhow, bail};
use prover::{Side, VerifyingKey};
use serde_json::{Value, json};
use snarkvm_algorithms::snark::varuna::{SNARKMode, VarunaHidingMode, VarunaNonHidingMode, VarunaVersion};
use snarkvm_curves::bls12_377::Fr;
use snarkvm_utilities::{FromBytes, ToBytes};
use std::io::{BufRead, Write};

/// Degree of the setup in hand; a request may ask for another one with "max_degree".
const MAX_DEGREE: usize = 1 << 15;

fn text<'a>(request: &'a Value, name: &str) -> Result<&'a str> {
    request[name].as_str().ok_or_else(|| anyhow!("{name} is missing"))
}

fn number(request: &Value, name: &str, default: u64) -> usize {
    request[name].as_u64().unwrap_or(default) as usize
}

fn version(request: &Value) -> Result<VarunaVersion> {
    Ok(match request["version"].as_str() {
        Some("v1") => VarunaVersion::V1,
        Some("v2") => VarunaVersion::V2,
        Some("v3") | None => VarunaVersion::V3,
        Some(other) => bail!("no version is called {other}"),
    })
}

fn bytes(value: &Value) -> Result<Vec<u8>> {
    let text = value.as_str().ok_or_else(|| anyhow!("hex is missing"))?;
    (0..text.len() / 2)
        .map(|i| Ok(u8::from_str_radix(text.get(2 * i..2 * i + 2).ok_or_else(|| anyhow!("bad hex"))?, 16)?))
        .collect()
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn clock(which: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that outlives the call.
    unsafe { libc::clock_gettime(which, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn prove<SM: SNARKMode>(side: &Side<SM>, request: &Value) -> Result<Value> {
    let list = request["circuits"].as_array().ok_or_else(|| anyhow!("circuits is missing"))?;
    let chosen: Vec<usize> = list.iter().filter_map(Value::as_u64).map(|at| at as usize).collect();
    let (version, seed) = (version(request)?, number(request, "seed", 5090) as u64);
    let (warmups, repeats) = (number(request, "warmups", 1), number(request, "repeats", 7));
    let mut samples = Vec::new();
    let mut proof = Vec::new();
    side.prove(&chosen, version, seed, |run| {
        for i in 0..warmups + repeats {
            let (wall, cpu) = (clock(libc::CLOCK_MONOTONIC), clock(libc::CLOCK_PROCESS_CPUTIME_ID));
            proof = run()?;
            let (wall, cpu) = (clock(libc::CLOCK_MONOTONIC) - wall, clock(libc::CLOCK_PROCESS_CPUTIME_ID) - cpu);
            if i >= warmups {
                samples.push(json!({"wall_ns": wall, "cpu_ns": cpu}));
            }
        }
        Ok(())
    })?;
    let keys = chosen.iter().map(|at| Ok(side.get(*at)?.vk.clone())).collect::<Result<Vec<_>>>()?;
    let inputs = chosen.iter().map(|at| side.inputs(*at)).collect::<Result<Vec<_>>>()?;
    let verified = side.verify(&keys, &inputs, version, &proof)?;
    Ok(json!({"samples": samples, "proof": hex(&proof), "verified": verified}))
}

fn verify<SM: SNARKMode>(side: &Side<SM>, request: &Value) -> Result<Value> {
    let empty = Vec::new();
    let list = |value: &Value| value.as_array().unwrap_or(&empty).clone();
    let keys: Vec<VerifyingKey> =
        list(&request["vk"]).iter().map(|key| Ok(VerifyingKey::read_le(&bytes(key)?[..])?)).collect::<Result<_>>()?;
    let scalar = |value: &Value| Ok(Fr::read_le(&bytes(value)?[..])?);
    let instance = |value: &Value| list(value).iter().map(scalar).collect::<Result<Vec<Fr>>>();
    let inputs: Vec<Vec<Vec<Fr>>> = list(&request["inputs"])
        .iter()
        .map(|circuit| list(circuit).iter().map(instance).collect::<Result<_>>())
        .collect::<Result<_>>()?;
    let proof = bytes(&request["proof"])?;
    let start = clock(libc::CLOCK_MONOTONIC);
    let accepted = side.verify(&keys, &inputs, version(request)?, &proof)?;
    Ok(json!({"accepted": accepted, "wall_ns": clock(libc::CLOCK_MONOTONIC) - start}))
}

fn answer<SM: SNARKMode>(side: &mut Side<SM>, request: &Value) -> Result<Value> {
    let at = number(request, "circuit", 0);
    Ok(match text(request, "do")? {
        "load" => {
            let (at, loaded) = side.load(&std::fs::read(text(request, "file")?)?)?;
            json!({"ok": true, "circuit": at, "vk": hex(&loaded.vk.to_bytes_le()?)})
        }
        "prove" => prove(side, request)?,
        "verify" => verify(side, request)?,
        "certificate" => json!({"certificate": hex(&side.certificate(at)?)}),
        "check_certificate" => {
            json!({"accepted": side.check_certificate(at, &bytes(&request["certificate"])?)?})
        }
        "proving_key" => {
            std::fs::write(text(request, "file")?, side.proving_key(at)?)?;
            json!({"ok": true})
        }
        other => bail!("nothing is called {other}"),
    })
}

fn hello() -> Value {
    json!({
        "name": "snarkvm", "version": env!("PEER_LIBRARY_VERSION"), "subjects": ["prove"], "curves": ["bls12-377"],
        "versions": ["v1", "v2", "v3"], "threads": rayon::current_num_threads(),
    })
}

fn main() -> Result<()> {
    let degree = std::env::var("MULTISCALAR_PEER_MAX_DEGREE").ok().and_then(|text| text.parse().ok());
    let degree = degree.unwrap_or(MAX_DEGREE - 1);
    let mut hiding = Side::<VarunaHidingMode>::new(degree);
    let mut plain = Side::<VarunaNonHidingMode>::new(degree);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?).unwrap_or(Value::Null);
        let reply = match request["do"].as_str() {
            Some("hello") => Ok(hello()),
            Some("bye") => break,
            _ if request["hiding"].as_bool().unwrap_or(true) => answer(&mut hiding, &request),
            _ => answer(&mut plain, &request),
        };
        let reply = reply.unwrap_or_else(|error| json!({"error": {"kind": "failed", "message": format!("{error:#}")}}));
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}
