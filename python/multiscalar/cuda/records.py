"""Tables of bases: the size of their records, and the steps that make them from raw points."""

from __future__ import annotations

from .shape import CurveShape, divide_up
from .steps import Argument, Launch, Ref, Step

POINT_MONTGOMERY, POINT_CHECK = 1, 2


def table_bytes(curve: CurveShape, points: int, factor: int, endomorphism: bool) -> int:
    """Size of a table of `points` bases in `factor` parts."""
    return factor * points * (4 if endomorphism else 2) * curve.coordinate_bytes


def lay_out_table(
    curve: CurveShape,
    points: int,
    *,
    montgomery: bool,
    check: bool,
    endomorphism: bool,
    factor: int = 1,
    shift: int = 0,
    first: int = 0,
    count: int | None = None,
) -> list[Step]:
    """Steps that turn `count` raw points (buffer `points`, from index `first` on) into records of buffer `table`, then,
    when `factor` > 1 and this is the last chunk, into the other parts. Buffer `status` reports the first bad point.
    Without points there are none: the driver refuses an empty grid.
    """
    count = points - first if count is None else count
    if count == 0:
        return []
    coordinates = 4 if endomorphism else 2
    flags = (POINT_MONTGOMERY if montgomery else 0) | (POINT_CHECK if check else 0)
    arguments: tuple[Argument, ...] = (
        Ref("points"),
        Ref("table"),
        Ref("status"),
        count,
        coordinates,
        flags,
        first,
    )
    steps: list[Step] = [Launch("msm_convert", (divide_up(count, 128), 1), 128, arguments, 0, "convert")]
    if first + count < points:
        return steps
    part = table_bytes(curve, points, 1, endomorphism)
    for j in range(1, factor):
        arguments = (Ref("table", (j - 1) * part), Ref("table", j * part), points, coordinates, shift)
        steps.append(Launch("msm_precompute", (divide_up(points, 128), 1), 128, arguments, 0, "convert"))
    return steps
