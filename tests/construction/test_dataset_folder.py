"""The folder of a data set: what is in it adds up, and a kill at any moment leaves it whole or not there."""

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import msgspec

from evidencebench.construction.assemble import assemble
from evidencebench.construction.draft import (
    Draft,
    DraftFile,
    DraftHeader,
    JudgingRound,
    ReplySource,
    open_drafts,
    writing_drafts,
)
from evidencebench.construction.losses import filter_drafts
from evidencebench.engine.processes import Processes
from trial_constructions import SETTINGS, WHOLE, files_in, random_drafts, write_drafts


def _step(folder: Path, step: str, drafts: Iterable[Draft], before: DraftFile | None, every: int) -> DraftFile:
    """Write the file of a step that drops every so manyth draft."""
    path = folder / f"{step}.jsonl"
    header = DraftHeader(
        step=step,
        settings={"model": f"maker/{step}", "base_url": "http://secret.example"},
        source_sha256=before.sha256 if before else "",
    )
    with writing_drafts(path, header, source=before) as writer:
        for number, draft in enumerate(drafts):
            reason = f"{step} finds nothing" if number % every == 0 else ""
            writer.append(msgspec.structs.replace(draft, dropped=reason, detail="=1+1" if reason else ""))
        writer.finish()
    return open_drafts(path)


def _judged(draft: Draft) -> Draft:
    """Return a draft with the sources of its parts, and two rounds of judging."""
    assert draft.judging is not None
    rounds = (
        JudgingRound(model="maker/cheap", prompt="a" * 64, votes=(), asks_all=True),
        JudgingRound(model="maker/dear", prompt="b" * 64, votes=(), decides=True),
    )
    return msgspec.structs.replace(
        draft,
        sources_of={"hypotheses": ReplySource(prompt="c" * 64, model="maker/wordy", request="r")},
        judging=msgspec.structs.replace(draft.judging, rounds=rounds),
    )


def _work_folder(folder: Path) -> DraftFile:
    """Make three steps before `filter`, and a file of another construction beside them; return what filter leaves."""
    drafts = [_judged(draft) for draft in random_drafts(folder / "papers", Random(0), n_papers=12)]
    first = _step(folder, "harvest", drafts, None, 4)
    second = _step(folder, "summaries", first.drafts(), first, 5)
    third = _step(folder, "label-results", second.drafts(), second, 7)
    write_drafts(folder / "other.jsonl", random_drafts(folder / "papers", Random(0)))
    return filter_drafts(third, folder / "filtered.jsonl")


def test_losses_add_up_and_the_datasheet_tells_what_is_known_and_marks_what_is_not(tmp_path: Path) -> None:
    source = _work_folder(tmp_path)
    report = assemble(source, tmp_path / "papers", tmp_path / "dataset", SETTINGS)
    assert [one.step for one in report.steps] == ["harvest", "summaries", "label-results", "filter", "assemble"]
    for before, after in zip(report.steps, report.steps[1:], strict=False):
        assert before.n_kept == after.n_drafts
    assert report.steps[-1].n_kept == report.n_instances == sum(one.n_instances for one in report.splits.values())
    with (tmp_path / "dataset" / "dropped.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = Counter((row["step"], row["reason"]) for row in rows)
    assert found == {(one.step, reason): n for one in report.steps for reason, n in one.dropped.items()}
    assert len({row["draft"] for row in rows}) == len(rows) == report.steps[0].n_drafts - report.n_instances
    assert {row["detail"] for row in rows if row["step"] == "harvest"} == {"'=1+1"}  # no formula in a spreadsheet
    text = (tmp_path / "dataset" / "datasheet.md").read_text()
    assert text.startswith("# Datasheet of tea\n\nMade on 2026-11-22 with evidencebench ")
    for one in report.steps:
        assert f"| {one.step} | {one.n_drafts} | {one.n_drafts - one.n_kept} | {one.n_kept} |" in text
        for reason, n in one.dropped.items():
            assert f"| dropped: {reason} |  | {n} |  |" in text
    for split, counts in report.splits.items():
        if counts.n_instances:
            assert f"| {split} | {counts.n_instances} | {counts.n_papers} | {counts.n_reviews} |" in text
    n = report.n_instances
    assert f"| hypotheses | maker/wordy | cccccccccccc | {n} |" in text
    assert f"| judge, round 1, all aspects at once | maker/cheap | aaaaaaaaaaaa | {n} |" in text
    assert f"| judge, round 2, where windows disagreed | maker/dear | bbbbbbbbbbbb | {n} |" in text
    assert "* summaries: model maker/summaries\n" in text
    assert "secret.example" not in text
    assert "was not compared with others" in text
    assert text.count("**TO FILL IN**") >= 8
    assert "$" not in text
    assert max(len(line) for line in text.splitlines() if not line.startswith(("|", "*"))) <= 120


def test_a_construction_whose_first_files_are_missing_says_so(tmp_path: Path) -> None:
    source = _work_folder(tmp_path)
    (tmp_path / "harvest.jsonl").unlink()
    report = assemble(source, tmp_path / "papers", tmp_path / "dataset", SETTINGS)
    assert report.steps[0].step == "summaries"
    assert (
        "The files of the steps before 'summaries' were not at hand" in (tmp_path / "dataset/datasheet.md").read_text()
    )


def test_the_manifest_has_the_checksum_of_every_other_file(tmp_path: Path) -> None:
    source = write_drafts(tmp_path / "filtered.jsonl", random_drafts(tmp_path / "papers", Random(0)))
    assemble(source, tmp_path / "papers", tmp_path / "dataset", WHOLE)
    found = files_in(tmp_path / "dataset")
    manifest = json.loads(found.pop("manifest.json"))
    assert list(found) == ["datasheet.md", "dropped.csv", "test.json"]
    assert {name: one["sha256"] for name, one in manifest["files"].items()} == {
        name: hashlib.sha256(content).hexdigest() for name, content in found.items()
    }
    assert manifest["settings"] == {"shares": {"test": "1"}, "split_by": "both", "seed": 0}


def test_processes_make_the_same_bytes(tmp_path: Path) -> None:
    source = write_drafts(tmp_path / "filtered.jsonl", random_drafts(tmp_path / "papers", Random(0)))
    settings = replace(SETTINGS, shares={"train": Fraction(1, 2), "test": Fraction(1, 2)})
    assemble(source, tmp_path / "papers", tmp_path / "one", settings)
    assemble(source, tmp_path / "papers", tmp_path / "two", settings, engine=Processes(2))
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")


def test_a_file_changed_after_it_was_read_is_told_and_a_damaged_one_of_another_construction_no_matter(
    tmp_path: Path,
) -> None:
    source = _work_folder(tmp_path)
    path = tmp_path / "summaries.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"summary":"The', b'"summary":"Yet the'))
    other = tmp_path / "other.jsonl"
    other.write_bytes(other.read_bytes()[:300] + b"\n{}\n")
    report = assemble(source, tmp_path / "papers", tmp_path / "dataset", WHOLE)
    assert len(report.steps) == 5
    assert [told.partition(", ")[0] for told in report.warnings] == [
        "summaries.jsonl was changed after the step 'label-results' had read it"
    ]
