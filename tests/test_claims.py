"""Figures that the documents claim: each names the script that measures it, and none contradicts another."""

import math
import re
from importlib.resources import files
from inspect import signature
from pathlib import Path

import pytest

from doors import (
    _FIRST_BUSY_SECONDS,
    _LONGEST_BUSY_SECONDS,
    CATALOG,
    DEFAULT_DRAWS,
    MAX_DEPTH,
    MAX_ENUMERATED_CLUSTERS,
    MOST_PAPERS,
    TRAININGS,
    WEIGHTS,
    Bounds,
    Fuse,
    find_code,
    options_of,
)
from evidencebench import SYSTEMS, TASKS

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
MEASURED = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")


def text_of(document: str) -> str:
    """Return a document with its lines joined, so that a sentence is found however it is wrapped."""
    return re.sub(r"\s+", " ", (ROOT / document).read_text(encoding="utf-8"))


def rows_of(document: str, *, below: str = "") -> dict[str, list[str]]:
    """Return the tables from a text to the next heading: first cell -> the others; the first row of a name counts."""
    text = (ROOT / document).read_text(encoding="utf-8")
    rows: dict[str, list[str]] = {}
    for line in text[text.index(below) :].partition("\n## ")[0].splitlines():
        if line.startswith("| "):
            first, *rest = (cell.strip() for cell in line.strip("|").split("|"))
            rows.setdefault(first.strip("`"), rest)
    return rows


def means(cells: list[str]) -> list[float]:
    return [float(cell.split()[0]) for cell in cells[: len(MEASURED)]]


RESULTS = rows_of("docs/results.md", below="## Aspect recall")


def test_every_figure_of_speed_stands_with_a_script_that_measures_it_and_a_day() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    run_all = (ROOT / "benchmarks" / "run_all.py").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith(("| what", "| ---"))]
    topics = page.split("\n## ")[1:]
    assert (len(rows) > 5, len(topics) > 3) == (True, True)
    for part in [*rows, *topics]:
        named = re.findall(r"`(\w+)\.py`", part)
        assert named, f"names no script: {part}"
        assert all(f"import {name}\n" in run_all for name in named), part
    for topic in topics:
        assert re.search(r"(?:Nov|Dec)ember 2026", topic), topic


REPEATED = (
    ("docs/report.md", "2.2 s", "takes 2.2 s"),
    ("docs/report.md", "5.3 MB", "its size | 5.3 MB"),
    ("docs/report.md", "2.6 times as long as `leaderboard`", "2.6 times as long as `leaderboard`"),
    ("docs/report.md", "drawn it after 0.4 s", "drawn in Chromium; a clicked paper | after 0.4 s"),
    ("docs/report.md", "open after 0.6 s", "open after 0.6 s"),
)


def test_a_speed_that_is_told_twice_is_told_alike() -> None:
    for document, claim, measured in REPEATED:
        assert claim in text_of(document)
        assert measured in text_of("docs/performance.md")


_UNITS = r"(?:\d[\d.]*(?: to [\d.]+)? (?:ms|s|seconds?|minutes?)|(?:a|one) minute)"
TIME = re.compile(rf"\b(?:about|under|takes?|within) {_UNITS}\b")


def test_no_document_but_performance_and_results_tells_a_time_of_its_own() -> None:
    told = {(document, claim) for document, claim, _ in REPEATED}
    for document in set(DOCUMENTS) - {"docs/performance.md", "docs/results.md", "docs/cli.md", "docs/llm.md"}:
        text = text_of(document)
        for known, claim in told:
            text = text.replace(claim, "") if known == document else text
        for found in TIME.finditer(text):
            around = text[max(0, found.start() - 300) : found.end() + 300]
            assert re.search(r"performance\.md|results\.md|(?:Nov|Dec)ember 2026", around), (
                f"{document}: {found.group()}"
            )


@pytest.mark.parametrize(
    ("document", "below", "named"),
    [
        ("docs/results.md", "`cues` as first set", {"cues": "cues"}),
        ("docs/results.md", "| aspect recall on train", {"bm25_abstract_first": "bm25_abstract_first"}),
        ("docs/results.md", "Aspect recall of `minilm`", {"plain": "minilm"}),
        ("docs/results.md", "| MiniLM as it is", {"MiniLM as it is": "minilm"}),
    ],
)
def test_what_a_table_repeats_of_the_results_is_the_same(document: str, below: str, named: dict[str, str]) -> None:
    shown = rows_of(document, below=below)
    for name, system in named.items():
        assert means(shown[name]) == means(RESULTS[system])


@pytest.mark.parametrize("option", ["title=true", "neighbours=1"])
def test_what_an_option_of_minilm_changes_is_the_difference_of_the_results(option: str) -> None:
    shown = means(rows_of("docs/results.md", below="Aspect recall of `minilm`")[option])
    plain, other = means(RESULTS["minilm"]), means(RESULTS[f"minilm:{option}"])
    assert shown == pytest.approx([b - a for a, b in zip(plain, other, strict=True)], abs=0.11)  # all are rounded


def test_what_fine_tuning_gains_is_the_difference_of_its_rows() -> None:
    rows = rows_of("docs/results.md", below="| MiniLM as it is")
    before, after = means(rows["MiniLM as it is"]), means(rows["MiniLM, fine-tuned"])
    assert means(rows["difference"]) == pytest.approx([b - a for a, b in zip(before, after, strict=True)], abs=0.11)
    assert " / ".join(f"{mean:.1f}" for mean in after) in text_of("docs/results.md")


def test_few_papers_bound_a_mean_and_show_a_difference_as_the_documents_say() -> None:
    low, high = map(float, re.findall(r"\[([\d.]+), ([\d.]+)\]", RESULTS["finder"][0])[0])
    half_width = (high - low) / 2 * math.sqrt(96 / 12)
    assert half_width == pytest.approx(15, abs=1.5)
    assert "Twelve papers bound a mean only to about ±15 points" in text_of("docs/people.md")
    assert 21 * 2 / 2**9 > 0.05  # Holm's bound on the smallest p that sign flips of nine differences have
    assert "with 9 papers and 21 pairs even a system that is better on every paper" in text_of("docs/report.md")


@pytest.mark.parametrize(
    ("document", "claim"),
    [
        ("docs/report.md", f"are in the page up to {MOST_PAPERS:,} instances"),
        ("docs/systems.md", f"up to {MAX_DEPTH} deep"),
        ("docs/systems.md", f"a weighted sum of {len(WEIGHTS)} of the"),
        ("docs/systems.md", f"k = {signature(Fuse).parameters['k'].default:.0f}"),
        ("docs/llm.md", f"else {_FIRST_BUSY_SECONDS:.0f} to {_LONGEST_BUSY_SECONDS:.0f} s"),
        ("docs/llm.md", f"{Bounds().max_failures_in_a_row} requests in a row that failed for good"),
        ("docs/tasks-and-measures.md", f"{DEFAULT_DRAWS:,} draws"),
        ("docs/tasks-and-measures.md", f"exact where at most {MAX_ENUMERATED_CLUSTERS} papers differ"),
    ],
)
def test_a_number_that_a_document_tells_is_the_one_of_the_code(document: str, claim: str) -> None:
    assert claim in text_of(document)


def test_the_sizes_of_the_official_files_and_the_tasks_are_those_of_the_code() -> None:
    rows = rows_of("docs/data-format.md", below="## Where the official files are")
    shown: dict[str, str] = {}
    for names, (sizes, *_) in rows.items():
        shown |= dict(zip(re.findall(r"[\w-]+", names), re.findall(r"[\d,]*\d", sizes), strict=False))
    for entry in CATALOG.values():
        if entry.name != "sample":
            assert shown[entry.name] == f"{entry.n_instances:,}", entry.name
    assert [row for row in rows_of("docs/tasks-and-measures.md", below="## Tasks") if row in TASKS] == list(TASKS)


@pytest.mark.parametrize(
    ("name", "below"), [("finder", "## Finder"), ("embedder", "## Fine-tuning"), ("reranker", "## Fine-tuning")]
)
def test_the_defaults_in_the_tables_of_options_are_those_of_the_training(name: str, below: str) -> None:
    known = options_of(TRAININGS[name])
    is_checked = set()
    for cell, (shown, *_) in rows_of("docs/training.md", below=below).items():
        for option, value in zip(cell.split("`, `"), shown.split(", "), strict=False):
            if option in known:
                own = re.search(rf"\({name} (.+)\)", value)
                assert is_told(own[1] if own else value.split(" (")[0].strip("`"), known[option].default), option
                is_checked.add(option)
    assert len(is_checked) >= min(4, len(known))


def is_told(shown: str, default: object) -> bool:
    return float(shown) == default if isinstance(default, float) else shown == str(default).lower()


def test_the_options_in_the_table_of_strategies_are_those_of_the_strategies() -> None:
    rows = {name: cells for name, cells in rows_of("docs/llm.md", below="## Strategies").items() if "llm_" in name}
    assert set(rows) == {name for name in SYSTEMS if name.startswith("llm_")}
    assert "six strategies" in text_of("docs/build-systems.md")
    assert len(rows) == 6
    for name, (_, own) in rows.items():
        assert set(re.findall(r"`(\w+)`", own)) - {"pointwise", "listwise"} <= set(
            options_of(find_code(name).factory)
        ), name


def test_the_keys_in_the_document_are_those_of_the_viewer() -> None:
    assets = files("evidencebench.pages").joinpath("assets")
    source, text = (assets.joinpath(name).read_text(encoding="utf-8") for name in ("viewer.js", "paper_text.js"))
    known = {key for keys in re.findall(r"\{ keys: \[(.+?)\], name", source) for key in re.findall(r'"(.+?)"', keys)}
    steps = re.findall(r'^  \w+: \["(\w)", ', text.partition("const STEPS = {")[2].partition("};")[0], re.MULTILINE)
    assert "...stepCommands(" in source
    assert len(steps) == 3
    known |= {key for step in steps for key in (step, step.upper())}
    table = (ROOT / "docs" / "viewer.md").read_text(encoding="utf-8").partition("## Keyboard")[2].partition("\n## ")[0]
    told = {key for row in table.splitlines() for key in re.findall(r"`(.+?)`", row.split(" | ")[0])}
    assert told == known | {"?"}
