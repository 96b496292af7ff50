"""Settings: argument > using > environment > default, read at call time; strict backends; what auto falls back to."""

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path

import multiscalar as ms
import pytest
from multiscalar import settings
from multiscalar.engine import registry
from multiscalar.engine.backend import Availability, Choice, Request
from multiscalar.errors import BackendUnavailableError, DeviceError, FallbackWarning, OptionError, ScalarRangeError

from tests.fieldcases import field_case

CURVE = ms.curve("bn254")
G = CURVE.generator


def test_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MULTISCALAR_THREADS", raising=False)
    assert settings.setting("threads") is None
    monkeypatch.setenv("MULTISCALAR_THREADS", "7")
    assert (settings.setting("threads"), settings.origin("threads")) == (7, "environment")
    with ms.using(threads=5):
        assert (settings.setting("threads"), settings.origin("threads")) == (5, "using")
        with ms.using(threads=4, isa="scalar"):
            assert settings.setting("threads") == 4
            assert settings.setting("isa") == "scalar"
            assert settings.setting("threads", 3) == 3
            assert settings.origin("threads", 3) == "argument"
        assert settings.setting("threads") == 5
    assert settings.setting("threads") == 7
    monkeypatch.setenv("MULTISCALAR_THREADS", "auto")
    assert settings.setting("threads") is None


@pytest.mark.parametrize("value", [None, "", "7", "caf\u00e9", "\udcff"])
def test_the_fast_look_reads_what_the_environment_holds(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MULTISCALAR_TEST", raising=False)
    looked = settings.watch("MULTISCALAR_TEST", "threads")
    before = looked()
    if value is not None:
        monkeypatch.setenv("MULTISCALAR_TEST", value)
    assert settings.environment("MULTISCALAR_TEST") == os.environ.get("MULTISCALAR_TEST") == value
    assert (looked() == before) is (value is None)
    monkeypatch.delenv("MULTISCALAR_TEST", raising=False)
    assert looked() == before
    with ms.using(threads=3):
        assert looked() != before
    assert looked() == before


def test_without_the_dictionary_behind_it_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_behind", None)
    looked = settings.watch("threads")
    before = looked()
    monkeypatch.setenv("MULTISCALAR_THREADS", "9")
    assert settings.setting("threads") == 9
    assert looked() != before


def test_the_call_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the environment between two calls is seen by the second."""
    points, scalars = CURVE.known_points(400), CURVE.random_scalars(400)
    monkeypatch.setenv("MULTISCALAR_ISA", "scalar")
    assert ms.msm(points, scalars).run.isa == "scalar"
    monkeypatch.setenv("MULTISCALAR_ISA", "nonsense")
    with pytest.raises(OptionError, match=r"MULTISCALAR_ISA.*nonsense.*ifma512"):
        ms.msm(points, scalars)
    with ms.using(isa="scalar"):
        assert ms.Bases(points).msm(scalars).run.isa == "scalar"


def test_scopes_belong_to_a_thread() -> None:
    inner: list[object] = []
    with ms.using(threads=2):
        thread = threading.Thread(target=lambda: inner.append(settings.origin("threads")))
        thread.start()
        thread.join()
    assert inner != ["using"]


@pytest.mark.parametrize(("text", "size"), [("8192", 8192), ("2^13", 8192), ("1_024", 1024), (" 65,536 ", 65536)])
def test_sizes(text: str, size: int) -> None:
    assert settings.parse_size(text) == size
    with ms.using(crossover=text):
        assert settings.setting("crossover") == size


@pytest.mark.parametrize("text", ["", "2^", "-1", "2^99", "1e3", "x", True, 1.5, None])
def test_what_is_no_size(text: object) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)):
        settings.parse_size(text)


def test_the_table_in_the_docs() -> None:
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    assert page.read_text() == settings.page(), "run: python -m multiscalar.settings > docs/settings.md"


class Refusing:
    """A backend that is there and fails, as a lost device would."""

    name = "cuda"
    error: Exception = DeviceError("the device is gone", hint="Reboot.")

    def availability(self) -> Availability:
        return Availability(True)

    def prepare(self, points: object, options: object) -> object:
        raise self.error

    def msm(self, points: object, scalars: object, options: object) -> object:
        raise self.error


class Always:
    """A chooser that wants cuda."""

    def choose(self, request: Request) -> Choice:
        self.seen = request
        return Choice("cuda", "test")


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Always:
    always = Always()
    monkeypatch.setattr(registry, "_loaded", {**registry._loaded, "cuda": Refusing()})
    monkeypatch.setattr(registry, "_chooser", [always])
    monkeypatch.setattr(registry, "_fallbacks", {})
    return always


@field_case("MI-28")
def test_auto_falls_back_and_says_so(field_case: str, refusing: Always) -> None:
    with pytest.warns(FallbackWarning, match="the device is gone"):
        found = ms.msm([G, G], [2, 3])
    assert found == 5 * G
    assert found.run.backend == "cpu"
    assert "the device is gone" in found.run.fallback_reason
    assert found.run.choice == "test"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bases = ms.Bases([G, G])
        assert bases.msm([1, 1]).run.fallback_reason
        with pytest.raises(ScalarRangeError):
            bases.msm([1, CURVE.r])
    assert registry.fallbacks()["cuda"] >= 3
    assert refusing.seen.n == 2
    assert refusing.seen.scope == "resident-bases"


@field_case("MI-28", "MI-29")
def test_a_request_by_name_is_strict(field_case: str, refusing: Always) -> None:
    for call in (lambda: ms.msm([G], [1], backend="cuda"), lambda: ms.Bases([G], backend="cuda")):
        with pytest.raises(DeviceError, match="the device is gone"):
            call()
    with ms.using(backend="cuda"), pytest.raises(DeviceError):
        ms.msm([G], [1])
    assert registry.fallbacks() == {}


@field_case("MI-28", "MI-29")
def test_without_a_gpu(field_case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if registry.availability("cuda").usable:
        pytest.skip("this machine has a GPU that can be used")
    monkeypatch.setenv("MULTISCALAR_BACKEND", "cuda")
    with pytest.raises(BackendUnavailableError, match="cuda"):
        ms.msm([G], [1])
    monkeypatch.setenv("MULTISCALAR_BACKEND", "auto")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ms.msm([G], [1]).run.backend == "cpu"


def test_log_tells_what_was_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from multiscalar.log import note

    note("dispatch", "nobody asked")
    monkeypatch.setenv("MULTISCALAR_LOG", "off")
    note("dispatch", "nobody asked")
    monkeypatch.setenv("MULTISCALAR_LOG", "dispatch, engine")
    note("dispatch", "this")
    note("cuda", "not this")
    with ms.using(log=["cuda"]):
        note("cuda", "that")
    assert capsys.readouterr().err == "multiscalar dispatch: this\nmultiscalar cuda: that\n"
    with pytest.raises(OptionError, match=r"disptach.*dispatch,cuda,engine"), ms.using(log="disptach"):
        pass


def test_log_of_a_choice(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from multiscalar.dispatch.chooser import ProfileChooser

    monkeypatch.setattr(registry, "_chooser", [ProfileChooser()])
    with ms.using(profile="off", log="dispatch"):
        ms.msm([(1, 2)], [1], curve="bn254")
    assert "multiscalar dispatch: bn254, end-to-end, batch 1: cpu (no profile: CPU)" in capsys.readouterr().err
    with ms.using(profile="off"):
        ms.msm([(1, 2)], [1], curve="bn254", threads=1)
    assert capsys.readouterr().err == ""


def test_every_setting_is_read_somewhere() -> None:
    """A setting that is documented and never read is a promise that nobody keeps."""
    package = Path(ms.__file__).parent
    code = "\n".join(path.read_text() for path in package.rglob("*.py") if path.name != "settings.py")
    assert not [name for name in settings.SETTINGS if f'"{name}"' not in code]
