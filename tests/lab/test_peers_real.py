"""Each real peer that is ready on this machine gives the right sums; none is built here.

A peer that is not built is skipped with the command that would build it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from multiscalar.lab.peers import Fault, FaultKind, Peer, RunAnswer, open_peer
from multiscalar.lab.peers.registry import PEERS

from .peer_inputs import edges, usual, workload

CELLS = [(spec.name, curve) for spec in PEERS.values() if spec.place == "cpu" for curve in spec.curves]


@pytest.fixture
def peer(request: pytest.FixtureRequest):
    """The peer, in the build for two threads in the tests that ask for two."""
    opened = open_peer(request.param, build=False, threads=2 if "two_threads" in request.node.name else 1)
    if isinstance(opened, Fault):
        assert opened.status == FaultKind.UNAVAILABLE
        pytest.skip(f"{request.param}: {opened.reason}")
    yield opened
    opened.close()


@pytest.mark.parametrize(("peer", "curve"), CELLS, indirect=["peer"])
@pytest.mark.parametrize("kind", ["usual", "edges"])
def test_sums_are_right(peer: Peer, curve: str, kind: str, tmp_path: Path) -> None:
    work = workload(curve, usual(curve, 70) if kind == "usual" else edges(curve), tmp_path)
    loaded = peer.load(curve=curve, n=work.n, points=work.points, scalars=work.scalars)
    assert not isinstance(loaded, Fault), loaded
    for n in (0, 1, 2, 14, 15, 33, work.n):
        answer = peer.run(n=n, repeats=2, warmups=1, threads=1)
        assert isinstance(answer, RunAnswer), answer
        assert (answer.x, answer.y, answer.is_infinity) == work.expected(n), n
        assert answer.agree
        assert all(sample.wall_ns > 0 or n == 0 for sample in answer.samples)
    whole = peer.run(scope="end-to-end")
    assert isinstance(whole, RunAnswer), whole
    assert (whole.x, whole.y, whole.is_infinity) == work.expected()


@pytest.mark.parametrize(("peer", "curve"), CELLS, indirect=["peer"])
def test_two_threads_give_the_same_sum(peer: Peer, curve: str, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor")
    work = workload(curve, usual(curve, 70), tmp_path)
    peer.load(curve=curve, n=work.n, points=work.points, scalars=work.scalars)
    answer = peer.run(threads=2, repeats=2)
    if isinstance(answer, Fault):
        assert answer.status == FaultKind.UNSUPPORTED, answer
        pytest.skip(f"this build has one thread: {answer.reason}")
    assert (answer.x, answer.y, answer.is_infinity) == work.expected()
    assert answer.agree
    assert answer.evidence["threads_asked"] == 2


@pytest.mark.parametrize(("peer", "curve"), CELLS, indirect=["peer"])
def test_a_scalar_outside_the_range_is_a_fault_or_right(peer: Peer, curve: str, tmp_path: Path) -> None:
    """r + 5 is refused, or taken as 5 by libraries that reduce; it is never anything else."""
    from multiscalar._tables import CURVES

    table = CURVES[curve]
    work = workload(curve, [(table.generator, table.r + 5), (table.generator, 3)], tmp_path)
    loaded = peer.load(curve=curve, n=work.n, points=work.points, scalars=work.scalars)
    answer = loaded if isinstance(loaded, Fault) else peer.run()
    if isinstance(answer, Fault):
        assert answer.status == FaultKind.ERROR
    else:
        assert isinstance(answer, RunAnswer)
        assert (answer.x, answer.y, answer.is_infinity) == work.expected()
