"""Only the first sentences of a cheap system are shown, in paper order and with their neighbours."""

from dataclasses import dataclass, field

from evidencebench.models.llm.chat import ChatModel
from evidencebench.models.llm.client import ChatClient
from evidencebench.query import Query
from evidencebench.system import Brief, NamedSystem, Ranking
from evidencebench.systems.retrievers.scores import full_order
from evidencebench.systems.strategies.conversation import asker_of
from evidencebench.systems.strategies.options import require_chat, require_within
from evidencebench.systems.strategies.selecting import NOTHING, select_from, selection_versions
from evidencebench.traits import Traits


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
    chat
        Which model, and how it samples.
    top
        How many of its sentences are shown, at least 1; fewer where it names fewer.
    neighbours
        How many sentences on either side of each are shown too.
    repairs
        How often a reply without an answer is asked for again, 0..3.
    client
        What sends the requests; None: the one that all share.
    """

    system: NamedSystem
    chat: ChatModel
    top: int = 40
    neighbours: int = 1
    repairs: int = 1
    client: ChatClient | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_chat("llm_rerank", self.chat, self.repairs, prompt="extract")
        require_within("llm_rerank", "top", self.top, 1)
        require_within("llm_rerank", "neighbours", self.neighbours, 0)

    @property
    def traits(self) -> Traits:
        """The traits; the versions are the checksums of the prompts."""
        return Traits(
            reads_brief=True, selects=True, waits=True, versions=lambda: selection_versions(self.chat, "extract")
        )

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return the set of sentences that the model names; raises as `converse` does, or if its replies hold none."""
        if brief.budget == 0 or not query.sentences:
            return NOTHING
        first = self.system.rank(query, brief)
        n_named = len(set(first.sentences)) or self.top
        order = full_order(first, len(query.sentences))[: min(self.top, n_named)]
        last = len(query.sentences) - 1
        indices = {
            near
            for index in order
            for near in range(max(0, index - self.neighbours), min(last, index + self.neighbours) + 1)
        }
        asker = asker_of(self.client, self.chat, self.repairs)
        return select_from(asker, "extract", query, brief, sorted(indices), notes=first.notes)
