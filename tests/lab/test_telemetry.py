"""Telemetry: absent is not zero, cards are matched by UUID, nothing raises, nothing is slow."""

from __future__ import annotations

import itertools
import sys
import time
from types import SimpleNamespace

import pytest
from multiscalar.lab import machine
from multiscalar.lab.subjects.peer import ProgramSubject
from multiscalar.lab.telemetry.gpm import Gpm
from multiscalar.lab.telemetry.host import HostSampler
from multiscalar.lab.telemetry.nvml import Device, open_device
from multiscalar.lab.telemetry.sampler import Sampler

from tests.patience import PATIENCE_S


class NVMLError(Exception):
    pass


class LibraryNotFound(NVMLError):
    pass


def _always(answer):
    return lambda *arguments: answer


class FakeNvml(SimpleNamespace):
    """Answers a few questions; every other one is NOT_SUPPORTED, as on WSL2 or a GeForce card."""

    NVMLError = NVMLError
    NVMLError_LibraryNotFound = LibraryNotFound
    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2

    def __init__(self, **answers):
        super().__init__(asked=[], **{name: _always(answer) for name, answer in answers.items()})

    def __getattr__(self, name):
        if not name.startswith("nvml"):
            return 0

        def refuse(*arguments):
            self.asked.append(name)
            raise NVMLError("Not Supported")

        return refuse


def test_fields_that_are_not_answered_are_absent_and_asked_once():
    nvml = FakeNvml(nvmlDeviceGetClockInfo=1400, nvmlDeviceGetPerformanceState=5)
    device = Device(nvml, "handle")
    assert device.sample() == {"sm_mhz": 1400, "mem_mhz": 1400, "pstate": 5}
    asked = len(nvml.asked)
    assert device.sample() == {"sm_mhz": 1400, "mem_mhz": 1400, "pstate": 5}
    assert len(nvml.asked) == asked
    assert device.sm_clock() == 1400.0


def test_event_reasons_have_names():
    nvml = FakeNvml(nvmlDeviceGetCurrentClocksEventReasons=0x24)
    assert Device(nvml, "h").sample()["reasons"] == ["sw-power-cap", "sw-thermal"]


def test_a_silent_driver_has_no_facts_and_no_clock():
    device = Device(FakeNvml(), "h")
    assert (device.sample(), device.facts(), device.sm_clock()) == ({}, {}, None)


def test_gpm_needs_two_samples_and_survives_refusal():
    class Metrics(SimpleNamespace):
        def __init__(self):
            values = (17.04, float("nan"), float("inf"), 3.0)
            super().__init__(metrics=[SimpleNamespace(value=value, nvmlReturn=0) for value in values])

    answers = {"nvmlGpmQueryDeviceSupport": SimpleNamespace(isSupportedDevice=1), "nvmlGpmSampleAlloc": object(),
               "nvmlGpmSampleGet": None, "nvmlGpmMetricsGet": None}  # fmt: skip
    nvml = FakeNvml(**answers)
    nvml.c_nvmlGpmMetricsGet_t = Metrics
    gpm = Gpm(nvml, "h")
    assert gpm.read() == {}
    assert gpm.read() == {"sm_util": 17.0, "dram_util": 3.0}, "an idle card's NaN is absent"
    refusing = FakeNvml(**{**answers, "nvmlGpmSampleGet": None})
    del refusing.nvmlGpmSampleGet
    gpm = Gpm(refusing, "h")
    assert (gpm.read(), gpm.read()) == ({}, {})
    assert Gpm(FakeNvml(), "h").read() == {}


def fake_cards(monkeypatch, *uuids):
    nvml = FakeNvml(nvmlInit=None, nvmlDeviceGetCount=len(uuids))
    nvml.nvmlDeviceGetHandleByIndex = lambda index: index
    nvml.nvmlDeviceGetUUID = lambda handle: uuids[handle]
    nvml.nvmlDeviceGetName = lambda handle: f"card {handle}"
    monkeypatch.setitem(sys.modules, "pynvml", nvml)


def test_cards_are_matched_by_uuid_however_it_is_written(monkeypatch):
    fake_cards(monkeypatch, "GPU-aaaa-11", "GPU-bbbb-22")
    for wanted in ("GPU-bbbb-22", "bbbb22", "GPU-bbbb", "1"):
        device, _ = open_device(wanted)
        assert device is not None
        assert device.facts()["name"] == "card 1"
    assert open_device("cccc")[0] is None


def test_visible_devices_choose_the_card(monkeypatch):
    fake_cards(monkeypatch, "GPU-aaaa-11", "GPU-bbbb-22")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-bbbb-22,GPU-aaaa-11")
    device, _ = open_device()
    assert device is not None
    assert device.facts()["name"] == "card 1"


def test_no_driver_and_no_package_are_reasons(monkeypatch):
    nvml = FakeNvml()

    def missing():
        raise LibraryNotFound

    nvml.nvmlInit = missing
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert open_device() == (None, "no NVIDIA driver on this machine")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert open_device() == (None, "nvidia-ml-py is not installed")


def write_stat(proc, user, idle, steal):
    proc.joinpath("stat").write_text(f"cpu  {user} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 1 2\n")


def test_host_shares_come_from_differences(tmp_path):
    write_stat(tmp_path, 100, 100, 0)
    sampler = HostSampler(proc=tmp_path, sys=tmp_path)
    sampler.sample()
    write_stat(tmp_path, 150, 130, 20)
    found = sampler.sample()
    assert found["steal"] == 0.2
    assert found["busy"] == 0.7
    assert found["others_cpus"] > 1
    assert "cpu_mhz" not in found


def test_without_proc_the_fields_are_absent(tmp_path):
    sampler = HostSampler(proc=tmp_path, sys=tmp_path)
    assert set(sampler.sample()) <= {"load1"}


def test_our_own_work_is_not_others():
    sampler = HostSampler()
    sampler.sample()
    start = time.process_time()
    while time.process_time() - start < 0.2:
        pass
    busy = sampler.sample()
    assert busy["busy"] > 0


def test_sampler_reads_in_the_background_and_drains():
    device = Device(FakeNvml(nvmlDeviceGetClockInfo=900), "h")
    with Sampler(device, period_s=0.005) as sampler:
        deadline = time.monotonic() + PATIENCE_S
        readings = []
        while len(readings) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
            readings += sampler.drain()
    assert len(readings) >= 3
    assert readings[0].fields["sm_mhz"] == 900
    assert [r.at_ns for r in readings] == sorted(r.at_ns for r in readings)
    sampler.drain()
    assert sampler.drain() == []


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"/proc/self/cgroup": "0::/", "/sys/fs/cgroup/cpu.max": "150000 100000"}, 1.5),
        ({"/proc/self/cgroup": "0::/a", "/sys/fs/cgroup/a/cpu.max": "max 100000"}, None),
        ({"/proc/self/cgroup": "0::/a", "/sys/fs/cgroup/a/cpu.max": "400000 100000"}, 4.0),
        ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 0.5),
        ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_cgroup_quota_of_both_versions(monkeypatch, files, quota):
    monkeypatch.setattr(machine, "_read", lambda path: files.get(str(path)))
    assert machine.cgroup_quota() == quota
    assert machine.usable_cpus() >= 1


def test_machine_facts_name_no_serial():
    facts = machine.machine_facts()
    assert facts["cpu"]["model"]
    assert "uuid" not in facts["gpu"]
    assert {"python", "multiscalar", "core_digest", "kernels_digest"} <= machine.version_facts().keys()


def test_the_sampler_outlives_a_reading_that_fails(monkeypatch):
    """A subject may end, a driver may fall over: later readings come all the same."""
    sampler = Sampler(None, period_s=0.001)
    count, read = itertools.count(), sampler._read

    def failing(number):
        if next(count) < 2:
            raise AttributeError("'NoneType' object has no attribute 'process'")
        return read(number)

    monkeypatch.setattr(sampler, "_read", failing)
    with sampler:
        deadline = time.monotonic() + PATIENCE_S
        while not (readings := sampler.drain()) and sampler._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.005)
    assert readings


def test_a_program_that_ends_while_its_number_is_asked_for_has_none_or_its_own():
    """`close` on the measuring thread takes the peer away between two looks of the sampler's."""

    class Ending(ProgramSubject):
        looks = 0

        @property
        def _peer(self):
            self.looks += 1
            return SimpleNamespace(process=SimpleNamespace(pid=7)) if self.looks == 1 else None

        @_peer.setter
        def _peer(self, peer):
            pass

    assert Ending("p", lambda threads: None).pid == 7
