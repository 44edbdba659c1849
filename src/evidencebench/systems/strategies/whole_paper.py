"""The whole paper at once: reasoning, then the sentences."""

from dataclasses import dataclass, field

from evidencebench.models.llm.chat import ChatModel
from evidencebench.models.llm.client import ChatClient
from evidencebench.query import Query
from evidencebench.system import Brief, Ranking
from evidencebench.systems.strategies.conversation import asker_of
from evidencebench.systems.strategies.options import require_chat
from evidencebench.systems.strategies.selecting import select_from, selection_versions
from evidencebench.traits import Traits


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
        require_chat("llm_base", self.chat, self.repairs, prompt="base")

    @property
    def traits(self) -> Traits:
        """The traits; the versions are the checksums of the prompts."""
        return Traits(
            reads_brief=True, selects=True, waits=True, versions=lambda: selection_versions(self.chat, "base")
        )

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return the set of sentences that the model names; raises as `converse` does, or if its replies hold none."""
        asker = asker_of(self.client, self.chat, self.repairs)
        return select_from(asker, "base", query, brief, range(len(query.sentences)))
