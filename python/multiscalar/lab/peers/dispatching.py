"""snarkVM's public dispatch, rebuilt from its two halves: above 1,024 terms the GPU, and the CPU if the GPU fails.

snarkVM's published CUDA crate lacks its kernels' sources and build script, so its `VariableBase::msm` with the feature
`cuda` cannot be built from the registry. Its dispatch is six lines (algorithms/src/msm/variable_base/mod.rs, 4.12):
here they run over snarkVM's own CPU path and over sppark called as snarkVM's wrapper calls it. Like there, a GPU error
is answered by the CPU; unlike there, the answer says so (`fallback_reason`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .client import LOAD_LIMIT_S, RUN_LIMIT_S, Peer
from .faults import Fault
from .protocol import LoadAnswer, RunAnswer

__all__ = ["CUTOFF", "DispatchingPeer"]

# `scalars.len() > 1024` goes to the GPU.
CUTOFF = 1024


@dataclass
class DispatchingPeer(Peer):
    """Two peers behind one face: `process`, `hello` and the rest are the CPU's; `gpu` answers above the cutoff."""

    gpu: Peer | None = None
    loaded: int = 0

    def facts(self) -> dict[str, Any]:
        """Both halves."""
        halves = {"cpu": super().facts(), "gpu": self.gpu.facts() if self.gpu else None}
        return {**super().facts(), "path": "dispatch", "cutoff": CUTOFF, "halves": halves}

    def load(
        self,
        *,
        curve: str,
        n: int,
        points: Path,
        scalars: Path,
        form: str = "canonical",
        scalar_form: str = "canonical",
        group: str = "g1",
        limit_s: float = LOAD_LIMIT_S,
    ) -> LoadAnswer | Fault:
        """Both halves read the files."""
        self.loaded = n
        asked: dict[str, Any] = {"curve": curve, "n": n, "points": points, "scalars": scalars, "form": form}
        asked |= {"scalar_form": scalar_form, "group": group, "limit_s": limit_s}
        answer = super().load(**asked)
        return answer if isinstance(answer, Fault) or self.gpu is None else self.gpu.load(**asked)

    def run(
        self,
        *,
        scope: str = "end-to-end",
        warmups: int = 0,
        repeats: int = 1,
        threads: int = 1,
        options: Mapping[str, Any] | None = None,
        n: int | None = None,
        path: str | None = None,
        limit_s: float = RUN_LIMIT_S,
    ) -> RunAnswer | Fault:
        """The GPU above the cutoff, else the CPU; a GPU error is answered by the CPU and named in the evidence."""
        asked: dict[str, Any] = {"warmups": warmups, "repeats": repeats, "threads": threads, "options": options, "n": n}
        reason = None
        if self.gpu is not None and (self.loaded if n is None else n) > CUTOFF:
            answer = self.gpu.run(scope=scope, limit_s=limit_s, **asked)
            if not isinstance(answer, Fault):
                return answer
            reason = f"{answer.status}: {answer.reason}"
        answer = super().run(scope=scope, limit_s=limit_s, **asked)
        if isinstance(answer, Fault) or reason is None:
            return answer
        return replace(answer, evidence={**answer.evidence, "fallback_reason": reason})

    def close(self) -> None:
        """End both."""
        super().close()
        if self.gpu is not None:
            self.gpu.close()
