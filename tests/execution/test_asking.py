"""Systems that wait for a server are asked many instances at once, wherever they are asked."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from doors import (
    Changes,
    Inquiry,
    PendingError,
    QueryControl,
    StopError,
    SystemSpecError,
    Waiting,
    gather,
    measured,
    rehearse_all,
)
from evidencebench import (
    TASKS,
    CrossValidation,
    Experiment,
    NamedSystem,
    Query,
    Ranking,
    RankingTask,
    Resampling,
    Traits,
    cross_validate,
    load_sample,
    make_system,
)
from kit.patience import MOST_SECONDS
from kit.scripted_models import ScriptedSender, client_of, lead

SAMPLE = load_sample()
FEW = Resampling(n_draws=50)
AT_10 = TASKS["er_at_10"]


def by_length(query: Query) -> Ranking:
    """Answer by what the hypothesis and the paper are, so that another hypothesis gets another answer."""
    first = (len(query.hypothesis) + len(query.sentences)) % len(query.sentences)
    return Ranking(sentences=(first, (first + 1) % len(query.sentences)), ordered=False)


@dataclass(frozen=True)
class Waits:
    """Answers only where another instance is asked at the same time."""

    traits: ClassVar[Traits] = Traits(waits=True)
    together: ClassVar[threading.Barrier] = threading.Barrier(2, timeout=MOST_SECONDS)

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - as the contract has it
        self.together.wait()
        return by_length(query)


@dataclass(frozen=True)
class Serves:
    """The same without a server."""

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - as the contract has it
        return by_length(query)


@dataclass(frozen=True)
class Pends:
    """Waits for a batch, and for another one where the paper is long."""

    traits: ClassVar[Traits] = Traits(waits=True)
    answer: Callable[[Query], Ranking] = field(default=by_length)

    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - as the contract has it
        return self.answer(query)


def named(system: Waits | Serves | Pends) -> NamedSystem:
    return NamedSystem(name="test", options={}, system=system)


def test_changed_queries_are_asked_of_many_papers_at_once_with_the_same_figures() -> None:
    controls = [QueryControl(name="wrong_hypothesis"), QueryControl(name="two_papers")]
    asked, expected = (
        measured({"it": named(system)}, SAMPLE, [AT_10], controls, resampling=FEW) for system in (Waits(), Serves())
    )
    assert asked == expected
    experiment = Experiment({"it": named(Waits())}, SAMPLE, tasks=AT_10, controls=controls, draws=50)
    by_words = {one.control.replace(" ", "_"): one for one in experiment.controls().found}
    assert [replace(by_words[one.control], control=one.control) for one in asked] == list(asked)


def test_cross_validation_asks_a_system_that_waits_many_papers_at_once_with_the_same_figures() -> None:
    (asked,), (expected,) = (
        cross_validate(
            CrossValidation(systems=f"execution.test_asking:{name}", tasks=[AT_10], n_seeds=2, resampling=FEW),
            SAMPLE,
        )
        for name in ("Waits", "Serves")
    )
    assert asked.tasks == expected.tasks


def test_inquiries_share_batches_until_all_is_answered() -> None:
    settled: set[str] = set()
    asked: set[str] = set()

    def answer(query: Query) -> Ranking:
        if query.hypothesis not in settled:
            asked.add(query.hypothesis)
            raise PendingError("it waits for its batch")
        return by_length(query)

    n_batches = 0

    def settle() -> bool:
        nonlocal n_batches
        n_batches += bool(asked - settled)
        settled.update(asked)
        return True

    swapped = dict.fromkeys(SAMPLE.ids, "Tea is good.")
    changes = Changes(hypotheses=swapped)
    inquiries = [Inquiry(system=named(Pends(answer))), Inquiry(system=named(Pends(answer)), changes=changes)]
    done: list[tuple[int, int]] = []
    own, wrong = gather(
        inquiries, SAMPLE, [AT_10], limit=4, waiting=Waiting(settle=settle), on_progress=lambda *n: done.append(n)
    )
    assert n_batches == 1
    assert len(own.answers) == len(wrong.answers) == len(own.seconds) == 4
    assert (done[0], done[-1]) == ((0, 8), (8, 8))
    first = SAMPLE[0]
    assert own.answer(first, AT_10) == by_length(first.query)
    assert own.answer(first, AT_10) != wrong.answer(first, AT_10)


def test_answers_whose_batch_never_comes_stop_the_command_and_say_how_to_go_on() -> None:
    def answer(_: Query) -> Ranking:
        raise PendingError("it waits for its batch")

    with pytest.raises(StopError, match=r"4 of 4 .*run again"):
        gather([Inquiry(system=named(Pends(answer)))], SAMPLE, [AT_10], limit=4)


def test_a_rehearsal_names_the_tasks_that_are_asked_by_themselves() -> None:
    def fails(_: Query) -> Ranking:
        raise ValueError("no")

    tasks = [AT_10, TASKS["result_er_at_5"]]
    plain = rehearse_all([Inquiry(system=named(Pends()))], SAMPLE, tasks, limit=3)
    assert (plain.n_instances, plain.n_failed, plain.tasks) == (3, 0, ())
    failed = rehearse_all([Inquiry(system=named(Pends(fails)))], SAMPLE, tasks, limit=3)
    assert (failed.n_failed, failed.first_error) == (3, f"{SAMPLE.ids[0]}: ValueError: no")
    chat = make_system("llm_base:model=local/m,base_url=http://127.0.0.1:9/v1", client=client_of(ScriptedSender(lead)))
    assert rehearse_all([Inquiry(system=chat)], SAMPLE, tasks, limit=1).tasks == ("er_at_10", "result_er_at_5")


def test_a_training_whose_system_would_ask_a_model_in_every_fold_is_refused() -> None:
    pytest.importorskip("datasets", reason="needs the extra 'finetune'")
    spec = "reranker:system=[llm_base:model=openai/gpt-4o]"
    with pytest.raises(SystemSpecError, match="no cost limit"):
        cross_validate(CrossValidation(systems=spec, tasks=[AT_10]), SAMPLE)
