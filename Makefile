# Everything from a fresh clone: `make bench` runs the main job, `make test` the tests.
# Both set up what they need in .venv; nothing outside this folder is touched but the user's caches.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUST   := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml $(wildcard Cargo.lock) python/multiscalar/_core.pyi
# A driver of 580 or later speaks CUDA 13; an older one gets CUDA 12. No driver: CPU only (nvidia-smi says so in words).
DRIVER := $(shell nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1 | grep -Eo '^[0-9]+')
CUDA   := $(if $(DRIVER),$(shell [ "$(DRIVER)" -ge 580 ] && echo cu13 || echo cu12))

comma := ,
# $(call develop,EXTRAS): the package into .venv. What cargo and pip say is kept, and shown when they fail.
develop = VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release $(if $(1),--extras $(1)) \
  > $(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help bench bench-small bench-medium bench-large bench-peers compare test test-rust test-python lint build tools \
        generate docs clean sanitize lib icicle-v2-small icicle-v2-medium icicle-v2-large icicle-small icicle-medium icicle-large

help:
	@echo "make bench          set up and benchmark this machine, medium size, every result checked"
	@echo "make test           set up and run the tests"
	@echo "make compare        CPU against GPU, the table with the factor"
	@echo "make bench-small|bench-medium|bench-large        2^7, 2^15, 2^20"
	@echo "make bench-peers    all CPU libraries beside ours, three curves, 2^8 to 2^18: record and page"
	@echo "make icicle-v2-small|medium|large, icicle-small|medium|large, lib        ICICLE on the same inputs"
	@echo "make build          after a change or a pull: the native core anew, if it has to be"
	@echo "make lint, docs, generate, sanitize, clean"

# --- setting up -------------------------------------------------------------------------------

tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "multiscalar needs Python >= 3.11 (found: $$($(PYTHON) --version 2>&1)); set PYTHON=..."; exit 1; }
	@command -v cc >/dev/null || { echo "multiscalar needs a C compiler (cc), e.g. the package build-essential"; exit 1; }
	@v=$$(cargo --version 2>/dev/null | cut -d' ' -f2); [ "$$(printf '1.89.0\n%s\n' "$${v:-0}" | sort -V | head -n 1)" = 1.89.0 ] \
	  || { echo "multiscalar needs cargo >= 1.89 (found: $${v:-none}); get it with rustup (rustup.rs): rustup update stable"; exit 1; }
	@$(if $(DRIVER),echo "GPU driver $(DRIVER) found: using it",echo "no NVIDIA driver found: CPU only") >&2

$(BIN)/maturin: | tools
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2'

$(VENV)/built: pyproject.toml $(RUST) | tools $(BIN)/maturin
	@echo "building the native core (about a minute the first time)" >&2
	@$(call develop,$(CUDA))
	@touch $@

build: $(VENV)/built

# Without a GPU the tests still compile its kernels: the extra nvrtc brings the compiler alone.
$(VENV)/testers: $(VENV)/built
	@$(call develop,test$(comma)$(or $(CUDA),nvrtc))
	@touch $@

$(VENV)/linters: $(VENV)/testers
	@$(call develop,dev)
	@touch $@

# --- the main job -----------------------------------------------------------------------------

bench: bench-medium

bench-small bench-medium bench-large: bench-%: build
	@$(BIN)/msm bench --preset $*

bench-peers: build
	@$(BIN)/python benchmarks/peers.py --record $(or $(RECORD),peers.jsonl)

compare: build
	@$(BIN)/msm compare

# --- tests and checks -------------------------------------------------------------------------

test: test-rust test-python

test-rust: build
	cargo test --quiet --profile checked --workspace --exclude multiscalar-python

test-python: $(VENV)/testers
	$(BIN)/pytest -q

# The unsafe parts of the core (lanes, packed arrays, the pool) under the address sanitizer, with the runtime that the stable
# toolchain ships: RUSTC_BOOTSTRAP admits the one flag. Some minutes, most of them to compile, so not part of `make test`. Leaks are
# not looked for: a published value that is replaced stays valid for those who have it, for ever (published.rs).
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
sanitize:
	ASAN_OPTIONS=detect_leaks=0 RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test --quiet --profile checked --target $(HOST) \
	  --target-dir target/sanitize -p multiscalar-core

lint: $(VENV)/linters
	$(BIN)/python tools/generate.py --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m mypy.stubtest multiscalar._core
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings

generate:
	$(PYTHON) tools/generate.py

docs: build
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/sphinx-build -q -W docs docs/_build

clean:
	rm -rf target $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis

# --- the second story's words: ICICLE beside ours on the same inputs ----------------------------

lib: build
	@$(BIN)/msm peers build icicle-v2

icicle-v2-small icicle-v2-medium icicle-v2-large: icicle-v2-%: build
	@$(BIN)/msm bench --curve bn254 --preset $* --peers icicle-v2 --repeats 5 --format runs

icicle-small icicle-medium icicle-large: icicle-%: build
	@$(BIN)/msm bench --curve bn254 --preset $* --peers icicle-v3.2 --repeats 3 --format runs
