"""Runs survive being killed at any byte, are continued by none but their own, and hold three kinds of no answer."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from doors import (
    FailedAnswerError,
    Failure,
    RunError,
    RunFormatError,
    RunMismatchError,
    StopError,
    TaskError,
    check_answers,
    read_run,
    sample_path,
    tasks_of,
)
from evidencebench import (
    TASKS,
    Dataset,
    Experiment,
    Kind,
    Query,
    Ranking,
    RankingTask,
    Resampling,
    Task,
    Traits,
    answers_from,
    answers_of,
    evaluate,
    execute,
    load_sample,
    make_system,
    open_dataset,
    open_run,
    write_dataset,
)
from kit.command_line import until
from kit.examples import IS_THOROUGH
from kit.hand_made import first_words, note

AT_10, UNCONSTRAINED = TASKS["er_at_10"], TASKS["result_er_unconstrained"]
SAMPLE = load_sample()
A, B, C = SAMPLE.ids[:3]


# Own code, as users name it: test_runs and CountingByTask joined by a colon.


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingByTask:
    """Notes what it is asked, each task apart."""

    traits: ClassVar[Traits] = Traits(reads_task=True, selects=True)
    log: str

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        note(self.log, f"{query.instance_id} {task.budget} {task.scope}")
        return replace(first_words(query), ordered=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spy:
    """Fails unless all it can reach is the query and the task."""

    traits: ClassVar[Traits] = Traits(reads_task=True)

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        if (type(query), type(task)) != (Query, RankingTask):
            raise TypeError(f"handed {query!r} and {task!r}")
        reached = {type(leaf) for leaf in (*leaves(query), *leaves(task))}
        if not reached <= {str, int, Kind, type(None)}:
            raise TypeError(f"reached {reached}")
        return Ranking(sentences=(0,))


def leaves(value: object) -> Iterator[object]:
    """Give everything that can be reached from a value."""
    if isinstance(value, tuple):
        for inner in value:
            yield from leaves(inner)
    elif is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name))
    else:
        yield value


@dataclass(frozen=True, slots=True, kw_only=True)
class WithNumpy:
    """Answers in numpy's numbers."""

    def rank(self, query: Query, task: RankingTask) -> Any:  # noqa: ARG002 - the contract's signature
        order = np.argsort([-len(sentence) for sentence in query.sentences])[:4]
        return Ranking(sentences=tuple(order), scores=tuple(np.linspace(1, 0, 4, dtype=np.float32)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Orders the sentences that it selects, and selects few."""

    traits: ClassVar[Traits] = Traits(selects=True)

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return first_words(query)


def raises(error: Exception) -> Callable[[], Any]:
    def answer() -> Any:
        raise error

    return answer


RUBBISH: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "text": lambda: "1, 2",
    "a mask": lambda: [True, False],
    "text for indices": lambda: Ranking(sentences=("1",)),  # type: ignore[arg-type]
    "a fraction for an index": lambda: Ranking(sentences=(1.5,)),  # type: ignore[arg-type]
    "no sentences": lambda: Ranking(sentences=None),  # type: ignore[arg-type]
    "NaN scores": lambda: Ranking(sentences=(1, 2), scores=(0.5, float("nan"))),
    "infinite scores": lambda: Ranking(sentences=(1, 2), scores=(float("inf"), 0.5)),
    "ascending scores": lambda: Ranking(sentences=(1, 2), scores=(0.25, 0.5)),
    "text for scores": lambda: Ranking(sentences=(1,), scores=("best",)),  # type: ignore[arg-type]
    "too few scores": lambda: Ranking(sentences=(1, 2), scores=(0.5,)),
    "an error": raises(KeyError("x")),
    "an endless recursion": raises(RecursionError()),
    "an error that UTF-8 cannot write": raises(OSError("no such file: \udcff")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubbish:
    """Returns rubbish for one instance."""

    what: str

    def rank(self, query: Query, task: RankingTask) -> Any:  # noqa: ARG002 - the contract's signature
        return RUBBISH[self.what]() if query.instance_id == B else first_words(query)


def without_date(path: Path) -> bytes:
    return re.sub(rb'"created":"[^"]*"', b"", path.read_bytes(), count=1)


def asked(log: Path) -> list[str]:
    return log.read_text().splitlines()


def many(path: Path, n: int, first: int = 0) -> Dataset:
    """Write a data set of n instances, the sample's from one on over and over, under other names."""
    copies = (SAMPLE[(first + index) % len(SAMPLE)] for index in range(n))
    write_dataset(path, (replace(one, query=replace(one.query, instance_id=f"i{i}")) for i, one in enumerate(copies)))
    return open_dataset(path)


@pytest.mark.parametrize(
    ("system", "tasks", "first_byte"),
    [
        ("kit.hand_made:Counting", (), 0),
        ("runs.test_runs:CountingByTask", (TASKS["result_er_at_5"], UNCONSTRAINED), 500),
    ],
    ids=["an answer an instance", "an answer a task"],
)
def test_a_run_cut_at_any_byte_is_completed_and_nothing_is_computed_twice(
    system: str, tasks: tuple[Task, ...], first_byte: int, tmp_path: Path
) -> None:
    log, path, whole_path = tmp_path / "asked", tmp_path / "run.jsonl", tmp_path / "whole.jsonl"
    spec = f"{system}:log={log}"
    execute(spec, SAMPLE, whole_path, limit=2, tasks=tasks)
    whole, all_asked = whole_path.read_bytes(), asked(log)
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    near_ends = {end + step for end in ends for step in (-1, 0, 1, 2)}
    for n_bytes in range(first_byte, len(whole) + 1):
        if n_bytes % 29 and n_bytes not in near_ends and not IS_THOROUGH:
            continue
        path.write_bytes(whole[:n_bytes])
        log.write_bytes(b"")
        execute(spec, SAMPLE, path, limit=2, tasks=tasks)
        assert without_date(path) == without_date(whole_path)
        n_kept = max(0, sum(n_bytes >= end for end in ends) - 1)  # a line counts when only its line end is lost
        assert asked(log) == all_asked[n_kept:]


@pytest.mark.parametrize("system", ["oracle", "fuse:systems=[bm25+lead],weights=[2+1]"])
def test_a_finished_run_has_nothing_left_to_do_where_a_task_does_not_apply_or_an_option_is_a_list(
    system: str, tmp_path: Path
) -> None:
    assert any(not UNCONSTRAINED.applies_to(instance.labels) for instance in SAMPLE)
    first = execute(system, SAMPLE, tmp_path / "run.jsonl")
    again = execute(system, SAMPLE, tmp_path / "run.jsonl")
    assert (first.n_resumed, again.n_resumed) == (0, len(SAMPLE))


def members_of(group: int) -> list[str]:
    """Give the processes of a group that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it ended while we looked
            continue
        if int(process_group) == group and state != "Z":
            found.append(path.parent.name)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look for processes that stay")
@pytest.mark.parametrize("jobs", [1, 2] if IS_THOROUGH else [1])
def test_a_run_killed_at_random_moments_ends_as_if_it_never_was(jobs: int, tmp_path: Path) -> None:
    dataset = many(tmp_path / "data.json", 96)
    spec = f"kit.hand_made:Counting:log={tmp_path / 'asked'},seconds=0.01"
    execute(spec, dataset, tmp_path / "whole.jsonl")
    path = tmp_path / "run.jsonl"
    moments = random.Random(jobs)
    arguments = ["run", spec, "--data", str(dataset.path), "-o", str(path), "--jobs", str(jobs)]
    n_kills = 5 if IS_THOROUGH else 2
    for _ in range(n_kills):
        size = path.stat().st_size if path.exists() else 0
        process = subprocess.Popen(
            [sys.executable, "-m", "evidencebench", *arguments],
            cwd=Path(__file__).parents[1],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # the semaphores that a killed process leaves are reported there
        )
        wanted = size + moments.randrange(0, 500)
        until(lambda: process.poll() is not None or (path.exists() and path.stat().st_size > wanted))  # noqa: B023 - called at once
        time.sleep(moments.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: not members_of(process.pid))  # noqa: B023 - called at once
        kept = read_run(path).ids
        assert size == 0 or kept
    n_asked = len(asked(tmp_path / "asked"))
    report = execute(spec, dataset, path)
    header, *lines = without_date(path).splitlines()
    whole_header, *whole_lines = without_date(tmp_path / "whole.jsonl").splitlines()
    assert (header, sorted(lines)) == (whole_header, sorted(whole_lines))
    assert report.n_resumed == len(kept)
    assert asked(tmp_path / "asked")[n_asked:] == [name for name in dataset.ids if name not in kept]
    # A kill costs what the workers were at, of processes a batch each, which takes some 50 ms, and one item between.
    n_at = 1 if jobs == 1 else 6 * jobs
    assert n_asked + len(dataset) - len(kept) <= 2 * len(dataset) + n_kills * (n_at + 1)


def test_an_answer_that_takes_its_worker_with_it_is_a_failed_one_and_the_others_are_there(tmp_path: Path) -> None:
    dataset, path = many(tmp_path / "data.json", 40), tmp_path / "run.jsonl"
    poisoned = [dataset.ids[place] for place in ((0, 17, 39) if IS_THOROUGH else (17, 39))]
    spec = f"kit.hand_made:Dying:at={'+'.join(poisoned)},unless={tmp_path / 'healed'}"
    report = execute(spec, dataset, path, jobs=2)
    assert (report.n_failed, report.n_unanswered) == (len(poisoned), 0)
    assert "WorkerError: two workers died that had nothing else to do: killed" in (report.first_error or "")
    run = read_run(path)
    assert {instance_id for instance_id, _ in run.failed} == set(poisoned)
    assert run.ids == set(dataset.ids)
    (tmp_path / "healed").touch()
    assert execute(spec, dataset, path, jobs=2, retry_failed=True).n_failed == 0
    assert len(read_run(path).done) == 40


@pytest.mark.parametrize(
    ("how", "error", "message", "n_failed"),
    [
        ({"max_errors": 1}, StopError, "^2 errors.* 1 .*two workers died", {2, 3}),
        ({"fail_fast": True}, FailedAnswerError, "two workers", {0}),
    ],
)
def test_a_run_stops_at_workers_that_die_where_it_is_to_and_goes_on_later(
    how: dict[str, Any], error: type[Exception], message: str, n_failed: set[int], tmp_path: Path
) -> None:
    dataset, path = many(tmp_path / "data.json", 40), tmp_path / "run.jsonl"
    spec = f"kit.hand_made:Dying:at={'+'.join(dataset.ids[:3])},unless={tmp_path / 'healed'}"
    with pytest.raises(error, match=message):
        execute(spec, dataset, path, jobs=2, **how)
    kept = read_run(path)
    assert len(kept.failed) in n_failed  # what had begun is finished
    assert len(kept.done) < 40
    (tmp_path / "healed").touch()
    report = execute(spec, dataset, path, jobs=2, **how)
    assert (report.n_failed, report.n_unanswered) == (len(kept.failed), 0)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"system": "bm25:b=0.5"}, ["b was 0.4, now 0.5; choose"]),
        ({"system": "tfidf"}, ["system was bm25, now tfidf;"]),
        ({"seed": 1}, ["seed was 0, now 1"]),
        ({"limit": 2}, ["limit was None, now 2"]),
        ({"tasks": [AT_10]}, ["tasks was"]),
        ({"control": "wrong_hypothesis"}, ["control was None, now 'wrong hypothesis'"]),
        ({"seed": 1, "limit": 3}, ["seed was 0, now 1", "limit was None, now 3"]),
    ],
)
def test_another_run_is_not_continued_and_every_difference_is_named(
    change: dict[str, Any], named: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    execute("bm25", SAMPLE, path)
    before = path.read_bytes()
    with pytest.raises(RunMismatchError) as caught:
        execute(change.pop("system", "bm25"), SAMPLE, path, **change)
    assert [part for part in named if part not in str(caught.value)] == []
    assert path.read_bytes() == before


def test_a_run_of_other_data_is_not_continued_but_one_of_a_copy_is(tmp_path: Path) -> None:
    path, copy = tmp_path / "run.jsonl", tmp_path / "copy.json"
    execute("lead", SAMPLE, path)
    copy.write_bytes(sample_path().read_bytes())
    assert execute("lead", open_dataset(copy), path).n_resumed == len(SAMPLE)
    copy.write_bytes(sample_path().read_bytes() + b"\n")
    with pytest.raises(RunMismatchError):
        execute("lead", open_dataset(copy), path)


def test_overwrite_starts_over(tmp_path: Path) -> None:
    log, path = tmp_path / "asked", tmp_path / "run.jsonl"
    execute("lead", SAMPLE, path)
    for _ in range(2):
        execute(f"kit.hand_made:Counting:log={log}", SAMPLE, path, limit=2, overwrite=True)
    assert asked(log) == [A, B, A, B]
    assert len(path.read_bytes().splitlines()) == 3


@pytest.mark.parametrize("content", [b"my notes\nwithout a line end", b"one line", b'{"answers": 1}', b"[1]\n"])
def test_a_file_that_is_no_run_is_refused_and_stays_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_bytes(content)
    with pytest.raises(RunError, match="precious"):
        execute("lead", SAMPLE, path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("control", [None, "wrong_hypothesis", "two_papers"])
def test_a_system_can_reach_nothing_but_the_query_and_the_task(control: str | None, tmp_path: Path) -> None:
    report = execute("runs.test_runs:Spy", SAMPLE, tmp_path / "run.jsonl", control=control)
    assert (report.n_failed, report.first_error) == (0, None)
    answer = answers_from(make_system("runs.test_runs:Spy"), {instance.id: "Other." for instance in SAMPLE})
    assert isinstance(answer(SAMPLE[0], AT_10), Ranking)


def test_numpy_numbers_become_plain_ones(tmp_path: Path) -> None:
    report = execute("runs.test_runs:WithNumpy", SAMPLE, tmp_path / "run.jsonl")
    assert report.n_failed == 0
    answer = read_run(tmp_path / "run.jsonl").answer(A, None)
    assert isinstance(answer, Ranking)
    assert {type(index) for index in answer.sentences} == {int}
    assert {type(score) for score in answer.scores or ()} == {float}


@pytest.mark.parametrize("what", RUBBISH)
def test_rubbish_is_a_failure_and_the_others_are_still_answered(what: str, tmp_path: Path) -> None:
    report = execute(f"runs.test_runs:Rubbish:what={what}", SAMPLE, tmp_path / "run.jsonl", limit=3)
    run = read_run(tmp_path / "run.jsonl")
    assert (report.n_failed, set(run.failed), set(run.ids)) == (1, {(B, None)}, {A, B, C})
    assert report.first_error is not None
    assert report.first_error.startswith(f"{B}: ")


def test_failures_are_recorded_and_only_they_are_asked_again(tmp_path: Path) -> None:
    log, path = tmp_path / "asked", tmp_path / "run.jsonl"
    down = tmp_path / "asked.down"
    spec = f"kit.hand_made:Counting:log={log},fails_on={B}"
    down.touch()
    assert execute(spec, SAMPLE, path, limit=3).first_error == f"{B}: ConnectionError: the server is down"
    assert read_run(path).answer(B, None) == Failure(error="ConnectionError: the server is down")
    down.unlink()
    execute(spec, SAMPLE, path, limit=3)
    assert asked(log) == [A, B, C]
    report = execute(spec, SAMPLE, path, limit=3, retry_failed=True)
    assert asked(log) == [A, B, C, B]
    assert (report.n_resumed, report.n_failed) == (2, 0)
    run = read_run(path)
    assert (set(run.failed), set(run.ids)) == (set(), {A, B, C})
    assert isinstance(run.answer(B, None), Ranking)


def test_a_run_with_an_answer_a_task_refuses_the_tasks_it_lacks(tmp_path: Path) -> None:
    asked_for = [TASKS["result_er_at_5"], AT_10]
    execute("oracle", SAMPLE, tmp_path / "run.jsonl", tasks=asked_for)
    run = open_run(tmp_path / "run.jsonl")
    assert tasks_of(run, SAMPLE) == tuple(asked_for)
    with pytest.raises(TaskError, match=r"'er_at_optimal'.*result_er_at_5, er_at_10"):
        check_answers(run, TASKS["er_at_optimal"], SAMPLE)
    scores = evaluate({"oracle": answers_of(run)}, SAMPLE, asked_for)["oracle"]
    for task in asked_for:
        np.testing.assert_allclose(scores[task.name].scores["regret"], 0, atol=1e-12)


def test_a_full_ranking_refuses_the_task_without_a_budget_and_one_that_ends_by_itself_answers_all(
    tmp_path: Path,
) -> None:
    execute("bm25", SAMPLE, tmp_path / "run.jsonl")
    run = open_run(tmp_path / "run.jsonl")
    assert tasks_of(run, SAMPLE) == tuple(task for task in TASKS.values() if task != UNCONSTRAINED)
    with pytest.raises(TaskError, match="--budget"):
        check_answers(run, UNCONSTRAINED, SAMPLE)
    execute("runs.test_runs:Ending", SAMPLE, tmp_path / "ending.jsonl")
    assert tasks_of(open_run(tmp_path / "ending.jsonl"), SAMPLE) == tuple(TASKS.values())


@pytest.mark.parametrize("system", ["lead", "answers.json"])
def test_a_run_is_not_scored_on_other_data(system: str, tmp_path: Path) -> None:
    path = tmp_path / system
    if system == "lead":
        execute(system, SAMPLE, path)
        message = r"lead: .*sample\.json .*sha256 \w{8}, 10 .*other\.json .*sha256 \w{8}, 3"
    else:
        path.write_text(json.dumps({"i0": [1], B: [1], A: [1]}))
        message = rf"'{A}' and 1 more.*other\.json.*'i0'"
    with pytest.raises(RunMismatchError, match=message):
        evaluate({"run": open_run(path)}, many(tmp_path / "other.json", 3), AT_10)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_plain_json_object_answers_every_task_and_null_is_a_failure(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({A: [4, 2], B: None, C: []}, indent=indent))
    run = open_run(path)
    assert run.header is None
    assert (set(run.ids), set(run.failed)) == ({A, B, C}, {(B, None)})
    assert run.answer(A, "er_at_10") == Ranking(sentences=(4, 2), ordered=False)
    assert tasks_of(run, SAMPLE) == tuple(TASKS.values())


def test_a_trec_run_is_read_by_score_and_ties_by_index(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text(f"{A} Q0 {A}#00042 9 0.5 me\n{A} Q0 7 1 0.5 me\n\n{B} Q0 {B}#3 1 -1e-3 me\n{A}\tQ0\t0 2 2 me\n")
    run = open_run(path)
    assert run.answer(A, None) == Ranking(sentences=(0, 7, 42), scores=(2.0, 0.5, 0.5))
    assert run.answer(B, None) == Ranking(sentences=(3,), scores=(-0.001,))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda: header() + b'\n{"id": "a", "sentences": [1]}\n', id="run"),
        pytest.param(lambda: b'{"id": "a", "sentences": [1]}\n', id="answer lines"),
        pytest.param(lambda: b'{"a": [1]}', id="object"),
        pytest.param(lambda: b"a Q0 1 1 0.5 x\n", id="trec"),
    ],
)
def test_a_byte_order_mark_and_blank_lines_change_no_answer(content: Callable[[], bytes], tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(content())
    spaced = content().replace(b"\n", b"\n\n \r\n")
    (tmp_path / "spaced").write_bytes(b"\xef\xbb\xbf\n" + spaced + b"\n\n")
    plain, marked = open_run(tmp_path / "plain"), open_run(tmp_path / "spaced")
    assert (plain.header, plain.ids) == (marked.header, frozenset("a"))
    assert plain.answer("a", None) == marked.answer("a", None)


def header(**changes: Any) -> bytes:
    fields = {"evidencebench_run": 1, "system": {"name": "x"}, "tasks": ["er_at_10"]}
    fields["data"] = {"name": "d", "path": "d", "sha256": "0", "n": 1}
    return json.dumps(fields | changes).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"PK\x03\x04\x00", "line 1: .*evidencebench"),
        (b'{"a": [1', r"\{id: \[indices\]\}"),
        *(
            (
                b'{"a": %b}' % answer,
                "1 answer .* a: .*write \\[3, 17\\], .*or null",
            )
            for answer in (b"5", b"[1.5]", b'["1"]', b"[true]", b'{"sentences": [1]}')
        ),
        (b'{"a\xff": [1]}', "UTF-8: byte 0xff at offset 3"),
        (b'{"a": [1], "a": [2]}', "'a' stands more than once"),
        (b"a Q0 b#1 1 0.5 x\n", "line 1: docno: .*'a'.*'b#1'"),
        (b"\x1f\x8b\x08", "is gzipped; unpack it first"),
        (b'{"a": ' + b"[" * 100_000, r"not valid JSON, expected \{id: \[indices\]\}"),
        (b"a Q0 1 1 0.5 x\na Q0 1 1 0.5\n", "line 2: .*6 .*5"),
        *(
            (
                f"a Q0 {index} 1 0.5 x\n".encode(),
                f"line 1: docno: .*'{index}'",
            )
            for index in ("one", "-1", "a#1_0", "\u0663")
        ),
        *(
            (f"a Q0 1 1 {score} x\n".encode(), f"line 1: .*score.*'{score}'")
            for score in ("best", "1_0.5", "\u0663", "1e999", "nan")
        ),
        (b"a Q0 1 1 0.5 \xff\n", "0xff at offset 13"),
        (b'{\n "evidencebench_examples": 1,\n "data": {}}\n', "examples"),
        (b'{"evidencebench_run": 1}\n', "line 1: expected the header of a run"),
        (b'{"evidencebench_run": 1', "line 1: .*header.* run' makes"),
        (header(evidencebench_run=2) + b"\n", "version 2.* 1; upgrade"),
        (header(tasks=[]) + b"\n", "line 1: .*one task or more, .*none"),
        (header(tasks=["er_at_10"] * 2) + b"\n", "each once, got er"),
        (header(limit=-1) + b"\n", r">= 1 - at `\$\.limit`"),
        (header(seed=-1) + b"\n", r">= 0 - at `\$\.seed`"),
        (header(hypothesis="mine") + b"\n", "'mine'"),
        (header(data={"name": "d", "path": "d", "sha256": "0", "n": -1}) + b"\n", r"at `\$\.data\.n`"),
        (header() + b'\n{"id": "a"}\n', "line 2: .*'sentences' or 'error'"),
        (header() + b'\n{"id": "a", "sentences": [], "error": "x"}\n', "line 2: expected either"),
        (header() + b'\n{"id": "a", "sentences": [1.5]}\n', "line 2: expected an answer"),
        (header() + b"\n\n{}", "line 3: expected an answer"),
        (header() + 2 * b'\n{"id": "a", "sentences": [1]}', "line 3: a second answer for 'a'"),
    ],
)
def test_a_malformed_run_says_what_is_wrong_and_where(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(content)
    with pytest.raises(RunFormatError, match=rf"^{re.escape(str(path))}: .*{message}"):
        open_run(path)


def test_a_task_that_does_not_exist_is_told_with_the_run_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(header(tasks=["er_at_tem"]) + b"\n")
    with pytest.raises(RunFormatError, match=r"run\.jsonl: line 1: .*'er_at_tem'"):
        tasks_of(open_run(tmp_path / "run.jsonl"), SAMPLE)


def test_a_limit_beyond_every_number_of_the_machine_takes_all_and_one_below_1_is_refused(tmp_path: Path) -> None:
    assert execute("lead", SAMPLE, tmp_path / "run.jsonl", limit=10**30).n_instances == len(SAMPLE)
    run = open_run(tmp_path / "run.jsonl")
    assert evaluate({"run": answers_of(run)}, SAMPLE, [AT_10], limit=10**30)["run"]["er_at_10"].ids == SAMPLE.ids
    assert [query.instance_id for query in SAMPLE.queries(10**30)] == list(SAMPLE.ids)
    with pytest.raises(ValueError, match=r"limit: .*at least 1.*got 0"):
        execute("lead", SAMPLE, tmp_path / "other.jsonl", limit=0)
    assert not (tmp_path / "other.jsonl").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"answer": "ranking", "id": "distractor", "sentences": [1]}, "'distractor'.*header.*take the"),
        ({"answer": "ranking", "id": A, "task": "er_at_10", "sentences": [1]}, f"'{A}' for task 'er_at_10'"),
    ],
)
def test_a_run_holds_no_more_than_its_header_asks_for(line: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    execute("lead", SAMPLE, path)
    path.write_bytes(path.read_bytes() + json.dumps(line).encode() + b"\n")
    with pytest.raises(RunMismatchError, match=message):
        execute("lead", SAMPLE, path)


@pytest.mark.parametrize("system", ["bm25", "runs.test_runs:Ending", "runs.test_runs:Rubbish:what=an error", "oracle"])
def test_an_answer_that_was_edited_is_told_by_its_line(system: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    execute(system, SAMPLE, path, limit=3, tasks=[AT_10])
    lines = path.read_bytes().splitlines()
    edited = lines[2].replace(b"[", b"[0,", 1) if b"[" in lines[2] else lines[2].replace(b"KeyError", b"NoError")
    assert edited != lines[2]
    for changed in (edited, lines[2].replace(B.encode(), b"somebody")):
        path.write_bytes(b"\n".join([*lines[:2], changed, *lines[3:]]) + b"\n")
        with pytest.raises(RunFormatError, match=r"run\.jsonl: line 3: .*crc \w{8}.*restore the line"):
            open_run(path)
        with pytest.raises(RunFormatError):
            execute(system, SAMPLE, path, limit=3, tasks=[AT_10])


@pytest.mark.parametrize("system", ["bm25", "runs.test_runs:CountingByTask:log={}/asked"])
def test_lines_without_a_checksum_or_written_again_by_another_program_are_read(system: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    execute(system.format(tmp_path), SAMPLE, path, tasks=[AT_10])
    before = [read_run(path).answer(name, "er_at_10") for name in SAMPLE.ids]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(re.fullmatch("[0-9a-f]{8}", line["crc"]) for line in lines[1:])
    spaced = [json.dumps(dict(sorted(line.items()))) for line in lines[1:]]
    bare = [json.dumps({key: value for key, value in line.items() if key != "crc"}) for line in lines[1:]]
    for written in (spaced, bare):
        path.write_text("\n".join([path.read_text().splitlines()[0], *written]) + "\n")
        assert [read_run(path).answer(name, "er_at_10") for name in SAMPLE.ids] == before


def test_a_folder_and_an_absent_file_are_no_runs(tmp_path: Path) -> None:
    with pytest.raises(RunFormatError, match="is a folder"):
        open_run(tmp_path)
    with pytest.raises(RunFormatError, match=r"absent: no such file"):
        open_run(tmp_path / "absent")
    with pytest.raises(RunError, match="written"):
        execute("lead", SAMPLE, tmp_path / "absent" / "run.jsonl")


@pytest.mark.parametrize("control", ["wrong_hypothesis", "two_papers", "shuffled_words"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_run_with_changed_queries_asks_what_the_control_asks(seed: int, control: str, tmp_path: Path) -> None:
    tasks = [TASKS["er_at_10"]]
    path = tmp_path / "wrong.jsonl"
    execute("bm25", SAMPLE, path, control=control, seed=seed, limit=6)
    run = evaluate({"run": open_run(path)}, SAMPLE, tasks, limit=6)["run"]["er_at_10"]
    resampling = Resampling(seed=seed, n_draws=10)
    how: dict[str, Any] = {"controls": control, "limit": 6, "seeds": [seed], "seed": seed, "draws": 10}
    (found,) = Experiment("bm25", SAMPLE, tasks=tasks, **how).controls().found
    assert run.estimate("aspect_recall", resampling) == found.comparison.second


def test_what_an_interrupt_finds_begun_is_finished_and_kept(tmp_path: Path) -> None:
    """With two processes an interrupt and the start after it ask for each answer once."""
    dataset, log, path = many(tmp_path / "data.json", 40), tmp_path / "asked", tmp_path / "run.jsonl"
    spec = f"kit.hand_made:Counting:log={log},seconds=0.02"
    interrupts = iter([lambda: os.kill(os.getpid(), signal.SIGINT)])

    def interrupt_once(n_done: int, _: int) -> None:
        if n_done >= 8:
            next(interrupts, lambda: None)()

    with pytest.raises(KeyboardInterrupt):
        execute(spec, dataset, path, jobs=2, on_progress=interrupt_once)
    assert len(asked(log)) == len(read_run(path).ids) < 40
    execute(spec, dataset, path, jobs=2)
    assert sorted(asked(log)) == sorted(dataset.ids)
