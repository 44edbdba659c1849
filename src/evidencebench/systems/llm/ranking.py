"""Every sentence scored or put in order, so that one request serves every budget."""

from dataclasses import dataclass, field, replace
from typing import Literal

from evidencebench.errors import ReplyError, SystemSpecError
from evidencebench.models.llm.chat import ChatModel
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.providers import asks_json
from evidencebench.query import Query
from evidencebench.system import Ranking, RankingTask, Traits, merged_notes, rank_by_score
from evidencebench.systems.llm.asking import converse
from evidencebench.systems.llm.excerpts import (
    SHARED_PROMPTS,
    PaperQuestion,
    asker_of,
    check_options,
    cut_notes,
    read_in_sections,
)
from evidencebench.systems.llm.prompts import form_name, form_text, versions_of

UNSCORED = -1.0
"""The score of a sentence that no reply scores: below any score of a reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmRank:
    """A language model that scores or orders every sentence of the paper.

    The prompt does not hold the budget, so that all tasks of a scope send the same requests and are paid once.

    * ``pointwise``: part by part, as `llm_sections` cuts a paper, each sentence is scored 0 to 10. A sentence in two
      parts has the mean of its scores. Ties are in paper order.
    * ``listwise``: the whole paper at once is put in order.

    Sentences that no reply scores or places come last, in paper order, and are counted in ``unscored_sentences``. A
    part whose replies hold no answer is counted in ``unread_sections``. A request that fails for good fails the query,
    as in `llm_sections`.

    Attributes
    ----------
    chat, repairs, client
        As in `LlmBase`.
    method
        ``"pointwise"`` or ``"listwise"``.
    section_tokens, min_section_tokens, overlap
        For ``pointwise``: as in `LlmSections`.
    logprobs
        For ``pointwise``: ask for the probabilities of scores, and score a sentence by the mean of those that it might
        have had. A reply without any is counted in ``replies_without_logprobs``, and its scores stay as they are.
    """

    chat: ChatModel
    method: Literal["pointwise", "listwise"] = "pointwise"
    section_tokens: int = 2000
    min_section_tokens: int = 100
    overlap: int = 2
    logprobs: bool = False
    repairs: int = 1
    client: ChatClient | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options("llm_rank", self, prompt="score" if self.method == "pointwise" else "order")
        if self.logprobs and self.method != "pointwise":
            raise SystemSpecError("llm_rank: logprobs: expected method=pointwise, whose replies hold scores")

    @property
    def traits(self) -> Traits:
        own, form = ("score", "scores") if self.method == "pointwise" else ("order", "order")
        names = (own, *SHARED_PROMPTS, form_name(form, structured=asks_json(self.chat)))
        return Traits(reads_task=True, waits=True, versions=lambda: versions_of(names))

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        if not query.sentences:
            return Ranking(sentences=())
        return (self._rank_pointwise if self.method == "pointwise" else self._rank_listwise)(query, task)

    def _rank_pointwise(self, query: Query, task: RankingTask) -> Ranking:
        form = form_text("scores", structured=asks_json(self.chat), n_sentences=len(query.sentences))
        asked = PaperQuestion(prompt="score", query=query, scope=task.scope, fields={"form": form})
        readings, notes = read_in_sections(self, asked, "scores", None, what="no part of the paper has scores")
        scores_of: list[list[float]] = [[] for _ in query.sentences]
        for reading in readings:
            for index, score in reading.scores.items():
                scores_of[index].append(score)
        if n_unscored := scores_of.count([]):
            notes["unscored_sentences"] = n_unscored
        return replace(
            rank_by_score([sum(scores) / len(scores) if scores else UNSCORED for scores in scores_of]), notes=notes
        )

    def _rank_listwise(self, query: Query, task: RankingTask) -> Ranking:
        asker, n_sentences = asker_of(self), len(query.sentences)
        form = form_text("order", structured=asks_json(self.chat), n_sentences=n_sentences)
        fields = {"form": form, "n_sentences": str(n_sentences)}
        asked = PaperQuestion(prompt="order", query=query, scope=task.scope, fields=fields)
        excerpt = asked.fitted(range(n_sentences), self.chat)
        asked = replace(asked, fields={**fields, "n_sentences": str(len(excerpt.shown))})
        outcome = converse(asker, asked.question("order", excerpt, self.chat))
        notes = merged_notes(outcome.notes, cut_notes(excerpt))
        if outcome.reading is None:
            raise ReplyError(outcome.why, notes=notes)
        named = tuple(dict.fromkeys(outcome.reading.indices))
        unnamed = sorted(set(range(n_sentences)) - set(named))
        if unnamed:
            notes["unscored_sentences"] = len(unnamed)
        return Ranking(sentences=(*named, *unnamed), notes=notes)
