"""The three versions of the protocol.

V1 and V2 differ in the order of messages. V2 in hiding mode is unsound: with eta_A fixed to 1 nothing forces the
mask to sum to zero, so a prover can prove (Az + e) * Bz = Cz for an e of its choice. V3 draws eta_A too.
"""

from __future__ import annotations

from enum import StrEnum

from ..errors import OptionError


class Version(StrEnum):
    """A version of Varuna; `Version.V3` is the default everywhere."""

    V1 = "v1"
    V2 = "v2"
    V3 = "v3"

    @property
    def domain_tag(self) -> bytes:
        """What the transcript starts with."""
        return b"VARUNA-2026-V3" if self is Version.V3 else b"VARUNA-2023"

    def warning(self, *, hiding: bool) -> str | None:
        """What one must know before relying on this version, or None."""
        if self is Version.V2 and hiding:
            return "Varuna V2 in hiding mode is unsound (eta_A is fixed); use V3 for anything but compatibility"
        return None


def version(name: str | Version) -> Version:
    """The version called `name`: "v1", "v2" or "v3", in any case."""
    try:
        return Version(str(name).lower())
    except ValueError:
        raise OptionError(f"no version of Varuna is called {name!r}", accepted=", ".join(Version)) from None
