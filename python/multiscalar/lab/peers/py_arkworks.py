"""Peer of py-arkworks-bls12381: `G1Point.multiexp_unchecked` over lists of its objects, one thread."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from .served import Library, serve

_SIZE = 48


def main() -> None:
    """Serve the peer protocol."""
    from py_arkworks_bls12381 import G1Point, Scalar

    def coordinates(_: str, total: Any) -> tuple[int, int] | None:
        raw = bytes(total.to_xy_bytes_le())
        x, y = int.from_bytes(raw[:_SIZE], "little"), int.from_bytes(raw[_SIZE:], "little")
        return (x, y) if x or y else None

    serve(
        Library(
            name="py-arkworks",
            version=version("py-arkworks-bls12381"),
            coordinate_bytes={"bls12-381": _SIZE},
            point=lambda _, x, y: G1Point.from_xy_bytes_unchecked_le(x + y),
            scalar=lambda _, raw: Scalar.from_le_bytes(raw),
            msm=lambda _, points, scalars: G1Point.multiexp_unchecked(points, scalars),
            coordinates=coordinates,
            timed="G1Point.multiexp_unchecked over ready lists of G1Point and Scalar",
        )
    )


if __name__ == "__main__":
    main()
