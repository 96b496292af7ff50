//! snarkVM's own setup, prove, verify and certificate, in either mode.

use crate::circuit::Circuit;
use anyhow::{Result, anyhow, ensure};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use snarkvm_algorithms::snark::varuna::{
    CircuitProvingKey, CircuitVerifyingKey, SNARKMode, VarunaSNARK, VarunaVersion,
};
use snarkvm_algorithms::{AlgebraicSponge, SNARK, crypto_hash::PoseidonSponge};
use snarkvm_curves::bls12_377::{Bls12_377, Fq, Fr};
use snarkvm_utilities::{FromBytes, ToBytes};
use std::collections::BTreeMap;

type Sponge = PoseidonSponge<Fq, 2, 1>;
type Inst<SM> = VarunaSNARK<Bls12_377, Sponge, SM>;
/// The verifying key of a circuit.
pub type VerifyingKey = CircuitVerifyingKey<Bls12_377>;

/// One circuit with its keys and assignments.
pub struct Loaded<SM: SNARKMode> {
    pk: CircuitProvingKey<Bls12_377, SM>,
    /// The verifying key.
    pub vk: VerifyingKey,
    instances: Vec<Circuit>,
}

/// Circuits of one mode, by order of loading.
pub struct Side<SM: SNARKMode> {
    circuits: Vec<Loaded<SM>>,
    /// Powers to load: the public setup is read for polynomials of up to this degree.
    max_degree: usize,
}

impl<SM: SNARKMode> Side<SM> {
    /// With no circuit.
    pub fn new(max_degree: usize) -> Self {
        Self { circuits: Vec::new(), max_degree }
    }

    /// Makes the keys of the circuit in `data`.
    pub fn load(&mut self, data: &[u8]) -> Result<(usize, &Loaded<SM>)> {
        let instances = Circuit::read(data)?;
        let srs = Inst::<SM>::universal_setup(self.max_degree)?;
        let (pk, vk) = Inst::<SM>::circuit_setup(&srs, &instances[0])?;
        self.circuits.push(Loaded { pk, vk, instances });
        let at = self.circuits.len() - 1;
        Ok((at, &self.circuits[at]))
    }

    /// The circuit number `at`.
    pub fn get(&self, at: usize) -> Result<&Loaded<SM>> {
        self.circuits.get(at).ok_or_else(|| anyhow!("no circuit {at}"))
    }

    /// One proof for all instances of the circuits named; `run` gets the closure to time.
    pub fn prove(
        &self,
        chosen: &[usize],
        version: VarunaVersion,
        seed: u64,
        mut run: impl FnMut(&mut dyn FnMut() -> Result<Vec<u8>>) -> Result<()>,
    ) -> Result<()> {
        let prover = Inst::<SM>::universal_setup(self.max_degree)?.to_universal_prover()?;
        let parameters = Sponge::sample_parameters();
        let mut keys = BTreeMap::new();
        for at in chosen {
            let loaded = self.get(*at)?;
            keys.insert(&loaded.pk, loaded.instances.as_slice());
        }
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        run(&mut || {
            let proof = Inst::<SM>::prove_batch(&prover, &parameters, version, &keys, &mut rng)?;
            Ok(proof.to_bytes_le()?)
        })
    }

    /// Public inputs of all instances of a circuit.
    pub fn inputs(&self, at: usize) -> Result<Vec<Vec<Fr>>> {
        Ok(self.get(at)?.instances.iter().map(Circuit::inputs).collect())
    }

    /// Whether snarkVM accepts a proof under the keys given.
    pub fn verify(
        &self,
        keys: &[VerifyingKey],
        inputs: &[Vec<Vec<Fr>>],
        version: VarunaVersion,
        proof: &[u8],
    ) -> Result<bool> {
        ensure!(keys.len() == inputs.len(), "{} keys for {} lists of inputs", keys.len(), inputs.len());
        let verifier = Inst::<SM>::universal_setup(self.max_degree)?.to_universal_verifier()?;
        let parameters = Sponge::sample_parameters();
        let proof = <Inst<SM> as SNARK>::Proof::read_le(proof)?;
        let all: Vec<Vec<&[Fr]>> =
            inputs.iter().map(|instances| instances.iter().map(Vec::as_slice).collect()).collect();
        let map: BTreeMap<&VerifyingKey, &[&[Fr]]> = keys.iter().zip(all.iter().map(Vec::as_slice)).collect();
        Inst::<SM>::verify_batch(&verifier, &parameters, version, &map, &proof)
    }

    /// The certificate of a circuit's verifying key.
    pub fn certificate(&self, at: usize) -> Result<Vec<u8>> {
        let loaded = self.get(at)?;
        let prover = Inst::<SM>::universal_setup(self.max_degree)?.to_universal_prover()?;
        let certificate = Inst::<SM>::prove_vk(&prover, &Sponge::sample_parameters(), &loaded.vk, &loaded.pk)?;
        Ok(certificate.to_bytes_le()?)
    }

    /// The proving key's bytes.
    pub fn proving_key(&self, at: usize) -> Result<Vec<u8>> {
        Ok(self.get(at)?.pk.to_bytes_le()?)
    }

    /// Whether snarkVM accepts a certificate for the key of a circuit.
    pub fn check_certificate(&self, at: usize, certificate: &[u8]) -> Result<bool> {
        let loaded = self.get(at)?;
        let verifier = Inst::<SM>::universal_setup(self.max_degree)?.to_universal_verifier()?;
        let certificate = <Inst<SM> as SNARK>::Certificate::read_le(certificate)?;
        let parameters = Sponge::sample_parameters();
        Inst::<SM>::verify_vk(&verifier, &parameters, &loaded.instances[0], &loaded.vk, &certificate)
    }
}
