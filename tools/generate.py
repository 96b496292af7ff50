"""Write the committed constant tables from curves/*.toml.

    python tools/generate.py            write
    python tools/generate.py --check    exit 1 if a committed table differs from its source

Adding a curve is adding a TOML file and running this.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from curvefacts import Curve, load
from emit import cuda as emit_cuda
from emit import ptx as emit_ptx
from emit import python as emit_python
from emit import rust as emit_rust

ROOT = Path(__file__).resolve().parent.parent


def outputs(curves: list[Curve]) -> dict[Path, str]:
    """Every generated file and its text."""
    tables = ROOT / "crates/core/src/curve/tables"
    files = {tables / f"{curve.module}.rs": emit_rust.emit(curve) for curve in curves}
    files[tables / "mod.rs"] = emit_rust.emit_index(curves)
    kernels = ROOT / "python/multiscalar/cuda/kernels"
    files |= {kernels / f"curve/tables/{curve.module}.cuh": emit_cuda.emit(curve) for curve in curves}
    files[kernels / "ptx/rows.cuh"] = emit_ptx.emit()
    # A fourth curve costs one TOML file: this one, known to the tests alone, shows it.
    fourth = load(Path("tests/data/curves/grumpkin.toml"))
    files[ROOT / "crates/core/tests/suite/grumpkin.rs"] = emit_rust.emit(fourth, crate="multiscalar_core")
    files[ROOT / "python/multiscalar/_tables.py"] = emit_python.emit(curves)
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    with contextlib.chdir(ROOT):  # the tables name their sources from here
        return write(check=arguments.check)


def write(*, check: bool) -> int:
    """Write what differs, or name it; the exit code."""
    curves = []
    for path in sorted(Path("curves").glob("*.toml")):
        try:
            curves.append(load(path))
        except (OSError, ValueError, LookupError, TypeError, AssertionError) as error:
            print(f"{path}: no curve: {error}", file=sys.stderr)
            return 2
    stale = [path for path, text in outputs(curves).items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if check:
            print(f"stale: {path.relative_to(ROOT)}; run python tools/generate.py", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(outputs(curves)[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
