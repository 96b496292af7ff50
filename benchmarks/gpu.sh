#!/bin/sh
# What stands on the cuda backend, on a GPU machine, shortest first: records and reports into a folder. The backend itself
# is checked and measured by tools/gpu_machine.py.
#
#   sh benchmarks/gpu.sh OUT [PART...]     parts: doctor load cutoff dispatch prove stability (default: all, in order)
#
# Peers are used where they are built or were carried here (MULTISCALAR_CACHE_DIR: docs/peers). The public setup of the
# prover is used where it lies (MULTISCALAR_SRS_DIR); transfer-private needs more powers than its files hold, and runs
# on a seeded setup that says INSECURE: good for timing, proves nothing. Each part is a command a user would give; one
# that fails is named, and the next goes on. Exit code: the number of commands that failed.
set -u
out=$1; shift
mkdir -p "$out"
parts=${*:-doctor load cutoff dispatch prove stability}
failed=0

try() {
  echo "+ $*" >&2
  "$@" || { echo "FAILED ($?): $*" >&2; failed=$((failed + 1)); }
}

for part in $parts; do
  case $part in
    doctor)
      try msm peers
      try msm doctor --subject cuda --size 2^10 --record "$out/doctor.jsonl" ;;
    load)
      try python benchmarks/doctor_load.py --load gpu --record "$out/doctor-gpu-load.jsonl"
      try python benchmarks/doctor_load.py --load host --record "$out/doctor-host-load.jsonl" ;;
    cutoff)
      try msm story cutoff --repeats 9 --record "$out/story-cutoff.jsonl"
      try msm calibrate --for snarkvm --record "$out/for-snarkvm.jsonl"
      try msm calibrate --for gnark --record "$out/for-gnark.jsonl" ;;
    dispatch)
      for turn in a b; do
        try msm calibrate --budget 60 --force --record "$out/calibrate-$turn.jsonl" --output "$out/profile-$turn.json"
      done
      try msm calibrate --compare "$out/profile-a.json" "$out/profile-b.json" ;;
    prove)
      try msm prove --constraints 10000 --variables 2500 --depth 100 --repeats 21 --peers snarkvm \
        --record "$out/prove-snarkvm.jsonl"
      try msm prove --workload fee-public --repeats 7 --peers snarkvm --record "$out/prove-fee.jsonl"
      try msm prove --workload transfer-private --repeats 7 --record "$out/prove-transfer.jsonl" ;;
    stability)
      try msm story stability --repeats 10 --peers icicle-v2 --record "$out/story-stability.jsonl" ;;
    *) echo "no part is called $part" >&2; exit 2 ;;
  esac
done

for record in "$out"/*.jsonl; do
  try msm check "$record"
  try msm report "$record" -o "${record%.jsonl}.html"
done
exit "$failed"
