"""GPM, the finer counters of Hopper and later: shares of time between two readings, in per cent.

Absent on older cards, in MIG slices and in most guests; the first refusal ends it. About 0.2 ms a reading.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

__all__ = ["Gpm"]

_METRICS = {
    "sm_util": "NVML_GPM_METRIC_SM_UTIL",
    "sm_occupancy": "NVML_GPM_METRIC_SM_OCCUPANCY",
    "integer_util": "NVML_GPM_METRIC_INTEGER_UTIL",
    "dram_util": "NVML_GPM_METRIC_DRAM_BW_UTIL",
}


class Gpm:
    """Two samples taken in turn; each reading compares the newer with the older."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        self._samples: list[Any] = []
        self._filled = 0
        try:
            if nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice:
                self._samples = [nvml.nvmlGpmSampleAlloc() for _ in range(2)]
        except (nvml.NVMLError, AttributeError):
            self._samples = []

    def read(self) -> dict[str, float]:
        """Shares since the last reading; empty at first, and where GPM is not to be had."""
        if not self._samples:
            return {}
        try:
            older, newer = self._samples
            self._nvml.nvmlGpmSampleGet(self._handle, newer)
            self._samples = [newer, older]
            self._filled += 1
            return self._metrics(older, newer) if self._filled > 1 else {}
        except (self._nvml.NVMLError, AttributeError):
            self._samples = []
            return {}

    def _metrics(self, older: Any, newer: Any) -> dict[str, float]:
        asked = self._nvml.c_nvmlGpmMetricsGet_t()
        asked.version = self._nvml.NVML_GPM_METRICS_GET_VERSION
        asked.numMetrics = len(_METRICS)
        asked.sample1, asked.sample2 = older, newer
        for slot, constant in enumerate(_METRICS.values()):
            asked.metrics[slot].metricId = getattr(self._nvml, constant)
        self._nvml.nvmlGpmMetricsGet(asked)
        told = zip(_METRICS, asked.metrics, strict=False)
        known = {name: float(metric.value) for name, metric in told if metric.nvmlReturn == 0}
        # An idle card has shares of nothing, which the driver calls NaN: absent here, and no JSON in a record.
        return {name: round(value, 1) for name, value in known.items() if isfinite(value)}
