"""Peer of zksnake: `multiscalar_mul_g1` over its points and Python integers, which it takes as scalars."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from .served import Library, serve

_SIZES = {"bn254": 32, "bls12-381": 48}


def main() -> None:
    """Serve the peer protocol."""
    from zksnake._algebra import ec_bls12_381, ec_bn254  # type: ignore[import-untyped,import-not-found,unused-ignore]

    modules = {"bn254": ec_bn254, "bls12-381": ec_bls12_381}

    def point(curve: str, x: bytes, y: bytes) -> Any:
        if not any(x) and not any(y):
            return modules[curve].PointG1.identity()
        return modules[curve].PointG1(int.from_bytes(x, "little"), int.from_bytes(y, "little"))

    serve(
        Library(
            name="zksnake",
            version=version("zksnake"),
            coordinate_bytes=_SIZES,
            point=point,
            scalar=lambda _, raw: int.from_bytes(raw, "little"),
            msm=lambda curve, points, scalars: modules[curve].multiscalar_mul_g1(points, scalars),
            coordinates=lambda _, total: None if total.is_zero() else (total.x, total.y),
            timed="multiscalar_mul_g1 over ready lists of PointG1 and Python integers (what it takes as scalars)",
        )
    )


if __name__ == "__main__":
    main()
