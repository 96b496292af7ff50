"""From measurements to the page: sections with their charts, tables and words, filled into one template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from jinja2 import Environment
from markupsafe import Markup

from ...dispatch.calibrate import HOLD_OUT
from ..calibration import HEADER as REGRET_HEADER
from ..calibration import judged, regret_rows
from ..check import check
from ..crossover import crossings
from ..diagnose.words import finding_text, headline
from ..doctor import diagnoses
from ..formats.layout import HEADER, cells, groups
from ..formats.markdown import to_markdown
from ..record import Cell, Measurements
from ..rows import Row, make_row
from ..sizes import size_text
from ..status import Status
from ..stories.cutoff import PAIRS, series
from .charts import clock_chart, cost_chart, split_chart, strip_chart

__all__ = ["build_report"]

_Made = TypeVar("_Made")
_MOST_CLOCK_CHARTS = 6
_MOST_BYTES = 950_000  # the page promises less than 1 MB


@dataclass(frozen=True)
class _Diet:
    """What a page of a large record goes without: most points of a strip, and parts that say nothing new."""

    points: int = 4000
    left_out: tuple[str, ...] = ()

    def has(self, part: str) -> bool:
        return part not in self.left_out


_STRIPS, _MARKDOWN, _SPLITS = "the samples one by one", "the rows as Markdown", "the split into copies and computation"
# From all to least. What is left out can be had from the record by other commands; medians and intervals stay.
_DIETS = (
    _Diet(4000),
    _Diet(1000),
    _Diet(250),
    _Diet(250, (_MARKDOWN,)),
    _Diet(0, (_STRIPS, _MARKDOWN)),
    _Diet(0, (_STRIPS, _MARKDOWN, _SPLITS)),
)


@dataclass(frozen=True)
class Group:
    """Rows that share curve, scope, shape, threads: one section of the page."""

    title: str
    anchor: str
    table: list[tuple[str, ...]]
    cost: Markup | None
    strip: Markup | None
    strip_note: str
    split: Markup | None
    sentence: str


@dataclass(frozen=True)
class Explained:
    """A diagnosis as the page shows it."""

    name: str
    headline: str
    steady: bool
    findings: list[str]
    silent: str
    chart: Markup | None


def build_report(measurements: Measurements, title: str = "MSM benchmark") -> str:
    """One HTML document, UTF-8, under 1 MB: parts of it are thinned or left out until it is, and the page says so.

    Nothing is left to leave out of a record of several thousand cells: its tables alone take more.
    """
    drawn = _Drawn()
    for diet in _DIETS:
        text = _render(measurements, title, diet, drawn)
        if len(text.encode()) <= _MOST_BYTES:
            break
    return text


class _Drawn(dict[str, Any]):
    """Charts that several diets show alike, drawn once."""

    def once(self, key: str, draw: Callable[[], _Made]) -> _Made:
        """What `draw` makes, or made before under that key."""
        if key not in self:
            self[key] = draw()
        made: _Made = self[key]
        return made


def _render(measurements: Measurements, title: str, diet: _Diet, drawn: _Drawn) -> str:
    made = [make_row(cell) for cell in measurements.cells.values()]
    paths = list(dict.fromkeys(row.path for row in made))
    palette = {path: index for index, path in enumerate(paths)}
    by_key = {id(row): cell for row, cell in zip(made, measurements.cells.values(), strict=True)}
    sections = [
        _group(name, [(row, by_key[id(row)]) for row in members], palette, index, diet, drawn)
        for index, (name, members) in enumerate(groups(made))
    ]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_asset("page.html.j2"))
    findings = check(measurements)
    return template.render(
        title=title,
        header=HEADER,
        groups=sections,
        runs=[_run(run) for run in measurements.runs],
        statuses=_statuses(made),
        paths=list(enumerate(paths)),
        explained=drawn.once("diagnosis", partial(_explained, measurements)),
        regret_header=REGRET_HEADER,
        regrets=regret_rows(judged(measurements)),
        findings=findings,
        failures=sum(f.level == "FAIL" for f in findings),
        headline=_headline(made),
        markdown=to_markdown(made) if diet.has(_MARKDOWN) else "",
        left_out=diet.left_out,
        style=Markup(_asset("page.css")),
        script=Markup(_asset("page.js")),
    )  # fmt: skip


def _asset(name: str) -> str:
    return files("multiscalar.lab.report").joinpath(name).read_text(encoding="utf-8")


def _group(
    name: str, members: Sequence[tuple[Row, Cell]], palette: dict[str, int], index: int, diet: _Diet, drawn: _Drawn
) -> Group:
    rows, owners = [row for row, _ in members], [cell for _, cell in members]
    timed = [row for row in rows if row.wall is not None]
    sizes = {row.size for row in timed}
    times = series(Measurements(cells={cell.id: cell for cell in owners}))
    found = [
        crossing
        for cpu, gpu, _ in PAIRS
        if cpu in times and gpu in times
        for crossing in crossings(times[cpu], times[gpu], (cpu, gpu))
    ]
    strips = timed and diet.has(_STRIPS) and owners[0].labels.get("role") != HOLD_OUT  # those have a table of their own
    draw = partial(strip_chart, owners, palette, f"strip{index}", diet.points)
    strip, note = drawn.once(f"strip{index} of {diet.points}", draw) if strips else ("", "")
    splittable = any(row.copy_us is not None and row.place != "cpu" and row.median_us for row in rows)
    draw_cost = partial(cost_chart, rows, palette, found, f"cost{index}")
    draw_split = partial(split_chart, rows, f"split{index}")
    return Group(
        title=name,
        anchor=f"group-{index}",
        table=[cells(row, rows) for row in rows],
        cost=Markup(drawn.once(f"cost{index}", draw_cost)) if len(sizes) > 1 else None,
        strip=Markup(strip) if strip else None,
        strip_note=note,
        split=Markup(drawn.once(f"split{index}", draw_split)) if splittable and diet.has(_SPLITS) else None,
        sentence=" ".join(
            f"{c.after} is faster from n = {c.n:,.0f} on (interval {c.low:,.0f} to {c.high:,.0f})." for c in found
        ),
    )


def _explained(measurements: Measurements) -> list[Explained]:
    """Diagnoses of cells that were watched, the unsteadiest first."""
    if not measurements.traces:
        return []
    found = sorted(diagnoses(measurements), key=lambda item: -item[1].variation)
    return [
        Explained(
            name=f"{cell.path}, {cell.labels.get('curve', '')} {size_text(cell.labels['n'])}",
            headline=headline(diagnosis),
            steady=diagnosis.steady,
            findings=[finding_text(finding) for finding in diagnosis.findings],
            silent=", ".join(diagnosis.silent_fields),
            chart=Markup(clock_chart(cell, measurements.traces, f"clock{i}")) if i < _MOST_CLOCK_CHARTS else None,
        )
        for i, (cell, diagnosis) in enumerate(found)
    ]


def _headline(rows: Sequence[Row]) -> list[str]:
    """A sentence a group: who is fastest at the largest size, and by how much, by the clock that suits."""
    out = []
    for name, members in groups(rows):
        timed = [row for row in members if row.median_us and row.labels.get("role") != HOLD_OUT]
        if not timed:
            continue
        by_cpu = all(row.serial for row in timed)
        largest = max(row.size for row in timed)
        times = sorted(
            ((row.cpu_us if by_cpu else row.median_us) or 0, row.path) for row in timed if row.size == largest
        )
        if len(times) > 1:
            (first, fastest), (second, next_) = times[:2]
            words = f"{second / first:.2f} times as fast as" if second > 1.03 * first else "level with"
            clock = " by CPU time" if by_cpu else ""
            out.append(f"{name}, {size_text(largest)}: {fastest} is {words} {next_}{clock}.")
    return out


def _statuses(rows: Sequence[Row]) -> list[tuple[str, int]]:
    counted = [(str(status), sum(row.status is status for row in rows)) for status in Status]
    return [(name, count) for name, count in counted if count]


def _run(run: dict[str, Any]) -> dict[str, Any]:
    """A run's facts, flat, for the page."""
    machine = run.get("machine", {})
    facts = [("system", machine.get("system"))]
    facts += [(f"CPU {key.replace('_', ' ')}", value) for key, value in machine.get("cpu", {}).items()]
    facts += [(f"GPU {key.replace('_', ' ')}", value) for key, value in machine.get("gpu", {}).items()]
    facts += [(f"version of {key}", value) for key, value in run.get("versions", {}).items()]
    return {
        "id": run["run"],
        "started": run["started"],
        "command": run.get("command", ""),
        "seed": run["seed"],
        "facts": [(key.removesuffix(" bytes"), _fact(key, value)) for key, value in facts if value is not None],
    }


def _fact(key: str, value: Any) -> str:
    """A fact in words: sizes in GiB, lists with commas, floats with three digits."""
    if key.endswith(" bytes") and isinstance(value, int):
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
