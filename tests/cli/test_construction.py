"""All steps of a construction, over real HTTP, against the trial server that knows what is right."""

import csv
import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doors import (
    STEP_FILES,
    FakeModel,
    GoldStudies,
    counted,
    estimate_noise,
    expected_instances,
    lead_in,
    output_of,
    read_labels,
    read_tasks,
)
from evidencebench import Instance, Labels, open_dataset, open_drafts, write_dataset
from kit.command_line import Command, start, until
from kit.examples import IS_THOROUGH
from kit.fake_models import RunningServer
from kit.malformed_replies import SHAPES
from kit.patience import MOST_SECONDS
from kit.served_constructions import served_construction
from kit.stored_replies import stored_replies

pytestmark = pytest.mark.usefixtures("own_cache")

RUN = "construct run construction.toml"
HERE, WORK, CONFIG = Path(), Path("work"), Path("construction.toml")


@pytest.fixture
def _served() -> Iterator[None]:
    """Serve the synthetic review in the folder."""
    with served_construction(HERE):
        yield


def configure(*changes: tuple[str, str]) -> None:
    for before, after in changes:
        CONFIG.write_text(CONFIG.read_text().replace(before, after, 1))


def data_set() -> list[Instance]:
    return list(open_dataset("work/dataset/test.json"))


def hypotheses() -> list[str]:
    return [one.query.hypothesis for one in data_set()]


def _dataset_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "work" / "dataset").iterdir())}


def _n_paid(server: RunningServer) -> Counter[str]:
    return Counter(entry["key"] for entry in server.log_entries() if entry["outcome"] == "paid")


@pytest.mark.parametrize("at_once", [True, False] if IS_THOROUGH else [False])  # all others ask at once
def test_the_data_set_is_the_gold_one_and_validates(command: Command, *, at_once: bool) -> None:
    with served_construction(HERE, at_once=at_once):
        assert command(RUN).done
    assert data_set() == expected_instances()
    assert command("data validate work/dataset/test.json --optima").code == 0


def test_after_faults_and_two_kills_nothing_is_lost_or_paid_again(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, killed, cache = Path("whole"), Path("killed"), Path("another_cache")
    for folder in (whole, killed):
        folder.mkdir()
    with served_construction(whole):
        assert command("construct run whole/construction.toml").code == 0
    monkeypatch.setenv("EVIDENCEBENCH_CACHE", str(cache))
    with served_construction(
        killed, fault_rate=0.2 if IS_THOROUGH else 0.05, hang_seconds=0.2, latency_seconds=0.1
    ) as server:
        call = "construct run killed/construction.toml --set max-connections=4 --jobs 2 --set engine=processes"
        n_stored, paid = [0], [0]
        for n_paid in (15, 60):
            process = start(*call.split())
            until(lambda n=n_paid: _n_paid(server).total() >= n, process)  # type: ignore[misc]
            process.kill()
            process.communicate(timeout=MOST_SECONDS)
            until(lambda: not server.totals()["in_flight"])  # else what was asked before is paid for afterwards
            n_stored.append(len(stored_replies(cache)))
            paid.append(_n_paid(server).total())
        assert not (killed / "work" / "dataset").exists()
        assert command(call).done
        n_requests, n_paid = len(_n_paid(server)), _n_paid(server).total()
    # What was stored is never asked again; a reply that comes while its process dies cannot be stored.
    assert n_paid - paid[2] == n_requests - n_stored[2]
    assert n_paid - n_requests <= 2 * 4
    before, after = _dataset_files(whole), _dataset_files(killed)
    for files in (before, after):  # the models are named with their addresses
        files.pop("datasheet.md", None)
        del files["manifest.json"]
    assert after == before


def test_batches_make_the_same_data_set(command: Command) -> None:
    with served_construction(HERE, model="openai/any,key_env=") as server:
        assert command(f"{RUN} --batch").done
        asked = {entry["request"] for entry in server.log_entries()}
    assert "POST /v1/batches" in asked
    assert data_set() == expected_instances()


def test_a_pilot_is_a_part_of_the_run_that_follows(command: Command) -> None:
    with served_construction(HERE) as server:
        pilot = command(f"{RUN} --limit 2")
        assert (pilot.code, "\nlabel-results  " in pilot.out and "next: look at them: " in pilot.out) == (0, True)
        before = command("construct status work")
        assert "summaries      2 of 6" in before.out
        assert "next: summaries" in before.out
        noise = command("construct status work --json").json["noise"]["text"]
        for text in (pilot.out, before.out, Path("work/drafts.html").read_text()):
            assert noise in " ".join(text.split())
        assert command(RUN).code == 0
        n_paid = _n_paid(server)
    assert n_paid.total() == len(n_paid)
    assert "dataset: made" in command("construct status work").out
    steps = {step["step"]: step for step in command("construct status work --json").json["steps"]}
    assert steps["summaries"]["dropped"] == {"reports no results": 1}
    assert data_set() == expected_instances()


def test_reviews_that_cannot_be_read_are_told_and_where_nothing_is_left_the_end_says_why(command: Command) -> None:
    with served_construction(HERE):
        Path("reviews/broken.xml").write_text("<article><front>")
        found = command(RUN)
        assert (found.code, "broken.xml" in found.err, data_set()) == (1, True, expected_instances())
        for paper in Path("papers").iterdir():
            paper.rename(paper.with_stem(f"another-{paper.stem}"))
            paper.with_stem(f"another-{paper.stem}").write_text("A paper of nothing.\n")
        found = command(RUN)
        why = " ".join(found.err.split())
        assert (found.code, "harvest: 1 review: " in why, "paper not at hand (" in why) == (1, True, True), why
        assert "`construct run CONFIG --fetch`" in command("construct status work").out.replace("\n", " ")
        review = Path("reviews/review.xml")
        review.write_text(re.sub(r"\[<xref.*?</xref>\]", "", review.read_text()))
        assert "harvest: no passage that cites a paper" in command(RUN).err


def test_papers_that_cannot_be_read_are_told_with_why_also_where_others_are_kept(command: Command) -> None:
    with served_construction(HERE):
        first, *others = sorted(Path("papers").iterdir())
        text = first.read_text()
        first.write_text(text[:40])
        made, status = command(f"{RUN} --until harvest"), command("construct status work")
        assert (made.code, status.code) == (0, 0)
        for found in (made, status):
            told = " ".join(found.err.split())
            assert "warning: 1 file of papers cannot be read, and count as missing; repair them, or" in told
            assert f"{first.name}: line " in told
            assert "get the file again" in told
            assert max(map(len, found.err.splitlines())) <= 80
        for call in (f"{RUN} --until harvest --json", "construct status work --json"):
            assert command(call).json["unreadable_papers"].keys() == {first.name}
        for path in others:
            path.write_text("<article>")
        for number in range(4):
            Path(f"papers/more-{number}.xml").write_text("")
        made, n = command(f"{RUN} --until harvest"), len(others) + 5
        assert made.code == 1
        assert f"... and {n - 5} more; --json lists them all" in made.err
        assert f"0 kept; {n} files of papers cannot be read; dropped: paper not at hand" in " ".join(made.err.split())
        first.write_text(text)
        assert first.name not in command(f"{RUN} --until harvest --json").json["unreadable_papers"]


def test_where_the_data_set_would_repeat_others_the_end_says_why(command: Command) -> None:
    labels, theirs = Labels(aspects=("a",), sources={"a": (0,)}), list[Instance]()
    for n, one in enumerate(expected_instances()):
        query = replace(one.query, paper_id=f"other-{n}", sentences=("One.", "Two."), kinds=one.query.kinds[:2])
        theirs.append(replace(one, query=query, labels=labels))
    write_dataset("theirs.json", theirs)
    with served_construction(HERE):
        configure(("[assemble]", '[assemble]\nagainst = ["theirs.json"]'))
        found = command(RUN)
    why = " ".join(found.err.split())
    assert found.code == 1, why
    assert f"assemble: {counted(len(theirs), 'draft')}: 0 kept; dropped: hypothesis is in another data set" in why
    assert not (WORK / "dataset").exists()


OWN = "Whether a cup of tea is drunk decides what the trial of it measures."


def first_draft(step: str) -> str:
    return min(open_drafts(output_of(step, WORK), must_be_finished=False).going_on)


def edit(**fields: Any) -> None:
    """Add an edit, as with an editor."""
    with (WORK / "edits.jsonl").open("a") as file:
        file.write(json.dumps(fields) + "\n")


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


@pytest.mark.parametrize("pilot", ["", "--limit 3"] if IS_THOROUGH else [""])
def test_an_edit_stays_and_what_depends_on_it_alone_is_made_again(command: Command, pilot: str) -> None:
    with served_construction(HERE) as server:
        assert command(f"{RUN} {pilot}").code == 0
        names = [output_of(step, WORK) for step in ("summaries", "hypotheses", "aspects", "judge", "label-results")]
        before, n_paid = {path: lines_of(path) for path in names}, _n_paid(server)
        edit(answer="edit", id=first_draft("hypotheses"), step="hypotheses", hypothesis=OWN, by="ann")
        status = command("construct status work").out
        assert pilot or "1 edited by people; 1 to be made again" in status
        assert f"next: {'summaries' if pilot else 'hypotheses'}\n" in status
        assert command(f"{RUN} {pilot}").code == 0
        for path in names:  # what is new names the draft alone
            added = lines_of(path)[len(before[path]) :]
            assert lines_of(path)[: len(before[path])] == before[path]
            assert {json.loads(line).get("id", first_draft("hypotheses")) for line in added} <= {
                first_draft("hypotheses")
            }
            assert bool(added) == (path.name != "summaries.jsonl")
        assert "to be made again" not in command("construct status work").out
        assert command(RUN).code == 0
        assert OWN in hypotheses()
        assert "corrected the output of these steps: hypotheses of 1" in Path("work/dataset/datasheet.md").read_text()
        # Takes it back: what was asked then is stored.
        edit(answer="edit", id=first_draft("hypotheses"), step="hypotheses")
        assert command(RUN).code == 0
        again = _n_paid(server)
    assert (data_set(), again.total()) == (expected_instances(), len(again))
    assert n_paid.keys() <= again.keys()


def test_a_rejected_draft_goes_no_further_and_an_edit_that_fits_nothing_stops_the_run(command: Command) -> None:
    with served_construction(HERE) as server:
        assert command(RUN).code == 0
        n_paid = _n_paid(server)
        judged = [*STEP_FILES][-3]  # the last step that judges
        draft = open_drafts(output_of(judged, WORK))[max(open_drafts(output_of(judged, WORK)).going_on)]
        edit(answer="edit", id=draft.id, step=judged, sources=[[1]] * len(draft.aspects), aspects=draft.aspects)
        edit(answer="edit", id=draft.id, step="label-results", results=[0])
        edit(answer="edit", id=(gone := first_draft("aspects")), step="aspects", rejected="two studies", by="ann")
        assert command(RUN).code == 0
        assert _n_paid(server) == n_paid
        assert len(data_set()) == len(expected_instances()) - 1
        labels = next(instance.labels for instance in data_set() if instance.query.hypothesis == draft.hypothesis)
        assert {*labels.sources.values()} == {(1,)}
        assert labels.results == labels.aspects[:1]
        assert f"{gone},doi_" in (dropped := Path("work/dataset/dropped.csv").read_text())
        assert "aspects,rejected,two studies (by ann)" in dropped
        for fields, why in (
            (
                {"answer": "edit", "id": "x", "step": "aspects", "rejected": "no"},
                "expected edits of the drafts in passages.jsonl",
            ),
            (
                {"answer": "edit", "id": gone, "step": "filter"},
                "edits.jsonl: line 4: step: expected one of summaries, ",
            ),
        ):
            edit(**fields)
            assert why in command(RUN).refusal
            path = WORK / "edits.jsonl"
            path.write_bytes(b"\n".join(lines_of(path)[:3]) + b"\n")


def test_what_people_marked_says_how_many_labels_are_right(command: Command) -> None:
    with served_construction(HERE):
        assert command(RUN).code == 0
        assert command("construct validate work -n 4 --for csv").code == 0
        tasks, labels = read_tasks("work/validation/sentences.jsonl"), read_labels("work")
        with Path("work/validation/sentences.csv").open(encoding="utf-8-sig", newline="") as blank:
            rows = list(csv.DictReader(blank))
        with Path("ada.csv").open("w", newline="") as filled:
            writer = csv.DictWriter(filled, fieldnames=rows[0])
            writer.writeheader()
            for row in rows:
                task = tasks.by_id[row["task"]]
                sources = labels[task.paper_id, task.aspect].sources
                writer.writerow(row | {"is_source": "x" if int(row["number"]) in sources else "0"})
        assert command("construct validate work --answers ada.csv --set draws=100").code == 0
        texts = [command(RUN).out, command("construct status work").out, Path("work/dataset/datasheet.md").read_text()]
    assert command("construct show work").done
    for text in (*texts, Path("work/drafts.html").read_text()):
        assert "Estimated from people's answers on 4 aspects, taken to be right." in " ".join(text.split())


def test_what_is_done_can_be_a_partial_data_set_without_a_request(command: Command) -> None:
    with served_construction(HERE) as server:
        assert command(f"{RUN} --limit 2").code == 0
        assert not (WORK / "dataset").exists()
        n_paid = _n_paid(server)
        assert command(f"{RUN} --partial").code == 0
        assert _n_paid(server) == n_paid
        partial = data_set()
        edit(answer="edit", id=first_draft("judge"), step="judge", rejected="no")
        assert command(f"{RUN} --partial --limit 2").code == 0
        fewer = data_set()
        assert "**This data set is partial**" in Path("work/dataset/datasheet.md").read_text()
        assert json.loads(Path("work/dataset/manifest.json").read_text())["is_partial"]
        assert command(RUN).code == 0
    assert not json.loads(Path("work/dataset/manifest.json").read_text())["is_partial"]
    whole = [instance.query.hypothesis for instance in expected_instances()]
    assert [instance.query.hypothesis in whole for instance in partial] == [True, True]
    assert (len(fewer), len(data_set())) == (1, len(whole) - 1)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('name = "synthetic"', "name = 7", "`$.name`"),
        ('name = "synthetic"', "name = ", "at line 2"),
        ('reviews = ["reviews"]', "", "'reviews' or 'table'"),
        ("test = 1.0", "test = 0.9", "add up to 1, got 0.9"),
        ("[judge]", "[judge]\noverlap = 10", "judge: overlap: "),
        ('papers = "papers"', 'papers = "none"', "none: expected a folder"),
        ('reviews = ["reviews"]', 'reviews = ["none"]', "none: expected a review"),
        ("[assemble]", '[assemble]\nagainst = ["nope"]', "nope"),
        ("[assemble]", "[assemble]\nagainst = [7]", "`$.assemble.against[0]`"),
        ("[judge]", '[judge]\nsecond_model = "nope/any"', "no provider 'nope'"),
        ("[judge]", '[judge]\nmodel = "local/any"', "base_url: expected an address"),
        ("[judge]", '[judge]\nmodel = "local/any,base_url=ftp://x"', "base_url"),
        ("[judge]", '[judge]\nsecond_model = "openai/gpt-4o,key_env=NO_SUCH_KEY"', "NO_SUCH_KEY"),
        ("name =", 'licences = ["ccby"]\nname =', "licences: expected one or more of cc0"),
        ("name =", 'licences = ["cc-by", "CC0"]\nname =', "got ['cc-by', 'CC0']"),
        ("test = 1.0", "test = nan", "`$.assemble.shares[...]`"),
        ("[assemble]", "[filter]\nleast_covered = nan\n[assemble]", "`$.filter.least_covered`"),
    ],
)
def test_a_wrong_configuration_is_refused_before_the_first_request(
    command: Command, before: str, after: str, why: str
) -> None:
    with served_construction(HERE) as server:
        configure((before, after))
        assert why in command(RUN).refusal
        assert server.log_entries() == []


def test_a_folder_in_the_place_of_the_data_set_is_told_before_the_first_request(command: Command) -> None:
    (WORK / "dataset").mkdir(parents=True)
    (WORK / "dataset" / "notes.txt").write_text("mine")
    with served_construction(HERE) as server:
        assert "dataset: holds something else" in command(RUN).refusal
        assert server.log_entries() == []


@pytest.mark.parametrize("same", ["id", "text"])
def test_papers_of_other_data_sets_are_left_out_before_anything_is_asked_of_them(command: Command, same: str) -> None:
    one, *others = expected_instances()
    query = replace(one.query, hypothesis="Another one.", paper_id="another")
    if same == "id":
        query = replace(one.query, hypothesis="Another one.", sentences=("One.", "Two."), kinds=one.query.kinds[:2])
    theirs = Instance(query=query, labels=Labels(aspects=("a",), sources={"a": (0,)}))
    write_dataset("theirs.json", [theirs])
    with served_construction(HERE) as server:
        configure(("[assemble]", '[assemble]\nagainst = ["theirs.json"]'))
        found = command(RUN)
        asked = Counter(entry["key"] for entry in server.log_entries())
        text = " ".join(command("construct status work --json").out.split())
        again = command(RUN)
        assert (again.code, len(server.log_entries())) == (0, asked.total()), again.err
    reason = f"paper is in another data set, by its {same}"
    assert found.code == 0, found.err
    assert open_drafts(WORK / "summaries.jsonl").dropped[reason] == 1
    assert f"dropped: {reason}" in found.out
    assert f'"{reason}": 1' in text
    assert sorted(hypotheses()) == sorted(one.query.hypothesis for one in others)
    dropped = open_drafts(WORK / "summaries.jsonl")
    left_out = next(one for one in map(dropped.__getitem__, dropped.offsets) if one.dropped == reason)
    assert left_out.sources_of == {}
    assert left_out.detail.startswith(f"{one.id} of theirs.json: ")


def test_with_malformed_first_replies_the_data_set_is_the_same(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes, answer = list(SHAPES.values()), FakeModel.answer

    def malformed(self: FakeModel, behaviour: str, call: Any, content: Any, key: str) -> Any:
        reply = answer(self, behaviour, call, content, key)
        if not reply.text.startswith("{") or len(call.messages) > 1:  # of an empty reply, no assistant's is sent again
            return reply
        shape = shapes[sum(f"{content.step}\n{content.instructions}".encode()) % len(shapes)]
        return dataclasses.replace(reply, text=shape(reply.text))

    monkeypatch.setattr(FakeModel, "answer", malformed)
    with served_construction(HERE):
        assert command(RUN).done
    assert data_set() == expected_instances()


Judged = Callable[..., list[int]]


def numbered_from(first: int) -> Callable[[Judged], Judged]:
    """Return a judge that finds the right sentences and numbers them within the window that it is shown."""

    def changed(judged: Judged) -> Judged:
        def numbered(self: GoldStudies, study: Any, aspect: str, content: Any, *more: Any) -> list[int]:
            return [one - min(content.numbers) + first for one in judged(self, study, aspect, content, *more)]

        return numbered

    return changed


@pytest.mark.parametrize("target", [0.8, 0.0] if IS_THOROUGH else [0.8])
def test_sentences_are_asked_again_until_the_labels_are_as_precise_as_wanted(command: Command, target: float) -> None:
    with served_construction(HERE) as server:
        judge = f'model = "local/noisy-0.1-0.03,base_url={server.base_url}"\nprecision = {target}\n'
        configure(("[judge]\n", f"[judge]\n{judge}"))
        assert command(f"{RUN} --until judge").done
        n_judged, first = _n_paid(server).total(), estimate_noise(open_drafts(WORK / "judgments.jsonl"))
        assert command(f"{RUN} --until recheck").done
        n_paid, path = _n_paid(server), WORK / "rechecked.jsonl"
        assert command(f"{RUN} --until recheck").done
        assert _n_paid(server) == n_paid
    reached = estimate_noise(open_drafts(path)).precision_if_errors_differ
    assert first.precision_if_errors_differ is not None
    assert reached is not None
    assert n_paid.total() == len(n_paid)
    assert first.precision_if_errors_differ < 0.8
    assert (lead_in(path) > 0, n_paid.total() > n_judged, reached >= 0.8) == (target > 0,) * 3


DOUBTS = ("so the labels say nothing", "of the labels are wrong", "could not be read")
JUDGES: dict[str, tuple[str, Callable[[Judged], Judged] | None, str]] = {
    "a right one": ("any", None, ""),
    "a fair one": ("noisy-0.1-0.002", None, ""),
    "yes to every sentence": ("noisy-0-1", None, DOUBTS[0]),
    "yes to nearly every sentence": ("noisy-0.05-0.95", None, DOUBTS[0]),
    "by chance": ("noisy-0.7-0.3", None, DOUBTS[1]),
    "numbers 1 to 10 of the window": ("any", numbered_from(1), DOUBTS[2]),
    "numbers 0 to 9 of the window": ("any", numbered_from(0), DOUBTS[2]),
}


TRIED = [("a fair one", True), ("yes to every sentence", True), ("numbers 1 to 10 of the window", True)]
if IS_THOROUGH:
    TRIED = [*((one, True) for one in JUDGES), ("yes to every sentence", False)]


@pytest.mark.parametrize(("judge", "at_once"), TRIED)
def test_a_judge_that_says_yes_to_all_or_numbers_otherwise_is_warned_of_and_a_fair_one_is_not(
    command: Command, monkeypatch: pytest.MonkeyPatch, judge: str, *, at_once: bool
) -> None:
    model, change, warning = JUDGES[judge]
    if change is not None:
        monkeypatch.setattr(GoldStudies, "judge", change(GoldStudies.judge))
    with served_construction(HERE, at_once=at_once) as server:
        own = f'model = "local/{model},base_url={server.base_url}"\n'
        if not at_once:
            CONFIG.write_text(f"{CONFIG.read_text()}[judge]\n")
        configure(("[judge]\n", f"[judge]\n{own}"), ("[assemble]", "[filter]\nleast_covered = 0\n[assemble]"))
        made = command(RUN)
    status = command("construct status work")
    fields = command("construct status work --json").json["noise"]
    for told in (made, status):
        warned = " ".join(told.err.split())
        assert (any(one in warned for one in DOUBTS), warning in warned) == (bool(warning), True), told.err
    known = ("an estimated", "labels are right is not known")
    assert any(one in " ".join(status.out.split()) for one in known)
    if change is not None:  # numbers that are not shown are no answer, so that no draft is left
        assert "sentences without a readable judgment (5)" in " ".join(made.err.split())
        assert "windows could not be read" in " ".join(status.out.split())
        assert (made.code, fields["n_unread"] > 0) == (1, True)
        return
    assert (made.code, fields["n_unread"]) == (0, 0)
    assert any(one in " ".join(made.out.split()) for one in known)
    sheet = " ".join((WORK / "dataset" / "datasheet.md").read_text().split())
    assert any(one in sheet for one in known)
    assert ("**Doubtful**" in sheet, warning in sheet) == (bool(warning), True)
