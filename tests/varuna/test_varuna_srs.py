"""Reference strings: the public one by its files, the seeded one by its own arithmetic."""

from __future__ import annotations

import shutil
from pathlib import Path

import multiscalar as ms
import pytest
from multiscalar.errors import OptionError, OutOfMemoryError, SrsError
from multiscalar.varuna import points, scalars, srs
from multiscalar.varuna.srs import Srs


def ratio_is_beta(setup: Srs, low: points.Points, high: points.Points) -> bool:
    """Whether high = beta * low, by e(low, beta H) = e(high, H)."""
    rows = points.stack([low, points.negated(high)])
    return bool(scalars.native.pairing_product_is_one(rows, [setup.beta_h, setup.h], 0))


def check_structure(setup: Srs, bound: int) -> None:
    powers, shifted = setup.powers(3), setup.shifted(bound)
    assert ratio_is_beta(setup, powers[:1], powers[1:2])
    assert ratio_is_beta(setup, powers[1:2], powers[2:3])
    assert len(shifted) == bound + 1
    assert ratio_is_beta(setup, shifted[-2:-1], shifted[-1:])
    for start in (0, setup.max_degree - bound):
        hiding = setup.hiding(start)
        assert ratio_is_beta(setup, hiding[:1], hiding[1:2])
        assert ratio_is_beta(setup, hiding[1:2], hiding[2:3])
    # e(first shifted, beta^-(D - bound) H) = e(G, H)
    rows = points.stack([shifted[:1], points.negated(powers[:1])])
    assert scalars.native.pairing_product_is_one(rows, [setup.negative(bound), setup.h], 0)


def test_seeded_structure() -> None:
    check_structure(srs.seeded(64, 5, warn=False), 30)


def test_seeded_says_that_it_is_insecure() -> None:
    with pytest.warns(srs.InsecureSetupWarning, match="INSECURE"):
        setup = srs.seeded(4, 5)
    assert setup.insecure
    assert "INSECURE" in setup.origin


def test_seeded_is_bounded() -> None:
    with pytest.raises(SrsError, match="5 powers are needed"):
        srs.seeded(4, 5, warn=False).powers(5)
    with pytest.raises(OptionError, match="1 power or more"):
        srs.seeded(0, 5, warn=False)
    with pytest.raises(OutOfMemoryError, match="bytes"):
        srs.seeded(1 << 45, 5, warn=False)


def test_missing_files_say_where_they_were_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SrsError, match=str(tmp_path)):
        srs.load(tmp_path)
    with ms.using(srs_dir=str(tmp_path / "other")), pytest.raises(SrsError, match="other"):
        srs.load()


@pytest.mark.parametrize("bound", [14, (1 << 15) - 2, (1 << 16) - 2])
def test_public_structure(public_srs: Srs, bound: int) -> None:
    check_structure(public_srs, bound)
    assert not public_srs.insecure


def test_public_powers_go_on_in_the_second_file(public_srs: Srs) -> None:
    rows = public_srs.powers((1 << 15) + 1)
    assert ratio_is_beta(public_srs, rows[-2:-1], rows[-1:])
    with pytest.raises(SrsError, match="65,537 powers"):
        public_srs.powers((1 << 16) + 1)


def test_public_bounds_are_those_of_the_ceremony(public_srs: Srs) -> None:
    with pytest.raises(SrsError, match=r"2\^k - 2"):
        public_srs.negative(100)


def test_altered_files_are_refused(srs_directory: Path, tmp_path: Path) -> None:
    for path in srs_directory.glob("*.usrs"):
        shutil.copy(path, tmp_path / path.name)
    victim = tmp_path / "powers-of-beta-15.usrs"
    victim.chmod(0o644)
    data = bytearray(victim.read_bytes())
    data[1000] ^= 1
    victim.write_bytes(data)
    with pytest.raises(SrsError, match="SHA-256"):
        srs.load(tmp_path).powers(1)
