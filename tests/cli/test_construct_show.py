"""``construct show``: a draft in the terminal, and the page of all drafts."""

import re
from pathlib import Path

import pytest

from doors import DRAFTS, open_construction
from evidencebench import Draft, Edit, add_edit
from kit.command_line import Command
from kit.served_constructions import served_construction
from kit.shown_constructions import DOUBTFUL, make_construction
from kit.trial_constructions import write_drafts

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(autouse=True)
def _work() -> Path:
    return make_construction(Path())


def test_a_draft_is_printed_with_its_passage_votes_and_reasons_in_80_columns(command: Command) -> None:
    out = command("construct show work 1").out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "\x1b" not in out
    text = " ".join(out.split())
    for words in (
        f"{DOUBTFUL} (1 of 3): kept; votes are split 1 time",
        "Review: pmc_1 > review.xml > Results > ",
        "Before: Before it. Passage: Tea lowered pressure [7].",
        "Hypothesis: Tea lowers pressure in review.xml:B7:1.",
        "Paper: pmc_2, paper.txt, 44 sentences",
        "Cost: unknown, of 4 requests; 4 replies are not stored here",
        "Aspect 1 (Results): Pressure fell.",
        "7, source, votes are split: Sentence 3 says <img",
        "yes: local/any, sentences 5 to 14; no: local/any, sentences 0 to 9",
        "8, source: Sentence 4 says this. yes: local/any, sentences 0 to 9; yes: local/any, sentences 5 to 14",
        "Replies that could not be read: 1",
    ):
        assert words in text, text
    text = " ".join(command("construct show work B9").out.split())
    assert "(3 of 3): dropped at 'hypotheses': no usable reply: <img" in text


def test_aspects_that_were_left_out_are_counted_and_told_with_why(command: Command) -> None:
    lost = Draft(id="d", review_id="r", paper_id="p", aspects=("a",), dropped_aspects=(("It fell", "it is vague"),))
    Path("lost").mkdir()
    write_drafts(Path("lost/aspects.jsonl"), [lost], step="aspects")
    assert "Aspect left out: It fell (it is vague)" in command("construct show lost d").out
    assert command("construct show lost").done
    assert "; left out: 1 aspect that failed verification" in Path("lost/drafts.html").read_text()


def test_json_has_all_of_a_draft(command: Command) -> None:
    record = command(f"construct show work {DOUBTFUL} --json").json
    assert record["row"] | {"text": ""} == {
        "id": DOUBTFUL,
        "number": 1,
        "state": "doubtful",
        "step": "label-results",
        "reason": "",
        "text": "",
        "n_aspects": 2,
        "n_sources": 2,
        "n_doubtful": 1,
        "n_edits": 0,
    }
    split, sure = record["votes"][0]
    assert split == {"sentence": 7, "is_source": True, "yes": [1], "no": [0]}
    assert sure == {"sentence": 8, "is_source": True, "yes": [0, 1], "no": []}
    assert len(record["paper"]["sentences"]) == 44


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("B77", "or 1 to 3; got 'B77'"),
        ("review.xml:B7:2", "(did you mean 'review.xml:B7:1'?)"),
        ("review", "got 'review' is in 3, such as 'review.xml:B7:1'"),
        ("4", "got '4'"),
    ],
)
def test_a_draft_that_is_not_there_is_told_with_names_like_it(command: Command, wanted: str, said: str) -> None:
    assert said in command(f"construct show work {wanted}").refusal


def test_what_cannot_be_shown_is_told_and_the_rest_is_shown(command: Command) -> None:
    paper = Path("papers/paper.txt")
    paper.write_text(paper.read_text().replace("given", "drunk"))
    assert "Note: The paper's file has changed since it was judged" in command("construct show work 1").out
    paper.unlink()
    assert "Note: The paper cannot be shown: papers/paper.txt" in command("construct show work 1").out
    assert "Note: The folder of papers is not known" in command("construct show work 1 --papers none").out
    broken = Path("work/results.jsonl")
    broken.write_text(broken.read_text().replace('"aspects":["Pressure fell."', '"aspects":[7'))
    assert "results.jsonl: line 2: draft 'review.xml:B7:1': " in command("construct show work").refusal
    Path("empty").mkdir()
    assert "error: empty: " in command("construct show empty").refusal


def test_the_page_is_one_file_that_replaces_only_what_it_made_itself(command: Command) -> None:
    made = command("construct show work")
    assert made.out == "work/drafts.html: 3 drafts\n"
    page = Path("work/drafts.html").read_text()
    assert not re.search(r"""(?:src|href)=["'](?!data:)[a-z]+:""", page)
    assert "<img" not in page
    assert command("construct show work --json").json == {"output": "work/drafts.html", "n_drafts": 3}
    Path("own.html").write_text("mine")
    assert "own.html: exists" in command("construct show work -o own.html").refusal
    assert command("construct show work -o own.html --overwrite").done
    assert not DRAFTS.is_at(Path("work/drafts.html"))


def test_thousand_drafts_are_a_page_that_says_what_it_leaves_out(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    work = make_construction(folder, n_more=997)
    assert command(f"construct show {work}").done
    page = (work / "drafts.html").read_text()
    assert page.count('id="draft-') == 1000
    assert len(page) < 4_000_000


def test_a_pilot_ends_in_a_page_and_an_edit_of_it_is_shown_until_a_run_takes_it_up(command: Command) -> None:
    folder = Path("pilot")
    folder.mkdir()

    def n_stale() -> int:
        return open_construction(folder / "work", papers=None, replies=None).n_stale

    with served_construction(folder):
        said = command("construct run pilot/construction.toml --limit 2").out
        assert "pilot/work/drafts.html: all drafts as a page" in said
        assert Path("pilot/work/drafts.html").read_text().count('id="draft-') == 2
        first = command("construct show pilot/work 1 --json").json["row"]["id"]
        add_edit(folder / "work", Edit(id=first, step="hypotheses", hypothesis="Night work is healthy."))
        shown = command("construct show pilot/work 1 --json").json
        assert n_stale() == 1
        assert command("construct run pilot/construction.toml --limit 2").done
        assert n_stale() == 0
        assert command("construct show pilot/work 1 --json").json["draft"]["hypothesis"] == "Night work is healthy."
    assert shown["draft"]["hypothesis"] == "Night work is healthy."
    assert shown["warnings"][0][0] == "hypothesis"
    assert "of 1 the price is not known" not in shown["cost"]
    assert re.fullmatch(r"\$0\.\d+, of \d+ requests|unknown, of \d+ requests; .*", shown["cost"]), shown["cost"]


def test_a_passage_that_harvest_dropped_can_be_looked_at(command: Command) -> None:
    assert "lost: dropped at 'harvest': in a methods section" in command("construct show work lost").out
