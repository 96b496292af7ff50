"""What a user reads where there is no driver, no compiler, no GPU: one error, with the next step."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from multiscalar import errors, extras
from multiscalar.cuda import driver

from tests.patience import PATIENCE_S


def run(program: str) -> str:
    """Run `program` in a fresh interpreter; a module can be hidden there without harm to this one."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_the_package() -> None:
    out = run(
        """
        import sys
        sys.modules["cuda"] = None
        sys.modules["cuda.bindings"] = None
        from multiscalar.cuda import device
        print(device.unavailable())
        """
    )
    assert "cuda-core" in out
    assert extras.HINT in out


def test_without_a_driver() -> None:
    pytest.importorskip("cuda.bindings", exc_type=ImportError, reason="needs the extra cu13 or cu12")
    out = run(
        """
        from cuda.bindings import driver
        def missing(flags):
            raise RuntimeError("libcuda.so: not found")
        driver.cuInit = missing
        from multiscalar.cuda import device
        print(device.unavailable())
        """
    )
    assert "no NVIDIA driver" in out
    assert "backend='cpu'" in out


def test_without_a_device() -> None:
    pytest.importorskip("cuda.bindings", exc_type=ImportError, reason="needs the extra cu13 or cu12")
    out = run(
        """
        from cuda.bindings import driver
        driver.cuInit = lambda flags: (driver.CUresult.CUDA_ERROR_NO_DEVICE,)
        from multiscalar.cuda import device
        print(device.unavailable())
        """
    )
    assert "CUDA_VISIBLE_DEVICES" in out


@pytest.mark.parametrize(
    ("name", "kind", "word"),
    [
        ("CUDA_ERROR_OUT_OF_MEMORY", errors.OutOfMemoryError, "memory"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", errors.DeviceError, "Restart the process"),
        ("CUDA_ERROR_NO_BINARY_FOR_GPU", errors.DeviceError, "kernel cache"),
        ("CUDA_ERROR_UNKNOWN", errors.DeviceError, "nvidia-smi"),
    ],
)
def test_every_status_says_what_to_do(name: str, kind: type[Exception], word: str) -> None:
    error = driver.failure("cuLaunchKernel", name)
    assert isinstance(error, kind)
    assert word in str(error)


def test_a_child_of_a_process_that_used_the_gpu_gets_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_api", object())
    monkeypatch.setattr(driver, "_owner", -1)
    with pytest.raises(errors.ForkError, match="spawn"):
        driver.load()
