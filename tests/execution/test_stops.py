"""What a stop leaves open is said and asked again; a failure is shown where it is, and stops a run that is to stop."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from doors import CostLimitError, FailedAnswerError, FailingServerError, PendingError, StopError, read_run
from evidencebench import TASKS, Ranking, RankingTask, Traits, execute, load_sample
from kit.command_line import until
from kit.patience import MOST_SECONDS
from runs.test_runs import many

SAMPLE = load_sample()
A, B = SAMPLE.ids[:2]


STOPS = {"cost": CostLimitError("no more"), "server": FailingServerError("it fails"), "batch": PendingError("")}

# Own code, as users name it: test_stops and Stopping joined by a colon.


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """Is stopped the first time that it is asked a certain task, as by a limit, a server or a batch."""

    log: str
    how: str = "cost"
    at_budget: int = 10
    waiting: bool = True

    @property
    def traits(self) -> Traits:
        return Traits(reads_task=True, selects=True, waits=self.waiting)

    def rank(self, query: Any, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        if task.budget == self.at_budget and not Path(self.log).exists():
            Path(self.log).touch()
            raise STOPS[self.how]
        return Ranking(sentences=(0,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """Fails on one instance, deep in its code, until a file is there; those behind it wait until it has failed."""

    instance: str = B
    mended: str = "never"
    waiting: bool = False
    failed: str = ""  # the file that says so; "": none waits

    @property
    def traits(self) -> Traits:
        return Traits(waits=self.waiting)

    def rank(self, query: Any, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        if query.instance_id == self.instance and not Path(self.mended).exists():
            if self.failed:
                Path(self.failed).touch()
            deep_in_own_code()
        if self.failed and query.instance_id > self.instance:
            until(Path(self.failed).exists)
        time.sleep(0.01)  # so that no thread answers many others before the one that failed says so
        return Ranking(sentences=(0,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """Names a sentence that no paper has."""

    index: int = 9999

    def rank(self, query: Any, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=(0, self.index))


@dataclass(frozen=True, slots=True)
class Late:
    """Fails on one instance once another has begun, whose answer comes when the failure was told."""

    traits = Traits(waits=True)

    def rank(self, query: Any, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        if query.instance_id == A:
            assert BEGUN.wait(MOST_SECONDS)
            deep_in_own_code()
        BEGUN.set()
        assert TOLD.wait(MOST_SECONDS)
        return Ranking(sentences=(0,))


BEGUN, TOLD = threading.Event(), threading.Event()


def deep_in_own_code() -> None:
    raise LookupError("no such word")


@pytest.mark.parametrize("how", ["cost", "batch"])
def test_a_stop_within_an_instance_leaves_the_tasks_behind_it_open_and_a_batch_brings_them(
    how: str, tmp_path: Path
) -> None:
    path, rounds = tmp_path / "run.jsonl", iter([True, False])
    spec = f"execution.test_stops:Stopping:log={tmp_path / 'log'},how={how}"
    report = execute(spec, SAMPLE, path, limit=1, settle=lambda: next(rounds), max_waiting=1)
    asked = {name for name, task in TASKS.items() if task.applies_to(SAMPLE[0].labels)}
    assert len(asked) > 3
    assert {task for _, task in read_run(path).done} == asked
    assert (report.n_unanswered, report.n_failed) == (0, 0)


@pytest.mark.parametrize("waiting", ["true", "false"])
def test_a_stop_ends_the_run_keeps_what_came_before_and_the_same_call_goes_on(waiting: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    spec = f"execution.test_stops:Stopping:log={tmp_path / 'log'},how=server,waiting={waiting}"
    with pytest.raises(FailingServerError):
        execute(spec, SAMPLE, path, limit=2, max_waiting=1)
    kept = read_run(path).done
    assert kept == {(A, "er_at_optimal")}
    assert execute(spec, SAMPLE, path, limit=2).n_unanswered == 0
    assert {instance_id for instance_id, _ in read_run(path).done - kept} == {A, B}


def test_a_run_that_answered_nothing_is_begun_anew_by_the_corrected_call(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    spec = f"execution.test_stops:Stopping:log={tmp_path / 'log'},how=server,waiting=false"
    task = [TASKS["er_at_10"]]
    with pytest.raises(FailingServerError):
        execute(spec, SAMPLE, path, tasks=task)
    assert len(path.read_bytes().splitlines()) == 1
    report = execute("lead", SAMPLE, path, limit=2, seed=3)
    run = read_run(path)
    assert run.header is not None
    assert (report.n_resumed, run.header.system.name, run.header.limit, len(run.ids)) == (0, "lead", 2, 2)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("waiting", ["true", "false"])
def test_a_failure_shows_where_in_own_code_it_is(jobs: int, waiting: str, tmp_path: Path) -> None:
    data = SAMPLE if jobs == 1 else many(tmp_path / "data.json", 33)
    failing = data.ids[1]
    spec = f"execution.test_stops:Failing:instance={failing},waiting={waiting}"
    report = execute(spec, data, tmp_path / "run.jsonl", jobs=jobs)
    assert (report.first_error, report.n_failed) == (f"{failing}: LookupError: no such word", 1)
    assert report.first_trace is not None
    start, *_, last = report.first_trace.splitlines()
    assert (start, last) == ("Traceback (most recent call last):", "LookupError: no such word")
    assert "in deep_in_own_code\n" in report.first_trace
    assert report.first_trace.count("File ") == report.first_trace.count(f'File "{__file__}"') == 2
    assert "trace" not in (tmp_path / "run.jsonl").read_text().casefold()


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("waiting", ["true", "false"])
def test_a_run_that_is_to_stops_at_the_first_failure_and_asks_it_again_next_time(
    jobs: int, waiting: str, tmp_path: Path
) -> None:
    data, path, mended = many(tmp_path / "data.json", 256), tmp_path / "run.jsonl", tmp_path / "mended"
    failing = data.ids[1]
    spec = f"execution.test_stops:Failing:instance={failing},waiting={waiting},mended={mended},failed={tmp_path / 'no'}"
    with pytest.raises(FailedAnswerError, match=f"^{failing}: LookupError: no such word$") as caught:
        execute(spec, data, path, jobs=jobs, fail_fast=True, max_waiting=2)
    assert caught.value.trace is not None
    assert "in deep_in_own_code" in caught.value.trace
    kept = read_run(path)
    assert (kept.failed, data.ids[0] in kept.ids, failing in kept.ids) == (frozenset(), True, False)
    assert len(kept.ids) < 256
    mended.touch()
    report = execute(spec, data, path, jobs=jobs, fail_fast=True)
    assert (report.n_resumed, report.n_failed, report.n_unanswered) == (len(kept.ids), 0, 0)


@pytest.mark.parametrize("index", [9999, -1])
@pytest.mark.parametrize("system", ["{}", "fuse:systems=[{}+lead]"])
def test_a_sentence_that_does_not_exist_is_a_failed_answer_at_once(index: int, system: str, tmp_path: Path) -> None:
    spec = system.format(f"execution.test_stops:Beyond:index={index}")
    report = execute(spec, SAMPLE, tmp_path / "run.jsonl", limit=2)
    last = len(SAMPLE[0].query.sentences) - 1
    expected = f"system 'execution.test_stops:Beyond': expected sentences 0..{last}, got {index}"
    assert report.first_error == f"{A}: OutOfRangeError: {expected}"
    assert (report.n_failed, report.first_trace) == (2, None)


def test_an_answer_that_had_begun_when_too_many_failed_is_kept(tmp_path: Path) -> None:
    def tell(n_done: int, _: int) -> None:
        if n_done:
            TOLD.set()

    path = tmp_path / "run.jsonl"
    with pytest.raises(StopError, match=r"^1 error, .* 0 .*no such word$"):
        execute(Late(), SAMPLE, path, max_errors=0, max_waiting=2, on_progress=tell)
    run = read_run(path)
    assert ({one for one, _ in run.failed}, B in run.ids) == ({A}, True)
    assert len(run.ids) < len(SAMPLE)
