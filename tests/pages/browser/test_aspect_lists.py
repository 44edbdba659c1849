"""Lists over all papers of a report: what all missed, where A and B differ, and the replies of a model."""

import json
import random
import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from doors import report_page, score_runs, stored_exchanges
from evidencebench import TASKS, Dataset, Resampling, Rules, load_sample, task_named
from kit.browsing import NewPage, address_of, assert_accessible, box_of
from kit.model_runs import ask_models
from kit.report_pages import header_of, made, record, run_at

QUICK, RULES = Resampling(n_draws=50), Rules(ties="expected")
TASKS_HERE = (task_named("er_at_5"), task_named("result_er_at_5"))
HEADINGS = {2: "1. Introduction", 8: "Materials and methods", 14: "Results", 17: "Effects of tea", 20: "Discussion"}
KINDS = [
    "section_name" if index in HEADINGS else "abstract" if index < 8 and index > 2 else "normal_paragraph"
    for index in range(26)
]
N_PAPERS = 150


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Give papers whose aspects are stated here and there, some by no sentence; every third has one Results aspect."""
    draw = random.Random(7)
    members = {}
    for number in range(N_PAPERS):
        sources = {f"x{place}": draw.sample(range(26), draw.randrange(4)) for place in range(draw.randrange(1, 7))}
        members[f"i{number:03}"] = one = record(sources, KINDS, f"tea{number}")
        for index, heading in HEADINGS.items():
            one["paper_as_candidate_pool"][index] = heading  # type: ignore[index]
        if number % 3:
            one["results_aspect_list_ids"] = []
    return made(tmp_path_factory.mktemp("data"), members)


@pytest.fixture(scope="module")
def runs(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Give two runs: scores of which many tie, and sets, of which some failed."""
    draw, folder = random.Random(8), tmp_path_factory.mktemp("runs")
    tied = [
        {
            "id": name,
            "sentences": draw.sample(range(26), 26),
            "scores": sorted((draw.randrange(4) for _ in range(26)), reverse=True),
        }
        for name in dataset.ids
    ]
    sets = [
        {"id": name, "error": "ValueError: no"}
        if draw.random() < 0.1
        else {"id": name, "sentences": draw.sample(range(26), 4)}
        for name in dataset.ids
    ]
    return [
        run_at(
            folder / f"{name}.jsonl",
            header_of(name, {}, dataset=dataset, tasks=["er_at_5", "result_er_at_5"], per_task=False),
            *lines,
        )
        for name, lines in (("tied", tied), ("sets", sets))
    ]


@pytest.fixture(scope="module")
def report(dataset: Dataset, runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_page(runs, dataset, TASKS_HERE, rules=RULES, resampling=QUICK), "utf-8")
    return path


def groups_of(aspect: str, sentences: list[int], results: tuple[str, ...]) -> list[str]:
    """Return the rows of the table in which an aspect counts."""
    body = {index for index in sentences if KINDS[index] != "abstract"}
    section = {
        "Introduction"
        if index >= 2 and index < 8
        else "Methods"
        if 8 <= index < 14
        else "Results"
        if 14 <= index < 20
        else "Discussion"
        if index >= 20
        else "Other"
        for index in body
    }
    where = "Body only" if len(body) == len(sentences) else "Abstract and body" if body else "Abstract only"
    kind = "Results aspects" if aspect in results else "Other aspects"
    return ["All", kind, where, *(f"Section: {name}" for name in section)]


def brute_force(dataset: Dataset, runs: list[Path]) -> dict[tuple[str, str, str], dict[str, Counter[str]]]:
    """Return (task, A, B) -> row -> how many only A, only B, both or neither finds, from the scored selections."""
    scored = score_runs(runs, dataset, TASKS_HERE, rules=RULES, with_selections=True)
    systems = {**scored.scores, **{name: of for name, of in scored.controls.items() if name in ("lead", "oracle")}}
    counts: dict[tuple[str, str, str], dict[str, Counter[str]]] = {}
    for task, (a, of_a), (b, of_b) in product(TASKS_HERE, systems.items(), systems.items()):
        of_pair = counts.setdefault((task.name, a, b), {})
        for place, name in enumerate(of_a[task.name].ids):
            labels = dataset[name].labels
            chose = [{*one.certain, *one.tied} for one in (of[task.name].selections[place] for of in (of_a, of_b))]
            for aspect in labels.that_count(task.scope):
                if sentences := list(labels.sources.get(aspect, ())):
                    found = bool(chose[0] & {*sentences}), bool(chose[1] & {*sentences})
                    kind = {(True, True): "both", (True, False): "only A", (False, True): "only B"}.get(found)
                    for group in groups_of(aspect, sentences, labels.results):
                        of_pair.setdefault(group, Counter())[kind or "neither"] += 1
    return counts


def table_of(page: Page) -> dict[str, dict[str, int]]:
    """Return the numbers of the table, once all papers are read."""
    expect(page.locator("#lists [role=status]").last).to_have_text(re.compile(r"^[\d,]+ of [\d,]+ \w+$"))
    rows = page.locator("#lists table").evaluate(
        "(table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return {name: dict(zip(rows[0][1:], map(int, cells), strict=True)) for name, *cells in rows[1:]}


def test_why_and_missed_count_what_was_scored(page: Page, report: Path, dataset: Dataset, runs: list[Path]) -> None:
    counts = brute_force(dataset, runs)
    page.goto(address_of(report))
    for (task, a, b), expected in counts.items():
        if a != b:
            page.evaluate(f"location.hash = '#/why?task={task}&a={a}&b={b}'")
            expect(page.locator("#lists").get_by_label("System A")).to_have_value(a)
            expect(page.locator("#lists").get_by_label("System B")).to_have_value(b)
            expect(page.locator("#lists").get_by_label("Task")).to_have_value(task)
            shown = table_of(page)
            assert {name: {kind: n for kind, n in row.items() if n} for name, row in shown.items()} == expected
    for one in TASKS_HERE:
        page.goto(address_of(report, f"#/missed?task={one.name}"))
        missed = table_of(page)["All"]
        page.goto(address_of(report, f"#?task={one.name}"))
        told = page.locator(f"#summary [data-task={one.name}] a[href^='#/missed']")
        expect(told).to_have_text(f"{missed['no system']} of the {sum(missed.values())} findable aspects")


def entries(page: Page) -> Locator:
    return page.locator("#lists .listed > li")


def test_all_four_answers_are_on_the_first_screen_and_lead_to_their_places(new_page: NewPage, report: Path) -> None:
    page = new_page(1440, 900)
    page.goto(address_of(report))
    answers = page.locator("#summary [data-task=er_at_5] .finding")
    for question in (
        "Which system is best",
        "Does it use the hypothesis?",
        "What did all systems miss?",
        "failed or missing answers?",
    ):
        box = box_of(answers.locator("dt", has_text=question))
        assert box["y"] + box["height"] <= 900
    for address in ("#pairs", "#hypotheses", "#failures"):
        answers.locator(f"a[href='{address}']").click()
        expect(page.locator(f"{address} h2")).to_be_in_viewport()
    answers.locator("a[href='#/missed']").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What all systems missed")
    n_missed = table_of(page)["All"]["no system"]
    expect(page.locator("#lists [role=status]").last).to_contain_text(f"{n_missed} of ")
    expect(entries(page)).to_have_count(min(n_missed, 50))
    assert_accessible(page, 1280, 360)
    page.get_by_role("button", name="Show more").click()
    expect(entries(page)).to_have_count(min(n_missed, 100))
    page.locator("#lists").get_by_label("Where").select_option("Section: Methods")
    assert "group=Section" in page.url
    link = entries(page).first.locator("ul a").first
    number = (link.text_content() or "").rpartition(" ")[2]
    link.click()
    expect(page.locator(".sentence.is-target")).to_have_attribute("data-index", number)
    page.go_back()
    expect(page.locator("#lists").get_by_label("Where")).to_have_value("Section: Methods")
    page.go_back()
    page.go_back()
    expect(page.locator("#failures h2")).to_be_visible()
    expect(page.locator("#lists")).to_be_hidden()


def test_why_is_one_click_from_a_pair_and_a_number_lists_what_it_counts(page: Page, report: Path) -> None:
    page.goto(address_of(report, "#pairs?a=tied&b=lead"))
    page.get_by_role("link", name="Why: the aspects that only A or only B found").click()
    expect(page.locator("#lists").get_by_label("System A")).to_have_value("tied")
    counts = table_of(page)["Section: Results"]
    cell = page.locator("#lists tr", has_text="Section: Results").locator("a").first
    cell.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#lists [role=status]").last).to_contain_text(f"{counts['only A']} of ")
    expect(entries(page)).to_have_count(min(counts["only A"], 50))
    expect(cell).to_be_focused()
    expect(cell).to_have_attribute("aria-current", "true")
    expect(page.locator("#lists").get_by_label("Found by")).to_have_value("a")
    for entry in entries(page).all():
        expect(entry.locator(".listed-facts")).to_contain_text("tied")
    page.locator("#lists").get_by_label("Words").fill("TEA10 ")
    first = entries(page).count()
    assert first < counts["only A"]
    page.locator("#lists").get_by_label("System B").focus()
    page.locator("#lists").get_by_label("System B").select_option("sets")
    expect(page.locator("#lists").get_by_label("Words")).to_have_value("TEA10")
    expect(page.locator("#lists").get_by_label("System B")).to_be_focused()
    page.goto(address_of(report, "#/why?a=nobody&b=lead&group=x"))
    expect(page.locator("#lists .task-told")).to_have_text("This page has no group=x. This page has no a=nobody.")
    assert_accessible(page)
    page.goto(address_of(report, "#/papers?a=tied&b=lead"))
    page.get_by_role("link", name="Aspects that only A or only B found").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Where A and B differ")


def test_replies_are_listed_filtered_and_lead_to_what_was_asked(page: Page, tmp_path: Path) -> None:
    sample = load_sample()
    run = ask_models(tmp_path)
    lines = run.read_text().splitlines()
    for place, said in (
        (1, {"answer": "failure", "error": "ReplyError: unparseable: no list"}),
        (2, {"answer": "ranking", "sentences": []}),
    ):
        kept = json.loads(lines[place])
        lines[place] = json.dumps(said | {key: kept[key] for key in ("id", "task", "notes") if key in kept})
    run.write_text("\n".join(lines) + "\n")
    with stored_exchanges(sample, tmp_path) as exchanges:
        text = report_page(run, sample, TASKS["er_at_10"], resampling=QUICK, exchanges=exchanges)
    (tmp_path / "report.html").write_text(text, "utf-8")
    page.goto(address_of(tmp_path / "report.html", "#costs"))
    page.get_by_role("link", name="All replies").click()
    n = len(sample)
    assert table_of(page)["All"] == {"answered": n - 2, "empty": 1, "no readable answer": 1, "failed or missing": 0}
    expect(entries(page)).to_have_count(min(n, 50))
    assert page.locator("#lists img, #lists pre b").count() == 0
    assert page.evaluate("window.owned") is None
    assert_accessible(page, 1280, 360)
    page.locator("#lists").get_by_label("Outcome").select_option("no readable answer")
    expect(entries(page)).to_have_count(1)
    expect(entries(page)).to_contain_text("unparseable: no list")
    page.locator("#lists").get_by_label("Words").fill("answer: [1,")
    entries(page).locator("a").click()
    expect(page.locator("details.exchanges[open] section pre").last).to_contain_text("ANSWER: [1, 2]")
    page.go_back()
    expect(page.locator("#lists").get_by_label("Words")).to_have_value("answer: [1,")
