"""Patients by name: how a subject is made anew, what it understands, what can keep its device busy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer

from ..engine import registry
from ..lab.subject import Place, Subject
from ..lab.subjects.own import Own
from ..lab.treatments.catalogue import Patient
from .plan import OWN, known, peer_subjects

__all__ = ["patient", "pulse"]

# Other versions of a library, worst to best by the second story.
_VERSIONS = {
    "icicle-v3.2": ("icicle-v3.9", "icicle-v2"),
    "icicle-v3.9": ("icicle-v2",),
    "icicle-v2": ("icicle-v3.9",),
}
_PULSE_TERMS = 64


def patient(name: str) -> Patient:
    """The subject called `name`: ours, or a peer (started once to learn its options). Another ends the command."""
    known([name], ours=OWN)
    return _own(name) if name in OWN else _peer(name)


def _own(name: str) -> Patient:
    def make(cure: str | None, options: Mapping[str, Any]) -> Subject:
        return Own(name, name=f"{name}+{cure}" if cure else name, options=options)

    place = Own(name).place
    beat = pulse() if place is not Place.CPU else None
    return Patient(name, place, make, frozenset({"window"}), ours=True, pulse=beat)


def _peer(name: str) -> Patient:
    from ..lab.peers import Fault, open_peer
    from ..lab.subjects.peer import peer_subject

    def make(cure: str | None, options: Mapping[str, Any]) -> Subject:
        subject = peer_subject(name, options=options)
        subject.name = f"{name}+{cure}" if cure else name
        return subject

    def sibling(other: str) -> Callable[[], Subject]:
        return lambda: peer_subjects([other])[0]

    opened = open_peer(name, say=lambda line: typer.echo(line, err=True))
    options: frozenset[str] = frozenset()
    place = peer_subject(name).place
    if not isinstance(opened, Fault):
        options = frozenset(opened.hello.options)
        place = Place.GPU if opened.place == "gpu" else place
        opened.close()
    siblings = {other: sibling(other) for other in _VERSIONS.get(name, ())}
    return Patient(name, place, make, options, own_process=True, pulse=pulse(), siblings=siblings)


def pulse() -> Callable[[], object] | None:
    """A small multiplication on our GPU backend, or None where it is not to be had."""
    if not registry.availability("cuda").usable:
        return None
    import multiscalar as ms

    curve = ms.curve("bn254")
    bases = ms.Bases(curve.known_points(_PULSE_TERMS), backend="cuda")
    scalars = curve.random_scalars(_PULSE_TERMS)
    return lambda: bases.msm(scalars)
