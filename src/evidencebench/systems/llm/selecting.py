"""Strategies that select: llm_base, llm_icl, llm_sections, llm_rerank."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from evidencebench.errors import ReplyError, RunMismatchError, SystemSpecError
from evidencebench.files.disk import file_sha256
from evidencebench.models.llm.chat import ChatModel
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.providers import asks_json
from evidencebench.query import AspectScope, Query
from evidencebench.system import NamedSystem, Ranking, RankingTask, Traits, merged_notes
from evidencebench.systems.fusion import full_order
from evidencebench.systems.llm.asking import Asker, converse
from evidencebench.systems.llm.excerpts import (
    SHARED_PROMPTS,
    PaperQuestion,
    asker_of,
    check_options,
    cut_notes,
    prompt_line,
    read_in_sections,
)
from evidencebench.systems.llm.prompts import (
    PromptExample,
    budget_words,
    form_name,
    form_text,
    read_examples,
    reason_against,
    versions_of,
)

NOTHING = Ranking(sentences=(), ordered=False)
"""The answer where nothing can be selected, for which no model is asked."""


def selection_versions(chat: ChatModel, *names: str) -> Mapping[str, str]:
    form = form_name("answer", structured=asks_json(chat))
    return versions_of((*names, *SHARED_PROMPTS, "over_length", form))


def _selecting_traits(chat: ChatModel, *names: str) -> Traits:
    return Traits(reads_task=True, selects=True, waits=True, versions=lambda: selection_versions(chat, *names))


def selection_question(prompt: str, query: Query, task: RankingTask, chat: ChatModel, **fields: str) -> PaperQuestion:
    form = form_text("answer", structured=asks_json(chat), n_sentences=len(query.sentences), budget=task.budget)
    asked = {"budget": budget_words(task.budget), "form": form}
    return PaperQuestion(prompt=prompt, query=query, scope=task.scope, fields={**asked, **fields})


def select_from(
    asker: Asker,
    prompt: str,
    query: Query,
    task: RankingTask,
    indices: Sequence[int],
    *,
    notes: Mapping[str, int] = MappingProxyType({}),
    fields: Mapping[str, str] = MappingProxyType({}),
) -> Ranking:
    """Show a model some sentences, as many as fit; ``notes`` of earlier work are added to the answer's or error's."""
    if task.budget == 0 or not query.sentences:
        return NOTHING
    asked = selection_question(prompt, query, task, asker.chat, **fields)
    try:
        excerpt = asked.fitted(indices, asker.chat)
        outcome = converse(asker, asked.question("answer", excerpt, asker.chat, task.budget))
    except ReplyError as error:
        raise ReplyError(str(error), notes=merged_notes(notes, error.notes)) from error
    all_notes = merged_notes(notes, outcome.notes, cut_notes(excerpt))
    if outcome.reading is None:
        raise ReplyError(outcome.why, notes=all_notes)
    return selected(outcome.reading.indices, all_notes)


def selected(indices: Iterable[int], notes: Mapping[str, int]) -> Ranking:
    return Ranking(sentences=tuple(sorted(set(indices))), ordered=False, notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmBase:
    """A language model that reads the whole paper and names the sentences.

    A paper that is longer than the model's window is cut behind the last sentence that fits, and counted. Where the
    budget is 0, no model is asked.

    Attributes
    ----------
    chat
        Which model, and how it samples.
    repairs
        How often a reply without an answer is asked for again, 0..3.
    client
        What sends the requests; None: the one that all share.

    References
    ----------
    .. [1] Wang, Cao et al., "EvidenceBench: A Benchmark for Extracting Evidence from Biomedical Papers", COLM 2025.
    """

    chat: ChatModel
    repairs: int = 1
    client: ChatClient | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options("llm_base", self, prompt="base")

    @property
    def traits(self) -> Traits:
        return _selecting_traits(self.chat, "base")

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        return select_from(asker_of(self), "base", query, task, range(len(query.sentences)))


_POINTS: Mapping[AspectScope, str] = {
    "all": "every point of the reviewer's summary of that paper",
    "results": "every outcome and every analysis in the reviewer's summary of that paper",
}
"""The prompt's words for what the sentences of the examples state, by scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmInContext:
    """Like `llm_base`, with examples in the prompt: hypotheses about other papers and their best sentences.

    Examples come from a file, since no system reads labels: ``evidencebench llm examples`` draws them. A query is
    refused if its paper, or a paper with the same text, is among them.

    Attributes
    ----------
    chat, repairs, client
        As in `LlmBase`.
    examples
        A file of examples. The run's header holds its checksum.
    n
        How many of them are shown, the first ones, at least 1. For the Results tasks those without Results are left
        out, and counted in ``examples_left_out``.

    References
    ----------
    .. [1] Wang, Cao et al., "EvidenceBench: A Benchmark for Extracting Evidence from Biomedical Papers", COLM 2025,
       whose in-context setting has 8 examples.
    """

    chat: ChatModel
    examples: Path
    n: int = 8
    repairs: int = 1
    client: ChatClient | None = field(default=None, repr=False, compare=False)
    _shown: tuple[PromptExample, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "examples", Path(self.examples))
        check_options("llm_icl", self, prompt="in_context")
        examples = read_examples(self.examples).examples
        if len(examples) < self.n:
            raise SystemSpecError(
                f"llm_icl: n: expected at most as many examples as {self.examples} holds, {len(examples)}, got {self.n}"
            )
        object.__setattr__(self, "_shown", examples[: self.n])

    @property
    def traits(self) -> Traits:
        return replace(
            _selecting_traits(self.chat, "in_context"),
            versions=lambda: {
                **selection_versions(self.chat, "in_context"),
                f"examples {self.examples}": f"sha256:{file_sha256(self.examples)}",
            },
            check=lambda asked: self._check_unseen(asked.queries()),
        )

    def _check_unseen(self, queries: Iterable[Query]) -> None:
        for query in queries:
            if reason := reason_against(self._shown, query):
                raise RunMismatchError(
                    f"{query.instance_id}: may not be asked with the examples in {self.examples}: {reason}; draw them "
                    "from other data with 'evidencebench llm examples'"
                )

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        self._check_unseen([query])
        examples = [example for example in self._shown if example.in_scope(task.scope)]
        if not examples:
            raise SystemSpecError(
                f"llm_icl: examples: none of {self.examples} has Results sentences; draw them from data with Results "
                "labels"
            )
        texts = []
        for number, example in enumerate(examples, 1):
            lines = [f"- {prompt_line(sentence)}" for sentence in example.in_scope(task.scope)]
            texts.append("\n".join((f"Example {number}, hypothesis: {prompt_line(example.hypothesis)}", *lines)))
        n_left_out = self.n - len(examples)
        return select_from(
            asker_of(self),
            "in_context",
            query,
            task,
            range(len(query.sentences)),
            notes={"examples_left_out": n_left_out} if n_left_out else {},
            fields={"points": _POINTS[task.scope], "examples": "\n\n".join(texts)},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSections:
    """A language model that reads section by section, then picks from what it found.

    In each section, the model may name as many sentences as the budget. Those of all sections are then shown together,
    in paper order and under the paper's own numbers, and the model picks as many as the budget. This last request is
    left out where the sections name no more than the budget, since fewer sentences never score higher, and where there
    is no budget.

    A section whose replies hold no answer gives no sentence and is counted in ``unread_sections``: to ask again would
    bring the same replies from the cache. A request that fails for good, such as by HTTP 400, fails the whole query,
    after all sections have been asked. It leaves no reply in the cache, so that asking the failed queries again sends
    only the requests without a reply.

    Each heading opens a section, and the abstract is one of its own; see `windows_of` for tiny and long ones.

    Attributes
    ----------
    chat, repairs, client
        As in `LlmBase`.
    section_tokens
        The longest part of a paper that is read at once, as estimated, at least 64; less where the model's window is
        smaller.
    min_section_tokens
        Shorter sections are read together with their neighbours.
    overlap
        How many sentences two windows over a long section share.

    References
    ----------
    .. [1] Wang, Cao et al., "EvidenceBench: A Benchmark for Extracting Evidence from Biomedical Papers", COLM 2025.
    """

    chat: ChatModel
    section_tokens: int = 2000
    min_section_tokens: int = 100
    overlap: int = 2
    repairs: int = 1
    client: ChatClient | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options("llm_sections", self, prompt="section")

    @property
    def traits(self) -> Traits:
        return _selecting_traits(self.chat, "section", "union")

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        if task.budget == 0 or not query.sentences:
            return NOTHING
        asked = selection_question("section", query, task, self.chat)
        readings, notes = read_in_sections(self, asked, "answer", task.budget, what="no section has an answer")
        union = sorted({index for reading in readings for index in reading.indices})
        if task.budget is None or len(union) <= task.budget:
            return selected(union, notes)
        return select_from(asker_of(self), "union", query, task, union, notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmRerank:
    """A language model that selects among the first sentences of another system.

    They are shown in paper order, under the paper's own numbers, with the sentences around them. Any shown sentence may
    be selected. An extract that is longer than the model's window is cut behind the last sentence that fits; the rest
    is counted in ``truncated_sentences``.

    Attributes
    ----------
    system
        The system whose first sentences are shown. A set without order is taken in paper order. Sentences that it
        does not name are shown only as neighbours. Where it names none at all, the first of the paper are shown.
    chat, repairs, client
        As in `LlmBase`.
    top
        How many of its sentences are shown, at least 1; fewer where it names fewer.
    neighbours
        How many sentences on either side of each are shown too.
    """

    system: NamedSystem
    chat: ChatModel
    top: int = 40
    neighbours: int = 1
    repairs: int = 1
    client: ChatClient | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_options("llm_rerank", self, prompt="extract")

    @property
    def traits(self) -> Traits:
        return _selecting_traits(self.chat, "extract")

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        first, n = self.system.rank(query, task), len(query.sentences)
        n_named = len(set(first.sentences)) or self.top
        indices = {
            near
            for index in full_order(first, n)[: min(self.top, n_named)]
            for near in range(max(0, index - self.neighbours), min(n, index + self.neighbours + 1))
        }
        return select_from(asker_of(self), "extract", query, task, sorted(indices), notes=first.notes)
