"""Codecs by name, both ways: known bytes, round trips, infinity, wrong formats and damaged bytes refused."""

from __future__ import annotations

import multiscalar as ms
import numpy as np
import py_arkworks_bls12381 as ark
import pytest
from multiscalar import curves
from multiscalar.errors import EncodingError, InputTypeError, NotInSubgroupError, OptionError

from tests.fieldcases import field_case

ZCASH_G = "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
FORMS = [
    (name, codec, compressed)
    for name in curves.names()
    for codec in ms.curve(name).codecs
    for compressed in (True, False)
    if not (codec == "icicle" and compressed)
]


@pytest.mark.parametrize(("name", "codec", "compressed"), FORMS)
def test_round_trip(name: str, codec: str, compressed: bool) -> None:
    curve = ms.curve(name)
    points = [(i * 7919 + 1) * curve.generator for i in range(20)]
    points[5] = curve.identity
    data = curve.points(points).to_bytes(codec, compressed=compressed)
    assert len(data) % 20 == 0
    for source in (data, bytearray(data), memoryview(data), np.frombuffer(data, dtype=np.uint8)):
        found = curve.decode(source, codec, compressed=compressed, check="subgroup")
        assert list(found) == points
    assert found.in_subgroup
    raised = curve.points(points).to_form("montgomery")
    assert raised.to_bytes(codec, compressed=compressed) == data
    size = len(data) // 20
    for i, point in enumerate(points):
        assert point.to_bytes(codec, compressed=compressed) == data[i * size : (i + 1) * size]
        one = ms.Point.from_bytes(data[i * size : (i + 1) * size], codec, curve=name, compressed=compressed)
        assert one == point
    assert list(curve.decode(b"", codec, compressed=compressed)) == []


@field_case("MI-39")
def test_the_two_spellings_of_a_generator(field_case: str) -> None:
    """The usual big-endian form is read; the same bytes turned round are refused, not misread."""
    curve = ms.curve("bls12-381")
    data = bytes.fromhex(ZCASH_G)
    assert curve.generator.to_bytes("zcash") == data
    assert ms.Point.from_bytes(data, "zcash", curve=curve) == curve.generator
    assert ms.Point.from_bytes(data, "blst", curve=curve) == curve.generator
    with pytest.raises(EncodingError, match="point 0"):
        curve.decode(data[::-1], "zcash")
    other = ms.curve("bls12-377").generator
    assert other.to_bytes("arkworks") != other.to_bytes("gnark")
    with pytest.raises(EncodingError):
        ms.Point.from_bytes(other.to_bytes("arkworks"), "gnark", curve="bls12-377")


@field_case("MI-40")
@pytest.mark.parametrize(("name", "codec", "compressed"), FORMS)
def test_infinity_has_one_spelling(field_case: str, name: str, codec: str, compressed: bool) -> None:
    curve = ms.curve(name)
    data = bytearray(curve.identity.to_bytes(codec, compressed=compressed))
    assert ms.Point.from_bytes(data, codec, curve=curve, compressed=compressed).is_infinity
    data[len(data) // 2] ^= 4  # y = 4, or another x: on no curve here
    with pytest.raises(EncodingError):
        curve.decode(data, codec, compressed=compressed)


def test_arkworks_agrees() -> None:
    curve = ms.curve("bls12-381")
    g = ark.G1Point()
    for k in (1, 2, 3, 1 << 100, curve.r - 1):
        theirs = g * ark.Scalar.from_le_bytes(k.to_bytes(32, "little"))
        ours = k * curve.generator
        assert ours.to_bytes("arkworks") == bytes(theirs.to_compressed_bytes())
        assert ms.Point.from_bytes(bytes(theirs.to_compressed_bytes()), "arkworks", curve=curve) == ours
        assert ours.to_bytes("sec", compressed=False)[1:] == bytes(theirs.to_xy_bytes_be())


def test_bytes_that_are_no_points() -> None:
    curve = ms.curve("bls12-381")
    data = curve.known_points(5).to_bytes("zcash")
    with pytest.raises(EncodingError, match=r"239 bytes.*multiples of 48"):
        curve.decode(data[:-1], "zcash")
    bad = bytearray(data)
    bad[96:144] = bytes.fromhex("9a" + "ff" * 47)
    with pytest.raises(EncodingError, match="point 2") as caught:
        curve.decode(bad, "zcash")
    assert caught.value.index == 2
    with pytest.raises(OptionError, match="codecs of bn254: sec, arkworks"):
        ms.curve("bn254").decode(b"", "zcash")
    with pytest.raises(OptionError, match="base64"):
        curve.decode(b"", "base64")
    with pytest.raises(OptionError, match="icicle"):
        curve.generator.to_bytes("icicle")
    with pytest.raises(InputTypeError, match="str"):
        curve.decode("97f1", "zcash")
    with pytest.raises(EncodingError, match="hold 5 points"):
        ms.Point.from_bytes(data, "zcash", curve=curve)


@field_case("MI-43", "MI-44")
def test_points_that_are_not_where_they_should(field_case: str) -> None:
    """An x with no y is refused, never replaced; a point outside the subgroup is refused where that is asked for."""
    curve = ms.curve("bls12-381")
    x = next(x for x in range(100) if pow(x**3 + 4, (curve.p - 1) // 2, curve.p) == curve.p - 1)
    with pytest.raises(EncodingError, match="point 1"):
        curve.decode(curve.generator.to_bytes("zcash") + bytes([0x80]) + x.to_bytes(47, "big"), "zcash")
    small = curve.point(0, 2)
    data = curve.generator.to_bytes("zcash") + small.to_bytes("zcash")
    assert list(curve.decode(data, "zcash")) == [curve.generator, small]
    with pytest.raises(NotInSubgroupError, match="point 1"):
        curve.decode(data, "zcash", check="subgroup")
    off = curve.generator.to_bytes("sec", compressed=False)
    with pytest.raises(EncodingError):
        curve.decode(off[:-1] + bytes([off[-1] ^ 1]), "sec", compressed=False)
