"""Several samples of a model, or several models, or any systems, fused by votes or reciprocal rank."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from evidencebench.engine.local import call_together
from evidencebench.errors import EvidenceBenchError, PendingError, ReplyError, StopError, SystemSpecError
from evidencebench.models.llm.chat import ChatModel
from evidencebench.query import Query
from evidencebench.system import NamedSystem, Ranking, RankingTask, Traits, merged_notes, rank_by_score
from evidencebench.systems.fusion import places_of
from evidencebench.systems.llm.asking import error_priority
from evidencebench.systems.llm.excerpts import require_within

_MAX_SAMPLES = 64
_MAX_AT_ONCE = 16  # as many as a client sends at a time unless it is told otherwise
_Ask = Callable[[Query, RankingTask], Ranking]


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmVote:
    """Several answers combined into one.

    Where a part waits for a server, all parts are asked at once. All of them end before an error is raised. A part that
    fails is counted in ``failed_parts``, and the others decide.

    * ``votes``: a sentence scores the number of answers that select it within the budget. An answer in order gives its
      votes to its first sentences; a set that is longer than the budget gives each sentence an equal part of a vote.
      Sentences without a vote are left out. Ties are in paper order.
    * ``rrf``: the sum over the answers of 1 / (k + place), as `fuse` computes it, for every sentence.

    Without a budget, either method selects the sentences that more than half of the answers select.

    Attributes
    ----------
    systems
        The parts, at least one.
    samples
        How often each part that asks a language model itself is asked, under its own seed and those that follow, 1..64.
        Other parts are asked once.
    method
        ``"votes"`` or ``"rrf"``.
    k
        For ``rrf``: how little the first places stand out, at least 0.

    References
    ----------
    .. [1] Wang, X. et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models", ICLR 2023.
    .. [2] Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning
       Methods", SIGIR 2009, which sets k to 60.
    """

    systems: tuple[NamedSystem, ...]
    samples: int = 1
    method: Literal["votes", "rrf"] = "votes"
    k: float = 60.0
    _voters: tuple[_Ask, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.systems:
            raise SystemSpecError(
                "llm_vote: systems: expected at least one, such as systems=[llm_base:model=openai/NAME]"
            )
        require_within("llm_vote", "samples", self.samples, 1, _MAX_SAMPLES)
        require_within("llm_vote", "k", self.k, 0)
        object.__setattr__(self, "_voters", tuple(self._make_voters()))

    @property
    def traits(self) -> Traits:
        return Traits(reads_task=True, selects=all(part.selects for part in self.systems))

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        size = len(query.sentences)
        answers, notes = self._ask(query, task)
        if task.budget is None:
            shares = _votes(answers, size, None)
            majority = tuple(index for index in range(size) if shares[index] > len(answers) / 2)
            return Ranking(sentences=majority, ordered=False, notes=notes)
        if self.method == "votes":
            ranking = rank_by_score(_votes(answers, size, task.budget))
            scores = tuple(score for score in ranking.scores or () if score > 0)
            return Ranking(sentences=ranking.sentences[: len(scores)], scores=scores, notes=notes)
        terms = [np.reciprocal(self.k + places_of(answer, size)) for answer in answers]
        sums = [math.fsum(float(term[index]) for term in terms) for index in range(size)]
        return replace(rank_by_score(sums), notes=notes)

    def _make_voters(self) -> Iterator[_Ask]:
        """Yield the ways to ask the parts: once, or under each of the seeds where it asks a language model."""
        systems: list[Any] = [part.system for part in self.systems]
        if self.samples > 1 and not any(isinstance(getattr(system, "chat", None), ChatModel) for system in systems):
            raise SystemSpecError("llm_vote: samples: none of the systems asks a language model, so each is asked once")
        for part, system in zip(self.systems, systems, strict=True):
            chat = getattr(system, "chat", None)
            if not isinstance(chat, ChatModel):
                yield part.rank
                continue
            if self.samples > 1 and chat.temperature == 0:
                raise SystemSpecError(
                    f"llm_vote: samples: at temperature=0 every sample of '{chat.model}' is meant to be the same, so "
                    "several cost more and say no more; raise the temperature, or set samples=1"
                )
            for seed in range(chat.seed, chat.seed + self.samples):
                yield replace(part, system=replace(system, chat=replace(chat, seed=seed))).rank

    def _ask(self, query: Query, task: RankingTask) -> tuple[list[Ranking], dict[str, int]]:
        work = [partial(ask, query, task) for ask in self._voters]
        ended = call_together(work, _MAX_AT_ONCE if any(part.waits for part in self.systems) else 1)
        errors = [outcome for outcome in ended if isinstance(outcome, BaseException)]
        for error in sorted(errors, key=error_priority):
            if isinstance(error, (StopError, PendingError)) or not isinstance(error, EvidenceBenchError):
                raise error
        answers = [outcome for outcome in ended if isinstance(outcome, Ranking)]
        failed_notes = [error.notes for error in errors if isinstance(error, ReplyError)]
        notes = merged_notes(*(answer.notes for answer in answers), *failed_notes)
        if errors:
            notes["failed_parts"] = notes.get("failed_parts", 0) + len(errors)
        if not answers:
            raise ReplyError(f"no part has an answer; the first: {errors[0]}", notes=notes) from errors[0]
        return answers, notes


def _votes(answers: Sequence[Ranking], n_sentences: int, budget: int | None) -> list[float]:
    votes = [0.0] * n_sentences
    for answer in answers:
        named = tuple(dict.fromkeys(answer.sentences))
        share = 1.0
        if budget is not None and len(named) > budget:
            share = 1.0 if answer.ordered else budget / len(named)
            named = named[:budget] if answer.ordered else named
        for index in named:
            votes[index] += share
    return votes
