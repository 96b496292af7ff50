"""Why `auto` would choose what it chooses: the sentence and the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..curves import curve as find_curve
from ..engine.backend import Request
from ..errors import OptionError
from ..settings import origin, parse_size, setting
from .chooser import ProfileChooser, chooser, nearest, series_of
from .machine import this_machine
from .model import Boundary, Prediction


@dataclass(frozen=True)
class Explanation:
    """What `explain` found; `str()` is the text that `msm explain` prints."""

    request: Request
    backend: str
    reason: str
    cpu: Prediction | None
    gpu: Prediction | None
    boundaries: tuple[Boundary, ...]
    profile: str
    measured: str
    differs: tuple[str, ...]
    overridden_by: str
    regret: tuple[float, float] | None
    first_call_us: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.request.curve} G1, n = {self.request.n:,} ({self.request.scope}) -> {self.backend}"]
        if self.cpu and self.gpu:
            lines.append(f"  cpu {_time(self.cpu)}   gpu {_time(self.gpu)}   {_ratio(self.cpu, self.gpu)}")
        elif self.cpu:
            lines.append(f"  cpu {_time(self.cpu)}   gpu not measured")
        for boundary in self.boundaries:
            lines.append(
                f"  crossover at n = {boundary.n:,} [{boundary.low:,.0f}, {boundary.high:,.0f}]: {boundary.after} above"
            )
        if not self.boundaries and self.cpu and self.gpu:
            lines.append("  no crossover in the measured range")
        lines.append(f"  {self.profile}{': ' + self.measured if self.measured else ''}")
        lines += [f"  differs: {text}" for text in self.differs]
        lines.append(f"  overridden by: {self.overridden_by or 'nothing'}")
        if self.regret:
            lines.append(f"  regret on hold-out sizes: {self.regret[0]:.1%} median, {self.regret[1]:.1%} p95")
        if self.first_call_us:
            told = ", ".join(f"{side} {us / 1e3:,.0f} ms" for side, us in self.first_call_us.items())
            lines.append(f"  the first call of a process takes: {told}")
        lines.append(f"  because: {self.reason}")
        return "\n".join(lines)


def explain(
    n: int | str,
    curve: str = "bls12-377",
    *,
    scope: str = "end-to-end",
    batch: int = 1,
    precompute: int | str | None = None,
    scalar_bits: int = 256,
    policy: ProfileChooser | None = None,
) -> Explanation:
    """Which backend `auto` takes for this call, and every number that the choice rests on. Measures nothing."""
    rules = policy or chooser()
    try:
        size = parse_size(n)
    except (ValueError, TypeError) as error:
        raise OptionError(f"n = {n!r} is no size", accepted='a whole number, "1,025" or "2^16"') from error
    request = Request(find_curve(curve).name, size, scope, batch, precompute=precompute, scalar_bits=scalar_bits)
    choice = rules.choose(request)
    profile = rules.profile()
    if profile is None:
        return Explanation(
            request, _forced() or choice.backend, choice.reason, None, None, (),
            "no profile of this machine", "run `msm calibrate`", (), _override(), None,
        )  # fmt: skip
    pair, series = nearest(profile, series_of(request))
    here = this_machine()
    differs = [f"{name}: {a} in the profile, {b} here" for name, (a, b) in profile.machine.mismatch(here).items()]
    differs += [f"{name}: {a} -> {b} (kept)" for name, (a, b) in profile.machine.drift(here).items()]
    if series is not None and series != series_of(request):
        differs.append(f"nearest series measured is {series.key()}")
    regrets = list(profile.hold_out.get(series.key(), {}).values()) if series else []
    return Explanation(
        request=request,
        backend=_forced() or choice.backend,
        reason=choice.reason,
        cpu=pair[0].predict(request.n) if pair else None,
        gpu=pair[1].predict(request.n) if pair else None,
        boundaries=rules.decision(request).found,
        profile=f"profile {profile.id} ({profile.origin})" + (", marked unstable" if profile.unstable else ""),
        measured=f"measured {profile.measured_at}",
        differs=tuple(differs),
        overridden_by=_override(),
        regret=(float(np.median(regrets)), float(np.percentile(regrets, 95))) if regrets else None,
        first_call_us={
            side: profile.first_call_us[name]
            for side in ("cpu", "cuda")
            if (name := f"{request.curve}/{side}") in profile.first_call_us
        },
    )


def _forced() -> str | None:
    backend = setting("backend")
    return None if backend == "auto" else backend


def _override() -> str:
    parts = [f"backend={setting('backend')} ({origin('backend')})"] if _forced() else []
    if setting("crossover") is not None:
        parts.append(f"crossover={setting('crossover')} ({origin('crossover')})")
    return ", ".join(parts)


def _time(prediction: Prediction) -> str:
    scale, unit = (1e3, "ms") if prediction.us >= 1000 else (1, "us")
    values = [value / scale for value in (prediction.us, prediction.low, prediction.high)]
    text = f"{values[0]:.3g} {unit} [{values[1]:.3g}, {values[2]:.3g}]"
    return text + " (extrapolated)" if prediction.extrapolated else text


def _ratio(cpu: Prediction, gpu: Prediction) -> str:
    factor = cpu.us / gpu.us
    return f"{factor:.1f}x GPU faster" if factor >= 1 else f"{1 / factor:.1f}x CPU faster"
