"""Verdicts, crossovers, the first story's cutoff, formats and the page."""

from __future__ import annotations

import re
import subprocess
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from multiscalar.lab.compare import Verdict, compare_paths, compare_records, judge
from multiscalar.lab.crossover import crossings
from multiscalar.lab.formats import Format, render
from multiscalar.lab.formats.units import ratio_text, time_text
from multiscalar.lab.formats.verdicts import verdicts_table
from multiscalar.lab.formats.versus import to_versus
from multiscalar.lab.record import gather
from multiscalar.lab.rows import rows
from multiscalar.lab.sizes import parse_sizes, size_text
from multiscalar.lab.stories.cutoff import cutoff_text, find_cutoff, series
from multiscalar.lab.stories.stability import stability_advice, stability_table

from . import stories


def noisy(value, seed, count=15, spread=0.02):
    return np.random.default_rng(seed).lognormal(np.log(value), spread, count)


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, Verdict.SAME), (0.8, Verdict.FASTER), (1.3, Verdict.SLOWER), (0.5, Verdict.FASTER)],
)
def test_verdicts_on_clear_cases(factor, verdict):
    hits = sum(judge(noisy(100, i), noisy(100 * factor, 1000 + i))[0] is verdict for i in range(40))
    assert hits >= 38


def test_equal_builds_are_never_called_different():
    """The A/A test of MI-34: with wide noise a difference is at worst AMBIGUOUS."""
    verdicts = [judge(noisy(100, i, spread=0.1), noisy(100, 500 + i, spread=0.1))[0] for i in range(200)]
    assert sum(v in (Verdict.FASTER, Verdict.SLOWER) for v in verdicts) <= 10


def test_a_burst_on_half_of_the_samples_is_ambiguous_not_slower():
    calm = noisy(100, 1)
    burst = np.concatenate([noisy(100, 2, 7), noisy(160, 3, 8)])
    assert judge(calm, burst)[0] is Verdict.AMBIGUOUS


def test_two_samples_are_too_few():
    assert judge([1.0, 1.0], [2.0, 2.0])[0] is Verdict.AMBIGUOUS


def test_records_are_paired_by_case_and_path_and_unlike_machines_are_named():
    a = stories.cutoff_record()
    lines = [stories.run_line(gpu={"name": "another"})]
    lines += stories.cell("bls12-377", 1024, "cpu", stories.around(6.0, 21, 3), "cpu")
    comparison = compare_records(a, gather(lines))
    (pair,) = comparison.pairs
    assert pair.verdict is Verdict.SLOWER
    assert comparison.exit_code == 1
    assert len(comparison.alone) == len(a.cells) - 1
    assert any("gpu name differs" in warning for warning in comparison.warnings)
    assert "SLOWER" in verdicts_table(comparison)


def test_paths_of_one_record():
    comparison = compare_paths(stories.cutoff_record(), "snarkvm:batched", "snarkvm:cuda")
    by_size = {pair.labels["n"]: pair.verdict for pair in comparison.pairs}
    assert by_size[1025] is Verdict.SLOWER
    assert by_size[65536] is Verdict.FASTER


def test_crossing_is_found_between_the_right_sizes_with_an_interval():
    a = {n: noisy(n, n) for n in (1000, 2000, 4000, 8000)}
    b = {n: noisy(3000, n + 7) for n in (1000, 2000, 4000, 8000)}
    (found,) = crossings(a, b, ("linear", "flat"))
    assert found.after == "flat"
    assert found.low <= 3000 * 1.02
    assert found.high >= 3000 * 0.98
    assert found.high / found.low < 1.1


def test_curves_may_cross_twice_or_never():
    sizes = (1000, 2000, 4000, 8000)
    flat = {n: [10.0] * 5 for n in sizes}
    wave = {n: [v] * 5 for n, v in zip(sizes, (5.0, 20.0, 20.0, 5.0), strict=True)}
    assert [c.after for c in crossings(wave, flat, ("wave", "flat"))] == ["flat", "wave"]
    assert crossings(flat, {n: [20.0] * 5 for n in sizes}) == []
    assert crossings({}, flat) == []


def test_first_story_cutoff_and_its_sentence():
    found = find_cutoff(series(stories.cutoff_record()), "snarkvm:batched", "snarkvm:cuda", "snarkvm:dispatch")
    assert found is not None
    assert found.cutoff == 8192
    (crossing,) = found.crossings
    assert 8192 < crossing.low < crossing.high < 16384 * 1.05
    assert found.loss_of_1024 is not None
    assert found.loss_of_1024[0] == 2048
    assert found.loss_of_1024[1] == pytest.approx(3.1, abs=0.2)
    text = cutoff_text(found, "bls12-377", {"cpu": "Ultra 7", "gpu": "RTX 5090"})
    assert "Suggested cutoff: 8,192 (CPU when n <= 8,192, GPU above)." in text
    assert "A cutoff of 1,024 costs up to 3." in text


def test_no_gpu_means_no_cutoff():
    assert find_cutoff({"cpu": {8: [1.0]}}, "cpu", "cuda", "auto") is None
    assert find_cutoff({"cpu": {8: [1.0]}, "cuda": {16: [1.0]}}, "cpu", "cuda", "auto") is None, "no size in common"


def test_second_story_table_and_advice():
    record = stories.stability_record()
    table = stability_table(record)
    assert re.search(r"2\^20\s+icicle-v3.2\s+24\s+.*\d+x", table)
    advice = stability_advice(record).splitlines()
    assert advice[1].startswith("  1. cuda:")
    assert advice[2].startswith("  2. icicle-v2:")
    assert "icicle-v3.2" in advice[3]
    assert "(unsteady)" in advice[3]


def test_versus_table_speaks_the_story_s_words():
    lines = [stories.run_line()]
    lines += stories.cell("bn254", 2**20, "cpu", [100.0] * 5, "cpu")
    lines += stories.cell("bn254", 2**20, "cuda", [7350.0] * 5, "gpu")
    text = to_versus(rows(gather(lines)), "cpu", "cuda")
    assert text.splitlines()[0].split() == ["Degree", "Size", "CPU", "Time", "GPU", "Time", "Result"]
    assert re.search(r"2\^20\s+1,048,576\s+100 ms\s+7.35 s\s+74x CPU faster", text)


@pytest.mark.parametrize("form", list(Format))
def test_every_format_is_a_pure_function_of_the_record(form):
    record = stories.cutoff_record(5)
    text = render(record, form)
    assert text == render(record, form)
    assert text.endswith("\n")
    assert "snarkvm:dispatch" in text


def test_units():
    assert [time_text(us) for us in (0.5, 812, 999.9, 4214, 7.35e6)] == [
        "0.50 us",
        "812 us",
        "1.00 ms",
        "4.21 ms",
        "7.35 s",
    ]
    assert [ratio_text(r) for r in (1.337, 73.4)] == ["1.34x", "73x"]
    assert [size_text(n) for n in (7, 1024, 1025)] == ["7", "2^10", "1,025"]


def test_sizes():
    assert parse_sizes("2^3..2^5,1025, 8") == [8, 16, 32, 1025]
    assert parse_sizes("100..500") == [100, 200, 400, 500]
    for bad in ("", "x", "2^9..2^3", "0..4", "-1", "2^"):
        with pytest.raises(ValueError, match=r"size|rise"):
            parse_sizes(bad)


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.foreign, self.labels = [], [], [], 0

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        for name in ("href", "src", "xlink:href"):
            if name in found:
                (self.links if found[name].startswith("#") else self.foreign).append(found[name])
        self.labels += tag == "svg" and found.get("role") == "img" and bool(found.get("aria-label"))


@pytest.mark.parametrize("make", [stories.cutoff_record, stories.stability_record])
def test_page_is_self_contained_small_and_labelled(make):
    from multiscalar.lab.report.page import build_report

    text = build_report(make(), "Title <b>&")
    page = _Page()
    page.feed(text)
    assert len(text.encode()) < 1_000_000
    assert page.foreign == [], "no network"
    assert len(page.ids) == len(set(page.ids)), "ids are unique"
    assert {link[1:] for link in page.links} <= set(page.ids), "every reference is met"
    assert page.labels == text.count("<svg") > 0
    assert "Title &lt;b&gt;&amp;" in text
    assert "var(--ink)" in text
    assert "#010101" not in text


def test_page_of_a_hostile_record_escapes_everything():
    from multiscalar.lab.report.page import build_report

    evil = "<script>alert(1)</script>"
    lines = [stories.run_line(system=evil), *stories.cell(evil, 64, evil, [1.0] * 5, "cpu")]
    text = build_report(gather(lines))
    assert evil not in text


def test_page_of_many_samples_stays_under_a_megabyte():
    from multiscalar.lab.report.page import build_report

    lines = [stories.run_line()]
    for i in range(40):
        lines += stories.cell("bn254", 2**10 + i, "cpu", stories.around(5, 900, i), "cpu")
    text = build_report(gather(lines))
    assert len(text.encode()) < 1_000_000
    assert "Thinned to" in text


def test_page_of_a_thousand_cells_keeps_every_part():
    """As many cells as a calibration has: three curves, 181 sizes, two paths."""
    from multiscalar.lab.report.page import build_report

    lines = [stories.run_line()]
    for curve in ("bn254", "bls12-377", "bls12-381"):
        for i in range(181):
            for ms, (path, place) in enumerate((("cpu", "cpu"), ("cuda", "gpu")), 5):
                lines += stories.cell(curve, 2**10 + 97 * i, path, stories.around(ms, 5, i), place, copy=1.0)
    text = build_report(gather(lines))
    assert len(text.encode()) < 1_000_000
    assert text.count('<th scope="row">') == 1086
    assert "to stay under 1 MB" not in text
    assert all(text.count(f'aria-label="{chart}') == 3 for chart in ("Median time", "All samples", "Time split"))


def test_a_page_that_would_be_too_large_says_what_it_leaves_out(monkeypatch):
    from multiscalar.lab.report import page

    lines = [stories.run_line()]
    for n in (1024, 2048):
        lines += stories.cell("bn254", n, "cuda", stories.around(5, 6, n), "gpu", copy=1.0)
    record = gather(lines)
    parts = ("All samples", "All rows as Markdown", "Time split")
    whole = page.build_report(record)
    assert all(part in whole for part in parts)
    monkeypatch.setattr(page, "_MOST_BYTES", 1)
    text = page.build_report(record)
    (said,) = re.findall(r"the page leaves out (.*?)\. The record has all of it", text)
    assert said == "the samples one by one and the rows as Markdown and the split into copies and computation"
    assert not any(part in text for part in parts)
    assert (text.count('<th scope="row">'), text.count('aria-label="Median time')) == (2, 1), "rows and medians stay"


def test_the_page_s_script_is_valid_where_node_is_here(tmp_path):
    import shutil
    from importlib.resources import files

    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    script = tmp_path / "page.js"
    script.write_text(files("multiscalar.lab.report").joinpath("page.js").read_text())
    assert subprocess.run([node, "--check", str(script)], capture_output=True).returncode == 0


def test_a_report_of_odd_names_and_equal_times_is_a_page():
    """Dollar signs are no formulas, times without any spread still have an axis."""
    from multiscalar.lab.report.page import build_report

    lines = [stories.run_line()]
    for n in (0, 4096):
        lines += stories.cell("$\\frac", n, "$x^{$", [3.0] * 4, "cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "$x^{$" in build_report(gather(lines))
