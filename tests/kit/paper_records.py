"""Papers made by hand, and a page that shows one of them and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from playwright.sync_api import Page

from doors import (
    AspectRecord,
    Coverage,
    GradedAnswer,
    GradedInstance,
    Overview,
    PaperRecord,
    SystemRecord,
    TaskRecord,
    TaskTerms,
    coverage_from,
    encode_json,
    one_file,
    page_parts,
    pick_letters,
    script,
    style,
)
from kit.browsing import address_of

AT_OPTIMAL = TaskRecord(name="er_at_optimal", scope="all", budget="optimal")
AT_2 = TaskRecord(name="er_at_2", scope="all", budget=2)
RESULTS_AT_2 = TaskRecord(name="result_er_at_2", scope="results", budget=2)
UNLIMITED = TaskRecord(name="result_er_unconstrained", scope="results", budget=None)

EIGHT_SENTENCES = tuple(f"Sentence number {number}." for number in range(8))

TERMS = TaskTerms(budget=2, n_aspects=4, ceiling=0.75)
"""Of `record_of` at two sentences."""

HALF = GradedAnswer(status="answered", certain=(4, 2), recall=0.5)
"""Covers aspects 0 and 1 of `record_of`."""

OTHER = GradedAnswer(status="answered", certain=(2, 7), recall=0.75)
"""Covers aspects 0, 1 and 3 of `record_of`."""

TEXTS = ("Tea was drunk.", "Tea was hot.", "People woke.", "People stayed awake.")

# What the tests call is put on the window; the page itself names nothing there.
_BOOT = """
const read = (id) => JSON.parse(document.getElementById(id).textContent);
Object.assign(window, { read, paperView, gradedOf });
window.show = (state) => {
  const began = performance.now();
  window.reached = [];
  window.noted = [];
  const on = { reach: (index) => window.reached.push(index), note: (changes) => window.noted.push(changes) };
  const view = paperView(read("overview"), read("record"), state, on);
  document.querySelector("main").replaceChildren(view);
  void view.offsetHeight;
  window.took = performance.now() - began;
  window.view = view;
};
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is shown: a task and two systems by position, and the sentence that is pointed at."""

    task: int = 0
    a: int | None = 0
    b: int | None = None
    sentence: int | None = None


def overview_of(labels: Sequence[str], task: TaskRecord = AT_2) -> Overview:
    """Return an overview of one task and systems with these labels; those called ``oracle`` know the answers."""
    systems = tuple(
        SystemRecord(
            label=label, signature=label, is_control=is_oracle, knows_labels=is_oracle, is_counted=not is_oracle
        )
        for label, is_oracle in ((label, label == "oracle") for label in labels)
    )
    return Overview(title="made", data="made", n_instances=1, tasks=(task,), systems=systems, version="0")


def record_of(
    *answers: GradedAnswer | None,
    sentences: Sequence[str] = EIGHT_SENTENCES,
    kinds: str | None = None,
    sources: Sequence[Sequence[int]] = ((2,), (2, 4), (5,), (6, 7)),
    texts: Sequence[str] = (),
    n_results: int | None = None,
    terms: TaskTerms | None = None,
    hypothesis: str = "Tea keeps people awake.",
    instance_id: str = "made_1",
) -> GradedInstance:
    """Return an instance with an answer a system: eight sentences and four aspects, unless told otherwise.

    The first ``n_results`` aspects are Results, all of them where it is None.
    """
    coverage = coverage_from({str(position): indexes for position, indexes in enumerate(sources[:n_results])})
    headings = frozenset(index for index, kind in enumerate(kinds or "") if kind == "h")
    return GradedInstance(
        paper=PaperRecord(
            position=0,
            id=instance_id,
            paper_id="paper_1",
            hypothesis=hypothesis,
            sentences=tuple(sentences),
            kinds=kinds or "b" * len(sentences),
        ),
        review_id=None,
        aspects=tuple(
            AspectRecord(
                id=f"{instance_id}_aspect_{position}",
                text=texts[position] if texts else None,
                is_result=n_results is None or position < n_results,
                sentences=tuple(indexes),
            )
            for position, indexes in enumerate(sources)
        ),
        terms=(terms,),
        answers=tuple((answer and _with_picks(answer, coverage, headings),) for answer in answers),
    )


def _with_picks(answer: GradedAnswer, coverage: Coverage, headings: frozenset[int]) -> GradedAnswer:
    return msgspec.structs.replace(answer, picks=pick_letters(answer.certain, answer.tied, coverage, headings))


def show_paper(
    page: Page, folder: Path, overview: Overview, record: GradedInstance, state: State | None = None
) -> None:
    """Open a page that holds a paper, under the policy that our pages have, and show it."""
    path = folder / "paper.html"
    path.write_text(_paper_page(overview, record), encoding="utf-8")
    page.goto(address_of(path))
    show(page, state or State())


def show(page: Page, state: State) -> None:
    """Show the paper of the page that is open, anew."""
    parts = {"task": state.task, "a": state.a, "b": state.b, "sentence": state.sentence}
    page.evaluate("(state) => show(state)", parts)


def _paper_page(overview: Overview, record: GradedInstance) -> str:
    script_text = script("viewer", "embedded_source", start=_BOOT)
    data = (
        f'<script type="application/json" id="{name}">{encode_json(held).decode()}</script>'
        for name, held in (("overview", overview), ("record", record))
    )
    body = ("<header><p>Papers</p></header><main></main>", *data)
    return one_file("A paper", body, page_parts(style(("tokens", "viewer", "paper")), script_text))
