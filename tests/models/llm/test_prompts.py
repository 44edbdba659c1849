"""The prompts are whole: what they declare is what they use, and nothing of ours is left unfilled."""

import hashlib
import re
from importlib.resources import files
from string import Template

import pytest

from doors import Excerpt, PaperQuestion, budget_words, form_name, form_text, prompt_named, versions_of
from evidencebench import Kind, Query

FILES = [
    (package, path.name.removesuffix(".md"))
    for package in ("evidencebench.systems.llm", "evidencebench.construction")
    for path in sorted(files(package).joinpath("prompt_texts").iterdir(), key=lambda path: path.name)
    if path.name.endswith(".md")
]
FOLDER = files("evidencebench.systems.llm").joinpath("prompt_texts")
NAMES = [name for package, name in FILES if package == "evidencebench.systems.llm"]
SELECTING = ("base", "section", "union", "extract", "in_context")

QUERY = Query(
    instance_id="i",
    paper_id="p",
    hypothesis="Tea lowers\nblood pressure.",
    sentences=("Results", "It fell by $budget for $5."),
    kinds=(Kind.HEADING, Kind.BODY),
)


def rendered(name: str, budget: int | None = 3, scope: str = "all") -> str:
    known = {
        "budget": budget_words(budget),
        "form": form_text("answer", structured=False, n_sentences=2, budget=budget),
        "points": "every point",
        "examples": "Example 1",
        "n_sentences": "2",
    }
    fields = {field: known[field] for field in prompt_named(name).fields - {"task", "reading", "wanted"}}
    draft = PaperQuestion(prompt=name, query=QUERY, scope="all" if scope == "all" else "results", fields=fields)
    return draft.text(Excerpt(shown=dict(enumerate(QUERY.sentences))))


@pytest.mark.parametrize(("package", "name"), FILES)
def test_a_prompt_says_whom_it_follows_and_takes_the_fields_that_it_declares_and_no_others(
    package: str, name: str
) -> None:
    prompt = prompt_named(name, package)
    content = files(package).joinpath("prompt_texts", f"{name}.md").read_text(encoding="utf-8")
    match = re.fullmatch(r"---\nname: (.+)\nafter: (.+)\nfields:(.*)\n---\n(.*)", content, re.DOTALL)
    assert match is not None
    assert (match[1], prompt.text) == (name, match[4].strip())
    assert prompt.fields == set(match[3].replace(",", " ").split())
    assert Template(prompt.text).is_valid()
    values = dict.fromkeys(prompt.fields, "x")
    assert "$" not in prompt.render(**values)
    lacking = [{key: "x" for key in values if key != field} for field in values]
    for wrong in ({**values, "another": "x"}, *lacking):
        with pytest.raises(ValueError, match=f"'{name}'"):
            prompt.render(**wrong)


@pytest.mark.parametrize("name", [*SELECTING, "score", "order"])
def test_a_question_shows_the_paper_and_says_what_is_asked_and_nothing_else(name: str) -> None:
    text, without_budget = rendered(name), rendered(name, None)
    for one in (text, without_budget):
        assert "$" not in one.replace("It fell by $budget for $5.", "")  # of the paper
        assert "{" not in one
    lines = text.split("\n")
    first, last = lines.index("<paper>"), lines.index("</paper>")
    assert lines[first + 1 : last] == ["[0] Results", "[1] It fell by $budget for $5."]
    assert "<paper" not in "".join(lines[:first] + lines[last + 1 :])
    assert lines.count("Hypothesis: Tea lowers blood pressure.") == 1
    assert ("score every sentence" in text, "order every sentence" in text) == (name == "score", name == "order")
    assert "outcomes and analyses only" in rendered(name, scope="results")
    assert "outcomes and analyses only" not in text
    if name in SELECTING:
        assert text.count("at most 3 sentences") >= 3
        assert "as many sentences as needed" not in text
        assert without_budget.count("as many sentences as needed") >= 3
        assert "at most" not in without_budget
        assert "at most 1 sentence" in rendered(name, 1)
        assert "at most 1 sentences" not in rendered(name, 1)


@pytest.mark.parametrize("name", [*SELECTING, "score", "order"])
def test_what_scopes_and_budgets_do_not_change_stands_first_up_to_the_end_of_the_paper(name: str) -> None:
    beginnings = {
        rendered(name, budget, scope).partition("\n</paper>\n")[0]
        for budget in (3, None)
        for scope in ("all", "results")
    }
    assert len(beginnings) == 1


@pytest.mark.parametrize("kind", ["answer", "order", "scores"])
@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("n_sentences", [1, 9, 700])
@pytest.mark.parametrize("budget", [1, 2, 5, None])
def test_a_form_shows_numbers_that_no_sentence_has_and_no_more_than_may_be_named(
    kind: str, n_sentences: int, budget: int | None, *, structured: bool
) -> None:
    text = form_text(kind, structured=structured, n_sentences=n_sentences, budget=budget)
    shown = re.search(r"\[([\d, ]+)\]", text)
    numbers = [int(number) for number in (shown[1].split(", ") if shown else re.findall(r"(\d+)(?:,|: )", text))]
    assert numbers
    assert min(numbers) >= n_sentences
    assert kind == "scores" or budget is None or len(numbers) <= budget
    assert "no sentence has them" in text


@pytest.mark.parametrize("kind", ["answer", "order"])
def test_only_the_first_turn_has_room_for_reasoning(kind: str) -> None:
    first = form_text(kind, structured=True, n_sentences=9)
    again = form_text(kind, structured=True, n_sentences=9, with_reasoning=False)
    assert '{"reasoning": "your thinking", ' in first
    assert '{"reasoning": "", ' in again
    assert "thinking" not in again
    assert form_name(kind, structured=True) in NAMES


def test_a_prompt_is_known_by_the_checksum_of_its_file() -> None:
    digest = hashlib.sha256(FOLDER.joinpath("base.md").read_bytes()).hexdigest()
    assert prompt_named("base").digest == digest
    assert versions_of(["base"]) == {"prompt base": f"sha256:{digest}"}
