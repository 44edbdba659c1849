"""From verdicts to the report: who decides a miss, what is refused, and the corrected score of a hand-made run."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import Command
from evidencebench import Instance, Kind, Labels, Query, open_dataset, write_dataset
from evidencebench.construction.audit import AuditReport, audit_report, sample_misses
from evidencebench.construction.people.answers import Verdict, verdict_folder
from evidencebench.construction.people.tasks import MissesFile, read_misses, write_misses
from evidencebench.data.tasks import TASKS
from evidencebench.errors import PeopleError, RunMismatchError, UnreadableError
from evidencebench.scoring.resampling import Resampling

FEW = Resampling(n_draws=200)
Judge = Callable[[str, dict[str, str]], None]


def paper(name: str, n_aspects: int) -> Instance:
    """Make a paper whose sentence 1 + n is the only source of aspect n."""
    return Instance(
        query=Query(
            instance_id=name,
            paper_id=name,
            hypothesis="Tea lowers blood pressure.",
            sentences=("Results", *(f"Sentence {number}." for number in range(n_aspects))),
            kinds=(Kind.HEADING, *n_aspects * (Kind.BODY,)),
        ),
        labels=Labels(
            aspects=tuple(f"{name}_{number}" for number in range(n_aspects)),
            sources={f"{name}_{number}": (1 + number,) for number in range(n_aspects)},
            texts={f"{name}_{number}": f"Aspect {number} of {name}." for number in range(n_aspects)},
        ),
    )


@pytest.fixture
def misses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MissesFile:
    """Give all misses of a run that covers 1 of 2 aspects of a paper, and 1 of 4 of another."""
    monkeypatch.chdir(tmp_path)
    write_dataset("data.json", [paper("two", 2), paper("four", 4)])
    Path("run.json").write_text(json.dumps({"two": [1], "four": [1]}))
    write_misses(
        Path("misses.jsonl"),
        *sample_misses(Path("run.json"), open_dataset("data.json"), TASKS["er_at_10"], n=50, seed=0),
    )
    return read_misses("misses.jsonl")


@pytest.fixture
def judge(misses: MissesFile) -> Judge:
    """Give a function by which an auditor says the causes of misses, named by their aspects."""
    verdicts = verdict_folder(Path("audit"), misses)

    def said(auditor: str, causes: dict[str, str]) -> None:
        for miss in misses.records:
            if miss.aspect_id in causes:
                verdicts.append(auditor, Verdict(task=miss.id, cause=causes[miss.aspect_id], note="Why."))

    return said


def report(misses: MissesFile) -> AuditReport:
    return audit_report(misses, Path("audit"), Path("run.json"), open_dataset("data.json"), FEW)


def test_aspects_that_are_not_the_systems_fault_count_as_covered(misses: MissesFile, judge: Judge) -> None:
    judge("Ada", {"two_1": "missed", "four_1": "missed", "four_2": "label_lacks_sentence", "four_3": "other_fault"})
    found = report(misses)
    assert misses.header.score == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert (found.n_audited, found.excused.k) == (4, 1)
    assert found.corrected.readings["covered"].mean == pytest.approx((1 / 2 + 2 / 4) / 2)
    seen = [one for one in found.causes if one.share.k]
    assert {one.cause.name: one.share.k for one in seen} == {"missed": 2, "label_lacks_sentence": 1, "other_fault": 1}
    assert [one.points for one in seen] == pytest.approx([1 / 4 + 1 / 8, 1 / 8, 1 / 8])


def test_most_auditors_decide_and_a_tie_is_the_systems_fault(misses: MissesFile, judge: Judge) -> None:
    judge("Ada", {"two_1": "no_single_sentence", "four_1": "missed"})
    judge("Bo", {"two_1": "missed", "four_1": "missed"})
    tied = report(misses)
    judge("Cy", {"two_1": "not_about_hypothesis"})
    found = report(misses)
    by_aspect = {miss.aspect_id: miss.id for miss in misses.records}
    assert (tied.tied, tied.excused.k) == ((by_aspect["two_1"],), 0)
    assert (found.tied, found.excused.k) == ((), 1)
    assert [one.cause.name for one in found.causes if one.share.k] == ["missed", "no_single_sentence"]
    pairs = {(pair.first, pair.second): (pair.n_both, pair.n_same_cause, pair.n_same_fault) for pair in found.pairs}
    assert pairs == {("Ada", "Bo"): (2, 1, 1), ("Ada", "Cy"): (1, 0, 1), ("Bo", "Cy"): (1, 0, 0)}


def test_kappa_of_two_auditors_is_that_of_a_worked_example(misses: MissesFile, judge: Judge) -> None:
    ada = {"two_1": "missed", "four_1": "missed", "four_2": "reading_error", "four_3": "reading_error"}
    judge("Ada", ada)
    judge("Bo", {**ada, "four_2": "missed"})
    (pair,) = report(misses).pairs
    # They agree on 3 of 4; by chance they would on 2/4 * 3/4 + 2/4 * 1/4 = 1/2.
    assert pair.kappa_fault == pytest.approx((3 / 4 - 1 / 2) / (1 - 1 / 2))


def test_another_run_or_other_data_are_refused_and_so_is_an_empty_folder(misses: MissesFile, judge: Judge) -> None:
    with pytest.raises(UnreadableError, match="audit: expected a folder with verdicts, which 'evidencebench audit"):
        report(misses)
    judge("Ada", {"two_1": "missed"})
    Path("run.json").write_text(json.dumps({"two": [2], "four": [1]}))
    with pytest.raises(RunMismatchError, match=r"was drawn from the run run\.json with the checksum \w+, but"):
        report(misses)
    Path("run.json").write_text(json.dumps({"two": [1], "four": [1]}))
    write_dataset("data.json", [paper("two", 3), paper("four", 4)])
    with pytest.raises(RunMismatchError, match=r"was drawn from the data data\.json"):
        report(misses)


def test_verdicts_that_do_not_fit_are_refused(misses: MissesFile) -> None:
    verdicts = verdict_folder(Path("audit"), misses)
    first = misses.records[0].id
    wrong = {
        Verdict(task="miss_99", cause="missed"): "no miss 'miss_99'; the ids look like",
        Verdict(task=first, cause="mised"): r"no cause 'mised' \(did you mean 'missed'\?\)",
        Verdict(task=first, cause="other_fault", note=" "): "cause 'other_fault' needs a note that says which",
        Verdict(task=first, cause="missed", note="a" * 5_001): "the note has 5001 characters",
    }
    for verdict, message in wrong.items():
        with pytest.raises(PeopleError, match=message):
            verdicts.append("Ada", verdict)
    verdicts.append("Ada", Verdict(task=first, cause="missed"))
    verdicts.append("Ada", Verdict(task=first, revision=2))
    assert verdicts.answers_of("Ada")[first].cause == ""  # taken back


def test_the_commands_say_what_is_audited_and_what_is_not(misses: MissesFile, judge: Judge, command: Command) -> None:
    judge("Ada", {"two_1": "label_lacks_sentence", "four_1": "missed"})
    judge("Bo", {"two_1": "missed"})
    call = "audit report misses.jsonl --folder audit --run run.json --data data.json --draws 200"
    told = command(call)
    assert "2 audited misses of 4, by Ada (2), Bo (1)" in told.out
    assert "aspect recall, covered" in told.out
    assert max(map(len, told.out.splitlines())) <= 80
    assert "2 of 4 drawn misses have a verdict; the others are taken to be like them" in told.err
    (two_1,) = (miss.id for miss in misses.records if miss.aspect_id == "two_1")
    assert f"auditors are even about 1 miss ('{two_1}',)" in told.err
    found = command(f"{call} --json").json
    assert found["excused"] == {"k": 0, "n": 2, "low": 0.0, "high": pytest.approx(1 - 0.025**0.5)}
    assert found["corrected"]["readings"]["covered"]["mean"] == pytest.approx(0.375)
    assert len(found["warnings"]) == 2


@pytest.mark.usefixtures("misses")
def test_sample_says_what_there_is_to_audit_and_refuses_what_is_there(command: Command) -> None:
    without_texts = [replace(one, labels=replace(one.labels, texts={})) for one in open_dataset("data.json")]
    write_dataset("data.json", without_texts)
    call = "audit sample run.json -d data.json -t er_at_10 -o misses.jsonl"
    assert "misses.jsonl: exists" in command(call).refusal
    made = command(f"{call} -n 2 --overwrite")
    assert re.search(r"^all +4 +62\.5 +2$", made.out, re.MULTILINE)
    assert "misses.jsonl: 2 misses of 4" in made.out
    assert "warning: the data has no texts of aspects" in made.err
    assert [miss.aspect for miss in read_misses("misses.jsonl").records] == ["", ""]
    assert command(f"{call} --overwrite --json").json["n_drawn"] == 4
    assert "expected one --task" in command(f"{call} -t er_at_5 --overwrite").refusal
