"""From options to a plan: which subjects, on which cases, in which order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import typer

from ..lab.lacks import lack, own_lack
from ..lab.msmcase import Kind, Question, msm_case, question_of
from ..lab.subject import Case, Scope, Subject
from ..lab.subjects.own import Own
from .options import fail

__all__ = ["OWN", "Plan", "controls", "known", "needed", "own_subjects", "peer_subjects", "questions"]

OWN = ("cpu", "cuda", "auto")


@dataclass(frozen=True)
class Plan:
    """Cases in order, each put to all subjects."""

    cases: Sequence[Case]
    subjects: Sequence[Subject]

    @property
    def sizes(self) -> list[int]:
        """Number of terms of every row to come."""
        return [int(case.labels["n"] or 0) for case in self.cases for _ in self.subjects]


def own_subjects(asked: Sequence[str] | None, *, fresh: bool = False) -> list[Subject]:
    """Our backends, in this process or (`fresh`) in one of their own. Asked by name they are taken as they are (and
    may become UNAVAILABLE rows); by default `cpu`, and where a GPU is to be had `cuda` and `auto` as well; else one
    line on stderr says why not.
    """
    if asked is not None:
        return [_own(name, fresh) for name in asked]
    missing = own_lack("cuda")
    if missing is None:
        return [_own(name, fresh) for name in OWN]
    typer.echo(f"cuda: {missing.what}; not measured", err=True)
    return [_own("cpu", fresh)]


def needed(paths: Sequence[str], otherwise: str = "") -> None:
    """End the command if one of `paths` cannot be measured here, before time goes into the others."""
    found = {path: missing for path in paths if (missing := lack(path))}
    if found:
        told = "; ".join(f"{path} is not to be had here: {missing}" for path, missing in found.items())
        raise fail(told + otherwise, 3)


def _own(name: str, fresh: bool) -> Subject:
    if not fresh:
        return Own(name)
    from ..lab.subjects.peer import own_program

    return own_program(name)


def known(names: Sequence[str], ours: Sequence[str] = ()) -> None:
    """End the command for a name that neither a peer nor one of `ours` has, before anything is measured."""
    from ..lab.peers import Fault
    from ..lab.peers.registry import find, peer_names

    for name in names:
        if name not in ours and isinstance(find(name.partition(":")[0]), Fault):
            raise fail(f"{name!r} is not one of {', '.join((*ours, *peer_names()))}")


def peer_subjects(names: Sequence[str], *, build: bool = True) -> list[Subject]:
    """Peers by name, built on first use; one that is not to be had becomes an UNAVAILABLE row, a name that no peer has
    ends the command.
    """
    if not names:
        return []
    known(names)
    from ..lab.subjects.peer import peer_subject

    def say(line: str) -> None:
        typer.echo(line, err=True)

    return [peer_subject(name, build=build, say=say) for name in names]


def questions(
    *,
    curves: Sequence[str],
    sizes: Sequence[int],
    seed: int,
    shapes: Sequence[str] = ("uniform",),
    scopes: Sequence[Scope] = (Scope.END_TO_END,),
    isas: Sequence[str] = ("auto",),
    threads: Sequence[int | None] = (None,),
    batches: Sequence[int] = (1,),
    precomputes: Sequence[str | None] = (None,),
    inputs: Kind = Kind.KNOWN,
) -> list[Case]:
    """The cases of every combination; what changes the inputs varies slowest, so that they are made once."""
    return [
        msm_case(
            Question(
                curve=curve,
                n=n,
                seed=seed,
                shape=shape,
                scope=scope,
                threads=count,
                isa=isa,
                batch=batch,
                precompute=precompute,
                inputs=inputs,
            )
        )
        for curve, shape, n, batch, scope, isa, precompute, count in itertools.product(
            curves, shapes, sizes, batches, scopes, isas, precomputes, threads
        )
    ]


def controls(cases: Sequence[Case]) -> list[Case]:
    """One case a curve with independent points, at its median size: the control of related inputs."""
    by_curve: dict[str, list[Question]] = {}
    for case in cases:
        question = question_of(case)
        by_curve.setdefault(question.curve, []).append(question)
    picked = (sorted(asked, key=lambda q: q.n)[(len(asked) - 1) // 2] for asked in by_curve.values())
    return [msm_case(replace(question, inputs=Kind.INDEPENDENT)) for question in picked]
