#!/bin/sh
# What stands on the cuda backend, on a GPU machine, shortest first: records and reports into a folder. The backend itself
# is checked and measured by tools/gpu_machine.py.
#
#   sh benchmarks/gpu.sh OUT [PART...]     parts: dispatch doctor load cutoff prove stability (default: all, in order)
#
# Peers are used where they are built or were carried here (MULTISCALAR_CACHE_DIR: docs/peers). The public setup of the
# prover is used where it lies (MULTISCALAR_SRS_DIR); transfer-private needs more powers than its files hold, and runs
# on a seeded setup that says INSECURE: good for timing, proves nothing. What `auto` chooses by in the later parts is the
# first profile that part `dispatch` has made. Each part is a command a user would give; one that fails is named, and the
# next goes on. Exit code: 1 if a command failed, 2 for words that mean nothing here.
set -u
all="dispatch doctor load cutoff prove stability"
[ $# -gt 0 ] || { echo "usage: sh benchmarks/gpu.sh OUT [PART...]; parts: $all" >&2; exit 2; }
out=$1; shift
for part in "$@"; do
  case " $all " in *" $part "*) ;; *) echo "no part is called $part; parts: $all" >&2; exit 2 ;; esac
done
root=$(pwd)
mkdir -p "$out" && cd "$out" || exit 2  # records name the files as they lie here, not the machine's folders
parts=${*:-$all}
failed=0

try() {
  echo "+ $*" >&2
  "$@" || { echo "FAILED ($?): $*" >&2; failed=1; }
}

[ ! -f profile-a.json ] || export MULTISCALAR_PROFILE=profile-a.json  # of an earlier run of part dispatch
for part in $parts; do
  case $part in
    dispatch)
      for turn in a b; do
        try msm calibrate --budget 30 --force --record "calibrate-$turn.jsonl" --output "profile-$turn.json"
      done
      try msm calibrate --compare "profile-a.json" "profile-b.json"
      export MULTISCALAR_PROFILE=profile-a.json
      for size in 2^10 2^13 2^16; do try msm explain --curve bls12-377 --size $size; done ;;
    doctor)
      try msm peers
      try msm doctor --subject cuda --size 2^10 --record "doctor.jsonl" ;;
    load)
      try python "$root/benchmarks/doctor_load.py" --load gpu --record "doctor-gpu-load.jsonl"
      try python "$root/benchmarks/doctor_load.py" --load host --record "doctor-host-load.jsonl" ;;
    cutoff)
      try msm story cutoff --repeats 9 --record "story-cutoff.jsonl"
      try msm calibrate --for snarkvm --record "for-snarkvm.jsonl"
      try msm calibrate --for gnark --record "for-gnark.jsonl" ;;
    prove)
      try msm prove --constraints 10000 --variables 2500 --depth 100 --repeats 21 --peers snarkvm \
        --record "prove-snarkvm.jsonl"
      try msm prove --constraints 10000 --variables 2500 --depth 100 --repeats 21 --cutoffs 1024,8192,auto \
        --record "prove-cutoffs.jsonl"
      try msm prove --workload fee-public --repeats 7 --peers snarkvm --record "prove-fee.jsonl"
      try msm prove --workload transfer-private --repeats 7 --record "prove-transfer.jsonl" ;;
    stability)
      try msm story stability --repeats 10 --peers icicle-v2 --record "story-stability.jsonl" ;;
  esac
done

for record in *.jsonl; do
  try msm check "$record"
  try msm report "$record" -o "${record%.jsonl}.html"
done
exit "$failed"
