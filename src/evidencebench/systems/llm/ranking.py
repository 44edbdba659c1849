"""Every sentence scored or put in order, so that one request serves every budget."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from evidencebench.errors import ReplyError
from evidencebench.models.llm.chat import ChatModel
from evidencebench.models.llm.client import ChatClient
from evidencebench.query import Query
from evidencebench.system import Brief, Ranking, Traits, merged_notes, rank_by_score
from evidencebench.systems.llm.asking import Asker, asker_of, converse, converse_all
from evidencebench.systems.llm.excerpts import (
    SHARED_PROMPTS,
    PaperQuestion,
    notes_of_excerpts,
    require_chat,
    require_section_options,
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
    chat
        Which model, and how it samples.
    method
        ``"pointwise"`` or ``"listwise"``.
    section_tokens
        For ``pointwise``: the longest part that is read at once, as estimated, at least 64; less where the model's
        window is smaller.
    min_section_tokens
        For ``pointwise``: shorter sections are read together with their neighbours.
    overlap
        For ``pointwise``: how many sentences two windows over a long section share.
    repairs
        How often a reply without an answer is asked for again, 0..3.
    client
        What sends the requests; None: the one that all share.
    """

    chat: ChatModel
    method: Literal["pointwise", "listwise"] = "pointwise"
    section_tokens: int = 2000
    min_section_tokens: int = 100
    overlap: int = 2
    repairs: int = 1
    client: ChatClient | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_chat("llm_rank", self.chat, self.repairs, prompt="score" if self.method == "pointwise" else "order")
        require_section_options("llm_rank", self.section_tokens, self.min_section_tokens, self.overlap)

    @property
    def traits(self) -> Traits:
        """The traits; the versions are the checksums of the prompts."""
        return Traits(reads_brief=True, waits=True, versions=self._versions)

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return all sentences, with scores if the method is pointwise; raises as `converse`, or without an answer."""
        if not query.sentences:
            return Ranking(sentences=())
        asker = asker_of(self.client, self.chat, self.repairs)
        return (self._rank_pointwise if self.method == "pointwise" else _rank_listwise)(asker, query, brief)

    def _rank_pointwise(self, asker: Asker, query: Query, brief: Brief) -> Ranking:
        form = form_text("scores", structured=self.chat.structured, n_sentences=len(query.sentences))
        asked = PaperQuestion(prompt="score", query=query, scope=brief.scope, fields={"form": form})
        parts = asked.windows(
            self.chat, max_tokens=self.section_tokens, min_tokens=self.min_section_tokens, overlap=self.overlap
        )
        outcomes = converse_all(asker, [asked.question("scores", part, self.chat) for part in parts])
        readings = [outcome.reading for outcome in outcomes if outcome.reading is not None]
        notes = merged_notes(*(outcome.notes for outcome in outcomes), notes_of_excerpts(parts))
        if len(readings) < len(outcomes):
            notes["unread_sections"] = len(outcomes) - len(readings)
        if not readings:
            raise ReplyError(f"no part of the paper has scores; the first: {outcomes[0].why}", notes=notes)
        scores = _mean_scores([reading.scores for reading in readings], len(query.sentences))
        if n_unscored := scores.count(UNSCORED):
            notes["unscored_sentences"] = n_unscored
        ranking = rank_by_score(scores)
        return Ranking(sentences=ranking.sentences, scores=ranking.scores, notes=notes)

    def _versions(self) -> Mapping[str, str]:
        own, form = ("score", "scores") if self.method == "pointwise" else ("order", "order")
        return versions_of((own, *SHARED_PROMPTS, form_name(form, structured=self.chat.structured)))


def _mean_scores(readings: Iterable[Mapping[int, float]], n_sentences: int) -> list[float]:
    """Return the mean score of each sentence, `UNSCORED` where it has none."""
    scores_of: list[list[float]] = [[] for _ in range(n_sentences)]
    for scores in readings:
        for index, score in scores.items():
            scores_of[index].append(score)
    return [sum(scores) / len(scores) if scores else UNSCORED for scores in scores_of]


def _rank_listwise(asker: Asker, query: Query, brief: Brief) -> Ranking:
    n_sentences = len(query.sentences)
    form = form_text("order", structured=asker.chat.structured, n_sentences=n_sentences)
    fields = {"form": form, "n_sentences": str(n_sentences)}
    asked = PaperQuestion(prompt="order", query=query, scope=brief.scope, fields=fields)
    excerpt = asked.fitted(range(n_sentences), asker.chat)
    asked = replace(asked, fields={**fields, "n_sentences": str(len(excerpt.shown))})
    outcome = converse(asker, asked.question("order", excerpt, asker.chat))
    notes = merged_notes(outcome.notes, excerpt.notes)
    if outcome.reading is None:
        raise ReplyError(outcome.why, notes=notes)
    named = tuple(dict.fromkeys(outcome.reading.indices))
    left_out = sorted(set(range(n_sentences)) - set(named))
    counted = {**notes, "unscored_sentences": len(left_out)} if left_out else notes
    return Ranking(sentences=(*named, *left_out), notes=counted)
