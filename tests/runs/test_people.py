"""What people pick is a run like any other: durable at any byte, theirs alone, refused where it does not belong."""

import json
import os
import string
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    MAX_NAME_LENGTH,
    DataHeader,
    FinalError,
    PeopleError,
    PeopleFolder,
    Person,
    Picks,
    RunError,
    RunFormatError,
    RunMismatchError,
    StaleError,
    checked_name,
    checked_picks,
    file_stem,
    printable,
    read_run,
    score_runs,
)
from evidencebench import TASKS, Dataset, Ranking, Rules, evaluate, load_sample
from kit.examples import examples

SAMPLE = load_sample()
A, B, C = SAMPLE.ids[:3]
OPTIMAL = TASKS["er_at_optimal"]

ODD_NAMES = "Ada,ada,Ödön,Odon,A b,a-b,..,../../etc/passwd,CON,nul.txt,王小明,<b>,a/b,$(rm)"
names = st.text(min_size=1, max_size=MAX_NAME_LENGTH) | st.sampled_from(ODD_NAMES.split(","))
"""Names as people type them, and as they had better not."""


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    return people_in(tmp_path).person("Ada")


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def header_of(dataset: Dataset) -> DataHeader:
    return DataHeader(name=dataset.name, path=str(dataset.path), sha256=dataset.sha256, n=len(dataset))


def people_in(
    folder: Path, *, task: str = "er_at_optimal", limit: int | None = None, watch: Watch | None = None
) -> PeopleFolder:
    return PeopleFolder(folder, data=header_of(SAMPLE), task=task, limit=limit, clock=watch or Watch())


def picked(sentences: Sequence[int], seconds: int = 0, *, revision: int = 0, tab: str = "one") -> Picks:
    return Picks(sentences=tuple(sentences), seconds=seconds, revision=revision, tab=tab)


def submit(person: Person, instance_id: str, sentences: Sequence[int], seconds: int = 0) -> Ranking:
    """Open a paper and submit picks, as a person does."""
    person.begin(instance_id)
    return person.submit(instance_id, picked(sentences, seconds))


def a_name(text: str) -> str | None:
    """Return a name as it is kept, or None where nobody can be called that."""
    try:
        return checked_name(text)
    except PeopleError:
        return None


@given(names)
def test_a_name_is_kept_as_it_is_and_harms_no_terminal_and_no_disk(text: str) -> None:
    name = a_name(text)
    if name is not None:
        assert checked_name(name) == name
        assert checked_name(f" {name}\n") == name
        assert 1 <= len(name) <= MAX_NAME_LENGTH
        assert not set(printable(name)) - set(name) - {"\ufffd"}
        assert "\x1b" not in name
        stem = file_stem(name)
        assert set(stem) <= set(string.ascii_lowercase + string.digits + "-")
        assert len(stem) <= 41
        assert Path(stem).name == stem
        assert stem.split("-")[-1] not in {"con", "nul", "aux", "prn"}


@given(st.lists(names, min_size=2, max_size=8))
def test_other_names_have_other_files(texts: list[str]) -> None:
    kept = {name for text in texts if (name := a_name(text)) is not None}
    assert len({file_stem(name).casefold() for name in kept}) == len(kept)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, "one letter") for text in ("", "  \t\n", "\u0301")),
        ("a" * 81, "81 .*80"),
        *((text, "control character") for text in ("Ada\x00", "A\x1b[2Jda", "A\nda", "Ada\u202egnp", "Ada\u2066")),
        *(
            (text, "cannot be seen")
            for text in ("\u200d\u200b", "Ada\u200b", "Ada\u00ad", "Ada\U000e0041", "Ada\ufe0f")
        ),
        *((text, "cannot be seen") for text in ("\u3164", "\u2800")),
    ],
)
def test_a_name_that_nobody_can_have_is_refused(text: str, words: str) -> None:
    with pytest.raises(PeopleError, match=words):
        checked_name(text)


def test_the_two_spellings_of_one_letter_are_one_name() -> None:
    assert checked_name("O\u0308do\u0308n") == checked_name("Ödön")
    assert checked_name("  Ada   Lovelace ") == "Ada Lovelace"
    assert file_stem("Ödön") != file_stem("Odon")


@pytest.mark.parametrize(
    ("sentences", "words"),
    [
        ([10], r"sentence 10: .*0\.\.9"),
        ([-1], "sentence -1"),
        ([2**70], str(2**70)),
        ([3, 3], "twice"),
        ([1, 2, 3, 4], "4 .* 3"),
    ],
)
def test_picks_that_cannot_be_are_refused(sentences: list[int], words: str) -> None:
    with pytest.raises(PeopleError, match=words):
        checked_picks(sentences, n_sentences=10, budget=3)


@examples(40)  # each waits for the disk many times
@given(
    st.lists(st.tuples(st.sampled_from(SAMPLE.ids), st.lists(st.integers(0, 60), unique=True, max_size=6)), max_size=6)
)
def test_what_is_submitted_is_read_back_as_any_run_is(given_picks: list[tuple[str, list[int]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        people = people_in(Path(folder))
        person = people.person("Ada")
        first = dict(reversed(given_picks))
        for instance_id, sentences in given_picks:
            if instance_id not in person.submitted:
                submit(person, instance_id, sentences, 0)
            else:
                with pytest.raises(FinalError):
                    submit(person, instance_id, sentences, 0)
        people.close()
        if not given_picks:
            assert list(Path(folder).iterdir()) == []
            return
        run = read_run(person.run_path)
        assert run.ids == set(first)
        for instance_id, sentences in first.items():
            assert run.answer(instance_id, "er_at_optimal") == Ranking(sentences=tuple(sentences), ordered=False)
        assert evaluate({"Ada": run}, SAMPLE, OPTIMAL)["Ada"][OPTIMAL.name].counts.missing == len(SAMPLE) - len(first)
        again = people_in(Path(folder)).person("Ada")
        assert again.submitted == person.submitted


def test_the_time_only_grows_from_when_the_paper_was_first_opened_and_is_never_longer(tmp_path: Path) -> None:
    watch = Watch()
    people = people_in(tmp_path, watch=watch)
    first = people.person("Ada")
    first.begin(A)
    watch.pass_by(50.9)
    assert [first.save(A, picked([1], told)).seconds for told in (40, 5, 10**9)] == [40, 40, 50]
    watch.pass_by(-1000)  # a clock that is set back
    assert first.save(A, picked([1], 60)).seconds == 50
    watch.pass_by(1249.1)
    people.close()
    again = people_in(tmp_path, watch=watch).person("Ada")
    assert again.begin(A).seconds == 50
    submit(again, A, [4, 2], 61)
    line = json.loads(again.run_path.read_bytes().splitlines()[1])
    assert (line["answered"], line["notes"]) == ("2026-03-01T12:05:00+00:00", {"seconds": 61, "seconds_open": 300})
    assert (line["id"], line["task"], line["sentences"], line["ordered"]) == (A, "er_at_optimal", [4, 2], False)


def test_a_draft_that_was_not_taken_away_after_its_submission_is_forgotten(tmp_path: Path) -> None:
    people = people_in(tmp_path)
    person = people.person("Ada")
    person.save(A, picked([5], 0))
    (drafts,) = tmp_path.glob("*.drafts.json")
    before = drafts.read_bytes()
    submit(person, A, [6], 0)
    people.close()
    drafts.write_bytes(before)  # as if killed between the two writes
    again = people_in(tmp_path).person("Ada")
    assert (list(again.submitted), again.drafts) == ([A], {})


def test_a_name_typed_wrong_leaves_nothing_behind(tmp_path: Path) -> None:
    person = people_in(tmp_path / "picks").person("Adda")
    assert (person.submitted, person.drafts) == ({}, {})
    assert list((tmp_path / "picks").iterdir()) == []


def test_a_run_survives_being_cut_at_any_byte(tmp_path: Path) -> None:
    people = people_in(tmp_path / "whole")
    person = people.person("Ada")
    for number, instance_id in enumerate((A, B, C)):
        submit(person, instance_id, [number, 7], 0)
    people.close()
    content = person.run_path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(content) if byte == 0x0A]
    for size in range(ends[0] - 1, len(content) + 1):
        folder = tmp_path / f"cut {size}"
        folder.mkdir()
        (folder / person.run_path.name).write_bytes(content[:size])
        cut = people_in(folder)
        again = cut.person("Ada")
        whole = sum(end - 1 <= size for end in ends[1:])
        assert [one in again.submitted for one in (A, B, C)] == [number < whole for number in range(3)]
        if size % 10 and min(abs(size - end) for end in ends) > 2:
            cut.close()
            continue  # going on takes long, and is the same within a line
        for number, instance_id in enumerate((A, B, C)[whole:], whole):
            submit(again, instance_id, [number, 7], 0)
        cut.close()
        run = read_run(folder / person.run_path.name)
        assert [run.answer(one, "er_at_optimal") for one in (A, B, C)] == [
            Ranking(sentences=(number, 7), ordered=False) for number in range(3)
        ]


def test_two_servers_that_met_a_new_person_at_once_do_not_write_into_each_others_files(tmp_path: Path) -> None:
    one, other = people_in(tmp_path).person("Ada"), people_in(tmp_path).person("Ada")
    submit(one, A, [1], 0)
    with pytest.raises(RunError, match="another process"):
        submit(other, A, [2], 0)
    assert read_run(one.run_path).answer(A, "er_at_optimal") == Ranking(sentences=(1,), ordered=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda header: header["data"].update(sha256="0" * 64), "data was .*choose another folder"),
        (lambda header: header.update(limit=3), "limit was 3, now None"),
        (lambda header: header["system"]["options"].update(name="Bob"), "name was 'Bob', now 'Ada'"),
        (lambda header: header["system"].update(name="bm25"), "system was bm25, now "),
        (lambda header: header.update(tasks=["er_at_10"]), "tasks was"),
    ],
)
def test_a_run_that_is_another_one_is_not_continued(
    change: Callable[[dict[str, Any]], object], words: str, tmp_path: Path
) -> None:
    people = people_in(tmp_path)
    person = people.person("Ada")
    submit(person, A, [1], 0)
    people.close()
    first, *rest = person.run_path.read_text().splitlines(keepends=True)
    header = json.loads(first)
    change(header)
    person.run_path.write_text(json.dumps(header, separators=(",", ":")) + "\n" + "".join(rest))
    before = person.run_path.read_bytes()
    with pytest.raises(RunMismatchError, match=words):
        people_in(tmp_path).person("Ada")
    assert person.run_path.read_bytes() == before


def test_drafts_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    people = people_in(tmp_path)
    people.person("Ada").begin(A)
    people.close()
    (drafts,) = tmp_path.glob("*.drafts.json")
    drafts.write_text('{"drafts": 3}')
    with pytest.raises(RunFormatError, match=r"drafts\.json: .*move the file"):
        people_in(tmp_path).person("Ada")


@pytest.mark.parametrize("suffix", ["jsonl", "drafts.json"])
def test_a_link_and_a_pipe_in_the_place_of_a_persons_file_are_refused(suffix: str, tmp_path: Path) -> None:
    outside, path = tmp_path / "outside", tmp_path / f"{file_stem('Ada')}.er_at_optimal.{suffix}"
    path.symlink_to(outside)
    with pytest.raises(RunError, match="is a link"):
        people_in(tmp_path).person("Ada").begin(A)
    assert not outside.exists()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(RunError, match=f"{suffix}: .*a pipe"):
        people_in(tmp_path).person("Ada").begin(A)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file: no folder"):
        people_in(tmp_path / "file")


def test_a_person_is_one_however_often_asked_for(tmp_path: Path) -> None:
    people = people_in(tmp_path)
    assert people.person("Ada") is people.person("  Ada ")
    assert people.person("ada") is not people.person("Ada")


def test_people_of_one_folder_are_graded_beside_each_other(tmp_path: Path) -> None:
    people = people_in(tmp_path)
    for name, picks in (("Ada", [2, 4]), ("Bob, M.D. (x)", [0])):
        submit(people.person(name), A, picks, 0)
    people.close()
    graded = score_runs(sorted(tmp_path.glob("*.jsonl")), SAMPLE, (), rules=Rules(), limit=1)
    assert set(graded.runs) == {"person(name=Ada)", "person(name=Bob, M.D. (x))"}
    assert [task.name for task in graded.tasks] == ["er_at_optimal"]
    assert all(len(scores["er_at_optimal"].ids) == 1 for scores in graded.scores.values())


def test_what_a_person_has_not_answered_yet_scores_0_unless_left_out_by_a_limit(ada: Person) -> None:
    for instance_id in SAMPLE.ids[:2]:
        oracle = SAMPLE[instance_id].labels.evaluations["er_at_optimal"].sentences
        submit(ada, instance_id, oracle, 0)
    whole, part = (
        score_runs([ada.run_path], SAMPLE, (), rules=Rules(), limit=limit).scores["person(name=Ada)"]["er_at_optimal"]
        for limit in (None, 2)
    )
    assert (len(whole.ids), whole.counts.missing) == (10, 8)
    assert whole.scores["aspect_recall"].mean() == pytest.approx(0.2)
    assert (len(part.ids), part.counts.missing) == (2, 0)
    assert part.scores["aspect_recall"].mean() == 1.0
    assert part.notes == {"seconds": 0, "seconds_open": 0}


def test_runs_over_other_parts_are_told_which_limit_makes_them_comparable(tmp_path: Path) -> None:
    paths = []
    for name, limit in (("Ada", 3), ("Bob", None)):
        person = people_in(tmp_path, limit=limit).person(name)
        submit(person, A, [1], 0)
        paths.append(person.run_path)
    with pytest.raises(RunMismatchError, match=r"Ada\): 3, .*Bob\): 10.*--limit 3"):
        score_runs(paths, SAMPLE, (), rules=Rules())
    assert len(score_runs(paths, SAMPLE, (), rules=Rules(), limit=3).runs) == 2


def test_a_disk_that_fails_loses_nothing_that_was_there(ada: Person) -> None:
    submit(ada, A, [1], 0)
    descriptor = ada._journal._file.fileno()  # type: ignore[union-attr]  # noqa: SLF001 - to break it
    read_only = os.open(ada.run_path, os.O_RDONLY)
    os.dup2(read_only, descriptor)
    with pytest.raises(RunError, match="written"):
        submit(ada, B, [1], 0)
    assert B not in ada.submitted
    submit(ada, B, [2], 0)
    assert read_run(ada.run_path).answer(B, "er_at_optimal") == Ranking(sentences=(2,), ordered=False)


def remove(path: Path) -> None:
    path.unlink()


def replace_with_a_copy(path: Path) -> None:
    content = path.read_bytes()
    path.rename(path.with_name("old"))
    path.write_bytes(content)


def link_away(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("old")))


@pytest.mark.parametrize("harm", [remove, replace_with_a_copy, link_away])
def test_a_run_file_that_is_not_there_any_more_is_told_before_a_submission_is_lost(
    harm: Callable[[Path], None], tmp_path: Path
) -> None:
    person = people_in(tmp_path).person("Ada")
    submit(person, A, [1])
    person.begin(B)
    harm(person.run_path)
    for attempt in (
        lambda: person.begin(C),
        lambda: person.save(B, picked([2], 0)),
        lambda: person.submit(B, picked([2], 0)),
        lambda: person.submit(B, picked([2], 0)),
    ):
        with pytest.raises(RunError, match=r"jsonl: .*removed.*put it back"):
            attempt()
    assert (list(person.submitted), person.drafts[B].sentences) == ([A], ())


def test_a_run_file_that_is_put_back_is_gone_on_with(ada: Person, tmp_path: Path) -> None:
    ada.begin(A)
    away = ada.run_path.rename(tmp_path / "away")
    with pytest.raises(RunError, match="removed"):
        ada.submit(A, picked([1], 0))
    away.rename(ada.run_path)
    ada.submit(A, picked([1], 0))
    assert read_run(ada.run_path).ids == {A}


def test_drafts_are_not_written_through_a_link_that_is_made_later(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    person = people_in(tmp_path / "picks").person("Ada")
    person.save(A, picked([1], 0))
    (drafts,) = (tmp_path / "picks").glob("*.drafts.json")
    drafts.unlink()
    drafts.symlink_to(outside)
    with pytest.raises(RunError, match="is a link"):
        person.save(A, picked([2], 0))
    assert outside.read_text() == "mine"


def test_a_submission_counts_although_its_draft_cannot_be_taken_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    person = people_in(tmp_path / "picks").person("Ada")
    person.save(A, picked([1], 0))
    (drafts,) = (tmp_path / "picks").glob("*.drafts.json")
    drafts.unlink()
    drafts.symlink_to(tmp_path / "outside")
    assert person.submit(A, picked([2], 0)).sentences == (2,)
    assert (list(person.submitted), person.drafts) == ([A], {})
    assert read_run(person.run_path).ids == {A}
    assert "is not taken away" in caplog.text


def test_of_many_people_only_the_last_have_their_files_open(tmp_path: Path) -> None:
    people = PeopleFolder(tmp_path, data=header_of(SAMPLE), task="er_at_optimal", limit=None, most_open=3)
    n_before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else None  # noqa: PTH110, PTH208
    for number in range(20):
        people.person(f"Ada {number}").save(A, picked([number], 0))
    if n_before is not None:
        assert len(os.listdir("/proc/self/fd")) <= n_before + 2 * 3  # noqa: PTH208
    for number in range(20):
        submit(people.person(f"Ada {number}"), A, people.person(f"Ada {number}").begin(A).sentences)
    people.close()
    answers = [read_run(path).answer(A, "er_at_optimal") for path in tmp_path.glob("*.jsonl")]
    assert {answer.sentences for answer in answers if isinstance(answer, Ranking)} == {(n,) for n in range(20)}


def test_a_tab_that_never_heard_of_its_own_last_change_goes_on_all_the_same(tmp_path: Path) -> None:
    people = people_in(tmp_path)
    people.person("Ada").save(A, picked([1], tab="one"))
    assert people.person("Ada").save(A, picked([1, 2], revision=0, tab="one")).sentences == (1, 2)
    people.close()
    again = people_in(tmp_path).person("Ada")
    assert again.save(A, picked([2], revision=0, tab="one")).revision == 3
    with pytest.raises(StaleError):
        again.save(A, picked([7], revision=2, tab="other"))


def test_drafts_of_earlier_versions_which_counted_no_changes_are_gone_on_with(tmp_path: Path) -> None:
    people = people_in(tmp_path)
    people.person("Ada").save(A, picked([1]))
    people.close()
    (drafts,) = tmp_path.glob("*.drafts.json")
    kept = json.loads(drafts.read_bytes())
    for name in ("revision", "tab"):
        del kept["drafts"][A][name]
    drafts.write_text(json.dumps(kept))
    person = people_in(tmp_path).person("Ada")
    assert (person.begin(A).sentences, person.begin(A).revision) == ((1,), 0)
    assert person.save(A, picked([2], revision=0)).sentences == (2,)
