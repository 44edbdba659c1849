"""Ask about each section by itself, then about the sentences that were found in all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from evidencebench.errors import ReplyError
from evidencebench.models.llm.chat import ChatModel
from evidencebench.models.llm.client import ChatClient
from evidencebench.query import Query
from evidencebench.system import Brief, Ranking, merged_notes
from evidencebench.systems.strategies.conversation import Conversation, asker_of, converse_all
from evidencebench.systems.strategies.excerpt import Excerpt, notes_of_excerpts
from evidencebench.systems.strategies.options import require_chat, require_section_options
from evidencebench.systems.strategies.selecting import (
    NOTHING,
    select_from,
    selected,
    selection_question,
    selection_versions,
)
from evidencebench.traits import Traits


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
    chat
        Which model, and how it samples.
    section_tokens
        The longest part of a paper that is read at once, as estimated, at least 64; less where the model's window is
        smaller.
    min_section_tokens
        Shorter sections are read together with their neighbours.
    overlap
        How many sentences two windows over a long section share.
    repairs
        How often a reply without an answer is asked for again, 0..3.
    client
        What sends the requests; None: the one that all share.

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
        require_chat("llm_sections", self.chat, self.repairs, prompt="section")
        require_section_options("llm_sections", self.section_tokens, self.min_section_tokens, self.overlap)

    @property
    def traits(self) -> Traits:
        """The traits; the versions are the checksums of the prompts."""
        return Traits(
            reads_brief=True,
            selects=True,
            waits=True,
            versions=lambda: selection_versions(self.chat, "section", "union"),
        )

    def rank(self, query: Query, brief: Brief) -> Ranking:
        """Return the set of sentences that the model picks; raises as `converse`, or if no section has an answer."""
        if brief.budget == 0 or not query.sentences:
            return NOTHING
        asker = asker_of(self.client, self.chat, self.repairs)
        asked = selection_question("section", query, brief, self.chat)
        sections = asked.windows(
            self.chat, max_tokens=self.section_tokens, min_tokens=self.min_section_tokens, overlap=self.overlap
        )
        outcomes = converse_all(
            asker, [asked.question("answer", section, self.chat, brief.budget) for section in sections]
        )
        notes = _notes_of(outcomes, sections)
        readings = [outcome.reading for outcome in outcomes if outcome.reading is not None]
        if not readings:
            raise ReplyError(f"no section has an answer; the first: {outcomes[0].why}", notes=notes)
        union = sorted({index for reading in readings for index in reading.indices})
        if brief.budget is None or len(union) <= brief.budget:
            return selected(union, notes)
        return select_from(asker, "union", query, brief, union, notes=notes)


def _notes_of(outcomes: Sequence[Conversation], sections: Sequence[Excerpt]) -> dict[str, int]:
    notes = merged_notes(*(outcome.notes for outcome in outcomes), notes_of_excerpts(sections))
    n_unread = sum(outcome.reading is None for outcome in outcomes)
    return {**notes, "unread_sections": n_unread} if n_unread else notes
