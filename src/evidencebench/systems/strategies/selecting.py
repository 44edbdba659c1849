"""Show a model sentences of a paper and let it select: shared by all strategies that select."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from evidencebench.errors import ReplyError
from evidencebench.models.llm.chat import ChatModel
from evidencebench.query import Query
from evidencebench.system import Brief, Ranking, merged_notes
from evidencebench.systems.strategies.conversation import Asker, converse
from evidencebench.systems.strategies.forms import budget_words, form_name, form_text
from evidencebench.systems.strategies.paper_questions import SHARED_PROMPTS, PaperQuestion
from evidencebench.systems.strategies.prompts import versions_of

NOTHING = Ranking(sentences=(), ordered=False)
"""The answer where nothing can be selected, for which no model is asked."""


def selection_versions(chat: ChatModel, *names: str) -> Mapping[str, str]:
    """Return the checksums of all prompts of a strategy that selects; ``names`` are those of its own."""
    form = form_name("answer", structured=chat.structured)
    return versions_of((*names, *SHARED_PROMPTS, "over_length", form))


def selection_question(prompt: str, query: Query, brief: Brief, chat: ChatModel, **fields: str) -> PaperQuestion:
    """Return the question for a selection; ``fields`` are the prompt's fields besides budget and form."""
    form = form_text("answer", structured=chat.structured, n_sentences=len(query.sentences), budget=brief.budget)
    asked = {"budget": budget_words(brief.budget), "form": form}
    return PaperQuestion(prompt=prompt, query=query, scope=brief.scope, fields={**asked, **fields})


def select_from(
    asker: Asker,
    prompt: str,
    query: Query,
    brief: Brief,
    indices: Sequence[int],
    *,
    notes: Mapping[str, int] = MappingProxyType({}),
    fields: Mapping[str, str] = MappingProxyType({}),
) -> Ranking:
    """Show a model some sentences, in paper order and as many as fit into its window, and return what it selects.

    ``notes`` are those of earlier work on the answer; they are added to the notes of the answer or of the error. Raises
    `ReplyError` where a request failed for good, nothing fits, or the replies hold no answer.
    """
    if brief.budget == 0 or not query.sentences:
        return NOTHING
    asked = selection_question(prompt, query, brief, asker.chat, **fields)
    try:
        excerpt = asked.fitted(indices, asker.chat)
        outcome = converse(asker, asked.question("answer", excerpt, asker.chat, brief.budget))
    except ReplyError as error:
        raise ReplyError(str(error), notes=merged_notes(notes, error.notes)) from error
    noted = merged_notes(notes, outcome.notes, excerpt.notes)
    if outcome.reading is None:
        raise ReplyError(outcome.why, notes=noted)
    return selected(outcome.reading.indices, noted)


def selected(indices: Iterable[int], notes: Mapping[str, int]) -> Ranking:
    """Return a selection as an answer: a set, in paper order."""
    return Ranking(sentences=tuple(sorted(set(indices))), ordered=False, notes=notes)
