"""The statistics of a report in a real Chromium: the verdict, its plot, the pairs, and what a hypothesis changes."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from doors import report_page
from evidencebench import Dataset, Resampling, task_named
from kit.browsing import address_of, assert_accessible, box_of
from kit.report_pages import header_of, made, record, run_at

N_PAPERS, N_ASPECTS = 24, 8
FLIPS = 999
Covered = Callable[[int], int]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Give 24 papers of 30 sentences, of which eight in the middle each state an aspect of their own."""
    sources = {
        id_of(n): {f"{id_of(n)}_aspect_{place}": [10 + place] for place in range(N_ASPECTS)} for n in range(N_PAPERS)
    }
    kinds = ["normal_paragraph"] * 30
    return made(tmp_path_factory.mktemp("data"), {name: record(of, kinds) for name, of in sources.items()})


def id_of(number: int) -> str:
    return f"i{number:02}"


def answers_with(covered: Covered, first_idle: int = 20) -> list[list[int]]:
    """Return an answer for each paper, of eight sentences, of which so many state an aspect."""
    return [
        [*range(10, 10 + covered(n)), *range(first_idle, first_idle + N_ASPECTS - covered(n))] for n in range(N_PAPERS)
    ]


def write_run(
    path: Path, dataset: Dataset, name: str, answers: Sequence[Sequence[int]], *, wrong: bool = False, n_failed: int = 0
) -> Path:
    """Write a run of a system of this name; ``wrong``: that was asked other papers' hypotheses."""
    fields = {"tasks": ["er_at_8", "er_at_4"], **({"hypothesis": "wrong"} if wrong else {})}
    lines = [{"id": id_of(n), "sentences": list(one)} for n, one in enumerate(answers)]
    for n in range(n_failed):
        lines[n] = {"id": id_of(n), "error": "TimeoutError: no reply"}
    return run_at(path, header_of(name, {}, dataset=dataset, **fields), *lines)


# Level with "first" are "first" and "second"; "third" and "fourth" are far below.
COVERED: Mapping[str, Covered] = {
    "third": lambda n: 3 + n % 2,
    "second": lambda n: 6 - n % 2,
    "first": lambda n: 6 - n % 3 % 2,
    "fourth": lambda _: 2,
}


@pytest.fixture(scope="module")
def report(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a report of four runs, of which two are level at the top and one failed on three papers."""
    folder = tmp_path_factory.mktemp("report")
    runs = [
        write_run(folder / f"{name}.jsonl", dataset, name, answers_with(covered), n_failed=3 * (name == "fourth"))
        for name, covered in COVERED.items()
    ]
    tasks = [task_named("er_at_8"), task_named("er_at_4")]
    path = folder / "report.html"
    path.write_text(report_page(runs, dataset, tasks, resampling=Resampling(n_draws=FLIPS)), "utf-8")
    return path


def test_the_opening_says_who_is_level_beaten_or_failed_and_its_plot_is_on_the_first_screen(opened: Page) -> None:
    verdict = opened.locator("#summary .finding").first
    expect(verdict).to_contain_text("2 runs share the top: first 70.8")
    expect(verdict.locator("dd").first).to_contain_text(" Significantly below: third, fourth.")
    expect(verdict).to_contain_text("3 of 96 answers failed (fourth 3). They score 0.")
    said = verdict.text_content() or ""
    (bound,) = re.findall(r"p ≤ (0\.\d{4})", said)
    assert float(bound) * (1 + FLIPS) == pytest.approx(round(float(bound) * (1 + FLIPS)))
    plot = opened.locator("#summary .forest").first
    for row in plot.locator("tr").all():
        box = box_of(row)
        assert box["y"] + box["height"] <= 900
    assert plot.locator("tbody tr").count() == len(COVERED) + 3  # and the controls, but not the ceiling
    frame = box_of(opened.locator("#summary"))  # the contents stand beside it
    box = box_of(plot)
    assert box["width"] > 0.9 * frame["width"]
    letters = {
        row.locator("th").text_content(): set("".join(row.locator(".level-in").all_text_contents()))
        for row in opened.locator("#summary [data-task=er_at_8] .forest tbody tr").all()
    }
    assert letters["first"] & letters["second"]
    assert not letters["first"] & letters["third"]
    assert not letters["third"] & letters["fourth"]


def test_names_are_never_alike_and_systems_with_the_same_answers_are_one_row(
    dataset: Dataset, tmp_path: Path, page: Page
) -> None:
    models = {"gpt-4o-mini-2024-07-18": "first", "gpt-4o-nano-2024-07-18": "second", "llama-3.1-8b": "third"}
    runs = [
        run_at(
            tmp_path / f"{name}.jsonl",
            header_of("llm_base", {"model": f"openai/{name}", "repairs": 1}, dataset=dataset, tasks=["er_at_8"]),
            *({"id": id_of(n), "sentences": one} for n, one in enumerate(answers_with(COVERED[covered]))),
        )
        for name, covered in models.items()
    ]
    runs += [write_run(tmp_path / f"{name}.jsonl", dataset, name, [[1]] * N_PAPERS) for name in ("cues", "finder")]
    lead = [{"id": id_of(n), "sentences": [*range(8)]} for n in range(N_PAPERS)]
    runs.append(run_at(tmp_path / "lead.jsonl", header_of("lead", {}, dataset=dataset, tasks=["er_at_8"]), *lead))
    made_at, resampling = tmp_path / "report.html", Resampling(n_draws=FLIPS)
    made_at.write_text(report_page(runs, dataset, [task_named("er_at_8")], resampling=resampling), "utf-8")
    page.goto(address_of(made_at, "#pairs?a=cues&b=finder"))
    names = page.locator("#summary .forest tbody th")
    expect(names).to_have_text(
        [
            "gpt-4o-mini-2…4-07-18 · base",
            "gpt-4o-nano-2…4-07-18 · base",
            "llama-3.1-8b · base",
            "random\u00a0*",
            "cues = finder",
            "lead",
            "abstract_backwards\u00a0*",
        ]
    )
    for name in [*names.all(), *page.locator("#pairs tbody th, #pairs thead span").all()]:
        assert name.evaluate("one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight")
    expect(names.first.locator("bdi")).to_have_attribute("title", "gpt-4o-mini-2024-07-18 · base")
    expect(page.locator("#summary .forest + *, #summary .frame + .note").first).to_contain_text(
        "cues = finder: the same answers, so they share a row and count once."
    )
    expect(page.locator("#pairs thead span")).to_have_count(6)
    expect(page.locator("#scatter .note").first).to_have_text(
        "No test: one of the two is a ceiling, or both gave the same answers."
    )
    options = page.locator("#pairs").get_by_label("System A").locator("option")
    shown = options.all_text_contents()
    assert {"cues", "finder", "lead", "gpt-4o-mini-2…4-07-18 · base"} < set(shown)
    assert "lead (control)" not in shown
    assert_accessible(page, 1280, 360)


def test_the_verdict_fits_and_axe_finds_nothing(opened: Page) -> None:
    assert_accessible(opened, 1280, 360)


def test_the_pair_of_the_plot_is_at_first_the_two_best_runs_and_stands_in_the_address(
    opened: Page, report: Path
) -> None:
    expect(opened.locator("#pairs").get_by_label("System A")).to_have_value("first")
    expect(opened.locator("#pairs").get_by_label("System B")).to_have_value("second")
    opened.locator("#pairs").get_by_label("System B").focus()
    opened.keyboard.press("ArrowDown")
    expect(opened.locator("#pairs").get_by_label("System B")).to_have_value("third")
    expect(opened.locator("#pairs").get_by_label("System B")).to_be_focused()
    assert opened.evaluate("location.hash") == "#pairs?a=first&b=third"
    expect(opened.locator("#scatter strong")).to_have_text("A is significantly better: ")
    opened.goto(address_of(report, "#pairs?a=fourth&b=second"))
    opened.reload()
    expect(opened.locator("#pairs").get_by_label("System A")).to_have_value("fourth")
    expect(opened.locator("#scatter strong")).to_have_text("B is significantly better: ")
    expect(opened.locator("#scatter p[role=status]")).to_contain_text("A − B is −46.9")
    opened.goto(address_of(report, "#pairs?a=nobody&b=second"))
    expect(opened.locator(".task-told")).to_have_text("This page has no a=nobody.")


def test_a_cell_of_the_matrix_opens_its_pair_by_mouse_and_by_keyboard(opened: Page) -> None:
    matrix = opened.locator("#pairs [data-task=er_at_8] table.pairs")
    matrix.get_by_role("button", name="second − third").click()
    assert opened.evaluate("location.hash") == "#pairs?a=second&b=third"
    expect(matrix.locator("[aria-pressed=true]")).to_have_count(1)
    opened.keyboard.press("ArrowUp")
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("Enter")
    assert opened.evaluate("location.hash") == "#pairs?a=first&b=random"
    expect(matrix.locator("[aria-pressed=true]")).to_have_attribute("aria-label", re.compile("^first − random"))
    assert matrix.locator("button[tabindex='0']").count() == 1


def test_one_pair_has_one_p_a_mark_at_zero_hides_no_number_and_a_minus_is_no_hyphen(opened: Page, report: Path) -> None:
    said = opened.locator("#summary .finding").first.text_content() or ""
    control = opened.locator("#summary .forest tbody th").filter(has_text="*").first.text_content() or ""
    (p_value,) = re.findall(r"p ≤ 0\.\d{4}", said)
    opened.locator("#pairs").get_by_label("System B").select_option(control.removesuffix("\u00a0*"))
    expect(opened.locator("#scatter p[role=status]")).to_contain_text(p_value)
    opened.locator("#pairs").get_by_label("System A").select_option("lead")
    opened.locator("#pairs").get_by_label("System B").select_option("lead")
    mark = box_of(opened.locator(".scatter-mark").filter(has_text="24").first)
    for tick in opened.locator(".scatter-chart .chart-tick").filter(has_text=re.compile("^0$")).all():
        box = box_of(tick)
        assert box["x"] + box["width"] <= mark["x"] or box["y"] >= mark["y"] + mark["height"]
    opened.goto(address_of(report, "#pairs?a=fourth&b=first"))
    opened.locator(".scatter-mark").first.wait_for()
    shown = opened.locator("#results").inner_text()
    assert "−50" in shown
    assert not re.search(r"(?<![\w.])-\d", shown)


def test_wrong_hypotheses_are_tested_only_against_systems_that_can_differ(
    page: Page, dataset: Dataset, tmp_path: Path
) -> None:
    # Of 16 papers that differ the reader is better on 13: p is about 0.02. Ten others differ on three papers or none.
    runs = [
        write_run(tmp_path / "reader.jsonl", dataset, "reader", answers_with(lambda n: 4 + (n < 13) - (13 <= n < 16))),
        write_run(tmp_path / "reader w.jsonl", dataset, "reader", answers_with(lambda _: 4, 22), wrong=True),
    ]
    for number in range(10):
        name, few = f"idle{number}", 3 * (number % 2)
        own, other = answers_with(lambda _: 2), [[10, 11, 12]] * few + answers_with(lambda _: 2)[few:]
        runs.append(write_run(tmp_path / f"{name}.jsonl", dataset, name, own))
        runs.append(write_run(tmp_path / f"{name} w.jsonl", dataset, name, other, wrong=True))
    path = tmp_path / "report.html"
    path.write_text(report_page(runs, dataset, [task_named("er_at_8")], resampling=Resampling(n_draws=FLIPS)), "utf-8")
    page.goto(address_of(path, "#hypotheses"))
    table = page.locator("#hypotheses table.uses")
    reader = table.locator("tr").filter(has_text="reader")
    expect(reader.locator(".use-word")).to_have_text("uses it")
    p_value = float(reader.locator("td").last.text_content() or "")
    assert 0.005 < p_value < 0.05
    expect(table.locator("td", has_text="no test")).to_have_count(10)
    words = page.locator("#hypotheses .finding dd")
    expect(words.first).to_have_text("reader")
    expect(words.last).to_have_text("idle0, idle2, idle4, idle6, idle8")


def test_an_interval_that_leaves_out_zero_beside_no_gain_is_explained_and_the_plots_fit_any_width(
    page: Page, dataset: Dataset, tmp_path: Path
) -> None:
    # Each is better on 13 of 16 papers: one test would find a gain, and of three tests none does.
    runs = []
    for shift in range(3):
        name, better = f"reader{shift}", {(n + shift) % N_PAPERS for n in range(13)}
        worse = {(n + shift) % N_PAPERS for n in range(13, 16)}
        own = answers_with(lambda n, better=better, worse=worse: 4 + (n in better) - (n in worse))  # type: ignore[misc]
        runs.append(write_run(tmp_path / f"{name}.jsonl", dataset, name, own))
        runs.append(write_run(tmp_path / f"{name} w.jsonl", dataset, name, answers_with(lambda _: 4, 22), wrong=True))
    path = tmp_path / "report.html"
    path.write_text(report_page(runs, dataset, [task_named("er_at_8")], resampling=Resampling(n_draws=FLIPS)), "utf-8")
    page.goto(address_of(path, "#hypotheses"))
    table = page.locator("#hypotheses table.uses")
    expect(table.locator(".use-word").first).to_have_text("selection changes, no gain shown")
    told = table.locator("tbody tr:has(.use-word) + tr.told")
    expect(told).to_have_count(3)
    expect(told.first).to_contain_text("The interval excludes 0, but no gain is shown: 3 systems are tested")
    expect(told.first).to_contain_text("p is adjusted for that, the interval is not")
    expect(table.locator("caption")).to_contain_text("24 instances). Lines are 95 % intervals")
    for width in (1440, 768, 561, 390, 680):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="print" if width == 680 else "screen")
        frame = page.locator("#hypotheses .frame").first
        assert frame.evaluate("(one) => one.scrollWidth <= one.clientWidth"), width
        for plot in table.locator(".row-plot").all():
            assert box_of(plot)["width"] > 60, width


def test_an_address_with_one_of_the_two_best_has_the_other_beside_it(page: Page, report: Path) -> None:
    for query, pair in {
        "a=second": ("second", "first"),
        "b=first": ("second", "first"),
        "a=third": ("third", "second"),
    }.items():
        page.goto(address_of(report, f"#pairs?{query}"))
        page.reload()
        page.locator(".scatter-mark").first.wait_for()
        for letter, name in zip("AB", pair, strict=True):
            expect(page.locator("#pairs").get_by_label(f"System {letter}")).to_have_value(name)
        expect(page.locator("#pairs [data-task=er_at_8] [aria-pressed=true]")).to_have_count(1)
