"""What people pick is a run like any other: durable at any byte, theirs alone, refused where it does not belong."""

import json
import os
import re
import string
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import (
    MAX_NAME_LENGTH,
    AnswerFolder,
    DataHeader,
    FinalError,
    PeopleError,
    RankingAnswer,
    RunError,
    RunFormatError,
    RunMismatchError,
    StaleError,
    UnopenedError,
    UnreadableError,
    checked_name,
    checked_picks,
    file_stem,
    picks_folder,
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


Picks = AnswerFolder[RankingAnswer]


@pytest.fixture
def picks(tmp_path: Path) -> Picks:
    return picks_in(tmp_path)


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


def picks_in(
    folder: Path, *, task: str = "er_at_optimal", limit: int | None = None, watch: Watch | None = None
) -> Picks:
    return picks_folder(folder, header_of(SAMPLE), task, limit, clock=watch or Watch())


def picked(
    item: str, sentences: Sequence[int], seconds: int = 0, *, revision: int = 1, tab: str = "one", request: int = 0
) -> RankingAnswer:
    return RankingAnswer(
        id=item,
        task="er_at_optimal",
        sentences=tuple(sentences),
        ordered=False,
        seconds=seconds,
        revision=revision,
        tab=tab,
        request=request,
    )


def nothing(item: str) -> RankingAnswer:
    return RankingAnswer(id=item, task="er_at_optimal", ordered=False)


def submit(picks: Picks, item: str, sentences: Sequence[int], seconds: int = 0, person: str = "Ada") -> RankingAnswer:
    """Open a paper and submit picks, as a person does."""
    picks.open(person, nothing(item))
    return picks.submit(person, picked(item, sentences, seconds))


def submitted(picks: Picks, person: str = "Ada") -> dict[str, tuple[int, ...]]:
    return {item: one.sentences for item, one in picks.answers_of(person).items() if one.is_done}


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
        picks = picks_in(Path(folder))
        first = dict(reversed(given_picks))
        for item, sentences in given_picks:
            if item not in submitted(picks):
                submit(picks, item, sentences)
            else:
                with pytest.raises(FinalError):
                    submit(picks, item, sentences)
        if not given_picks:
            assert list(Path(folder).iterdir()) == []
            return
        run = read_run(picks.path_of("Ada"))
        assert run.ids == set(first)
        for item, sentences in first.items():
            assert run.answer(item, "er_at_optimal") == Ranking(sentences=tuple(sentences), ordered=False)
        assert evaluate({"Ada": run}, SAMPLE, OPTIMAL)["Ada"][OPTIMAL.name].counts.missing == len(SAMPLE) - len(first)
        assert picks_in(Path(folder)).answers_of("Ada") == picks.answers_of("Ada")


def test_the_time_only_grows_from_when_the_paper_was_first_opened_and_is_never_longer(tmp_path: Path) -> None:
    watch = Watch()
    picks = picks_in(tmp_path, watch=watch)
    picks.open("Ada", nothing(A))
    watch.pass_by(50.9)
    told = [picks.save("Ada", picked(A, [1], seconds)).seconds for seconds in (40, 5, 10**8)]
    assert told == [40, 40, 50]
    watch.pass_by(-1000)  # a clock that is set back
    assert picks.save("Ada", picked(A, [1], 60)).seconds == 50
    watch.pass_by(1249.1)
    again = picks_in(tmp_path, watch=watch)
    assert again.open("Ada", nothing(A)).seconds == 50
    again.submit("Ada", picked(A, [4, 2], 61, revision=2))
    answer = read_run(again.path_of("Ada")).answer(A, "er_at_optimal")
    assert isinstance(answer, Ranking)
    assert (answer.sentences, answer.ordered) == ((4, 2), False)
    assert answer.notes == {"seconds": 61, "seconds_open": 300}
    line = json.loads(again.path_of("Ada").read_bytes().splitlines()[-1])
    assert (line["id"], line["task"], line["at"]) == (A, "er_at_optimal", "2026-03-01T12:05:00+00:00")


def test_a_name_typed_wrong_leaves_nothing_behind(tmp_path: Path) -> None:
    assert picks_in(tmp_path / "picks").answers_of("Adda") == {}
    assert list((tmp_path / "picks").iterdir()) == []


def test_a_file_survives_being_cut_at_any_byte(tmp_path: Path) -> None:
    picks = picks_in(tmp_path / "whole")
    for number, item in enumerate((A, B, C)):
        submit(picks, item, [number, 7])
    path = picks.path_of("Ada")
    content = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(content) if byte == 0x0A]
    assert len(ends) == 7
    for size in range(ends[0], len(content) + 1):
        folder = tmp_path / f"cut {size}"
        folder.mkdir()
        (folder / path.name).write_bytes(content[:size])
        cut = picks_in(folder)
        whole = sum(end - 1 <= size for end in ends[2::2])
        assert list(submitted(cut)) == [A, B, C][:whole]
        if size % 10 and min(abs(size - end) for end in ends) > 2:
            continue  # going on takes long, and is the same within a line
        for number, item in enumerate((A, B, C)[whole:], whole):
            submit(cut, item, [number, 7])
        run = read_run(folder / path.name)
        assert [run.answer(one, "er_at_optimal") for one in (A, B, C)] == [
            Ranking(sentences=(number, 7), ordered=False) for number in range(3)
        ]


def test_two_servers_that_write_at_once_lose_nothing_and_know_of_each_other(tmp_path: Path) -> None:
    servers = [picks_in(tmp_path), picks_in(tmp_path)]
    answers = {item: (number,) for number, item in enumerate(SAMPLE.ids)}
    with ThreadPoolExecutor(4) as pool:
        futures = [
            pool.submit(submit, servers[number % 2], item, sentences)
            for number, (item, sentences) in enumerate(answers.items())
        ]
    assert all(future.result().is_done for future in futures)
    assert [submitted(server) for server in servers] == [submitted(picks_in(tmp_path))] * 2
    assert submitted(servers[0]) == answers
    with pytest.raises(FinalError):
        submit(servers[0], SAMPLE.ids[1], [7])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda header: header["run"]["data"].update(sha256="0" * 64), "data was .*choose another folder"),
        (lambda header: header["run"].update(limit=3), "limit was 3, now None"),
        (lambda header: header.update(name="Bob"), "name was 'Ada', now 'Bob'|answers of 'Bob', not of 'Ada'"),
        (lambda header: header["run"]["system"].update(name="bm25"), "system was bm25, now "),
        (lambda header: header["run"].update(tasks=["er_at_10"]), "tasks was"),
    ],
)
def test_a_file_of_something_else_is_not_gone_on_with(
    change: Callable[[dict[str, Any]], object], words: str, tmp_path: Path
) -> None:
    submit(picks_in(tmp_path), A, [1])
    path = picks_in(tmp_path).path_of("Ada")
    first, *rest = path.read_text().splitlines(keepends=True)
    header = json.loads(first)
    change(header)
    path.write_text(json.dumps(header, separators=(",", ":")) + "\n" + "".join(rest))
    before = path.read_bytes()
    with pytest.raises(RunMismatchError, match=words):
        picks_in(tmp_path).answers_of("Ada")
    with pytest.raises(RunMismatchError, match=words):
        submit(picks_in(tmp_path), B, [1])
    assert path.read_bytes() == before


def test_a_link_and_a_pipe_in_the_place_of_a_persons_file_are_refused(tmp_path: Path) -> None:
    outside, path = tmp_path / "outside", picks_in(tmp_path).path_of("Ada")
    path.symlink_to(outside)
    with pytest.raises(RunError, match="is a link"):
        picks_in(tmp_path).open("Ada", nothing(A))
    assert not outside.exists()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UnreadableError, match=r"jsonl: .*a pipe"):
        picks_in(tmp_path).open("Ada", nothing(A))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file: no folder"):
        picks_in(tmp_path / "file")


def test_people_of_one_folder_are_graded_beside_each_other(picks: Picks, tmp_path: Path) -> None:
    for name, sentences in (("Ada", [2, 4]), ("Bob, M.D. (x)", [0])):
        submit(picks, A, sentences, person=name)
    graded = score_runs(sorted(tmp_path.glob("*.jsonl")), SAMPLE, (), rules=Rules(), limit=1)
    assert set(graded.runs) == {"person(name=Ada)", "person(name=Bob, M.D. (x))"}
    assert [task.name for task in graded.tasks] == ["er_at_optimal"]
    assert all(len(scores["er_at_optimal"].ids) == 1 for scores in graded.scores.values())


def test_what_a_person_has_not_answered_yet_scores_0_unless_left_out_by_a_limit(picks: Picks) -> None:
    for item in SAMPLE.ids[:2]:
        submit(picks, item, SAMPLE[item].labels.evaluations["er_at_optimal"].sentences)
    picks.open("Ada", nothing(C))  # a draft is no answer
    path = picks.path_of("Ada")
    whole, part = (
        score_runs([path], SAMPLE, (), rules=Rules(), limit=limit).scores["person(name=Ada)"]["er_at_optimal"]
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
        picks = picks_in(tmp_path, limit=limit)
        submit(picks, A, [1], person=name)
        paths.append(picks.path_of(name))
    with pytest.raises(RunMismatchError, match=r"Ada\): 3, .*Bob\): 10.*--limit 3"):
        score_runs(paths, SAMPLE, (), rules=Rules())
    assert len(score_runs(paths, SAMPLE, (), rules=Rules(), limit=3).runs) == 2


def test_a_submission_without_having_opened_the_paper_is_refused(picks: Picks) -> None:
    with pytest.raises(UnopenedError):
        picks.submit("Ada", picked(A, [1]))


def test_a_file_that_is_not_there_any_more_is_told_before_an_answer_is_lost(picks: Picks, tmp_path: Path) -> None:
    submit(picks, A, [1])
    picks.open("Ada", nothing(B))
    away = picks.path_of("Ada").rename(tmp_path / "away")
    for attempt in (
        lambda: picks.open("Ada", nothing(C)),
        lambda: picks.save("Ada", picked(B, [2])),
        lambda: picks.submit("Ada", picked(B, [2])),
        lambda: picks.answers_of("Ada"),
    ):
        with pytest.raises(RunError, match=r"jsonl: .*removed.*put it back"):
            attempt()
    away.rename(picks.path_of("Ada"))
    picks.submit("Ada", picked(B, [2]))
    assert read_run(picks.path_of("Ada")).ids == {A, B}


def put_back_a_backup(path: Path, before: bytes) -> None:
    path.rename(path.with_name("old"))
    path.write_bytes(before)


def write_in_place(path: Path, before: bytes) -> None:
    path.write_bytes(before + before.splitlines(keepends=True)[-1].replace(b'"sentences":[1]', b'"sentences":[8]'))


@pytest.mark.parametrize(("harm", "left"), [(put_back_a_backup, {A: (1,)}), (write_in_place, {A: (8,)})])
def test_a_file_that_was_replaced_or_edited_is_read_anew(
    harm: Callable[[Path, bytes], None], left: dict[str, tuple[int, ...]], tmp_path: Path
) -> None:
    picks = picks_in(tmp_path)
    submit(picks, A, [1])
    before = b"".join(
        re.sub(rb',"crc":"[0-9a-f]+"', b"", line)
        for line in picks.path_of("Ada").read_bytes().splitlines(keepends=True)
    )
    submit(picks, B, [2])
    harm(picks.path_of("Ada"), before)
    assert submitted(picks) == left


def test_a_tab_that_never_heard_of_its_own_last_change_goes_on_and_a_late_request_changes_nothing(
    tmp_path: Path,
) -> None:
    picks = picks_in(tmp_path)
    picks.open("Ada", nothing(A))
    first = picks.save("Ada", picked(A, [1], request=1))
    assert picks.save("Ada", picked(A, [1, 2], request=2)).sentences == (1, 2)
    assert picks.save("Ada", picked(A, [1], request=1)).sentences == (1, 2)  # the first, again and too late
    assert first.revision == 1
    again = picks_in(tmp_path)
    assert again.save("Ada", picked(A, [2], request=3)).revision == 3
    with pytest.raises(StaleError):
        again.save("Ada", picked(A, [7], revision=3, tab="other"))
    assert again.save("Ada", picked(A, [2], 5, revision=1, tab="other")).revision == 3  # says the same
    n_lines = len(again.path_of("Ada").read_bytes().splitlines())
    again.save("Ada", picked(A, [2], revision=1, tab="other"))
    assert len(again.path_of("Ada").read_bytes().splitlines()) == n_lines


def test_a_submission_that_is_sent_again_is_the_submission(picks: Picks) -> None:
    picks.open("Ada", nothing(A))
    first = picks.submit("Ada", picked(A, [1], request=4))
    assert picks.submit("Ada", picked(A, [1], request=4)) == first
    with pytest.raises(FinalError):
        picks.submit("Ada", picked(A, [1], request=5))


def test_what_was_answered_before_others_were_shown_is_blind(picks: Picks) -> None:
    for item in (A, B):
        picks.open("Ada", nothing(item))
    picks.save("Ada", picked(A, [1]))
    picks.note_seen("Ada", {A: ["Bo"], B: ["Bo"], C: []})
    picks.save("Ada", picked(A, [2], revision=2))
    n_bytes = picks.path_of("Ada").stat().st_size
    picks.note_seen("Ada", {A: ["Bo"]})
    assert picks.path_of("Ada").stat().st_size == n_bytes
    for folder in (picks, picks_in(picks.folder)):
        assert folder.blind()["Ada"][A].sentences == (1,)
        assert folder.answers_of("Ada")[A].sentences == (2,)


@pytest.mark.parametrize("kind", ["marks", "decision"])
def test_an_answer_of_another_form_is_told_with_its_line(picks: Picks, kind: str) -> None:
    submit(picks, A, [1])
    with picks.path_of("Ada").open("a") as file:
        file.write(f'{{"answer":"{kind}","id":"{B}"}}\n')
    for folder in (picks, picks_in(picks.folder)):
        with pytest.raises(RunFormatError, match="line 4: an answer of another form"):
            folder.answers_of("Ada")
