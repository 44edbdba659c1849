"""Show a model sentences of a paper and have it select: what every strategy that selects shares."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evidencebench.errors import ReplyError
from evidencebench.models.llm.chat import ChatModel, ChatReply
from evidencebench.models.llm.reading import Reading, read_selection
from evidencebench.query import Query
from evidencebench.system import Brief, Ranking, merged_notes
from evidencebench.systems.strategies.conversation import Asker, Outcome, Question, converse
from evidencebench.systems.strategies.drafts import SHARED_PROMPTS, Draft
from evidencebench.systems.strategies.excerpt import Excerpt
from evidencebench.systems.strategies.forms import SELECTION_SCHEMA, budget_words, form_name, form_text, selection_like
from evidencebench.systems.strategies.prompts import versions_of

NOTHING = Ranking(sentences=(), ordered=False)
"""The answer where nothing can be selected, for which no model is asked."""

_NO_NOTES: Mapping[str, int] = MappingProxyType({})


def selection_versions(chat: ChatModel, *names: str) -> Mapping[str, str]:
    """Return the checksums of the prompts that a strategy which selects is made of, given those of its own."""
    form = form_name("answer", structured=chat.structured)
    return versions_of((*names, *SHARED_PROMPTS, "over_length", form))


def selection_draft(prompt: str, query: Query, brief: Brief, chat: ChatModel, **fields: str) -> Draft:
    """Return the question for a selection, without its sentences.

    Parameters
    ----------
    prompt
        Name of the file that it is made of.
    query, brief
        What is asked.
    chat
        Says in which form the reply comes.
    **fields
        What else the prompt has filled in.
    """
    form = form_text("answer", structured=chat.structured, n_sentences=len(query.sentences), budget=brief.budget)
    asked = {"budget": budget_words(brief.budget), "form": form}
    return Draft(prompt=prompt, query=query, scope=brief.scope, fields={**asked, **fields})


async def select(asker: Asker, draft: Draft, excerpt: Excerpt, budget: int | None) -> Outcome[Reading]:
    """Return what a model selects of the sentences shown to it.

    Raises
    ------
    ReplyError
        If a request failed for good.
    StopError
        If no more requests may be sent.
    PendingError
        If a reply waits for a batch.
    """
    structured = asker.chat.structured
    shown, n_sentences = excerpt.shown, len(draft.query.sentences)

    def read(reply: ChatReply) -> Reading:
        return read_selection(reply, shown, budget=budget, n_sentences=n_sentences)

    question = Question(
        text=draft.text(excerpt),
        stand_in=selection_like(list(shown)[:budget], structured=structured),
        schema=SELECTION_SCHEMA,
        read=read,
        form=form_text("answer", structured=structured, n_sentences=n_sentences, budget=budget, with_reasoning=False),
        selects=True,
        budget=budget,
    )
    return await converse(asker, question)


async def select_from(
    asker: Asker, draft: Draft, indices: Sequence[int], budget: int | None, *, notes: Mapping[str, int] = _NO_NOTES
) -> Ranking:
    """Return what a model selects of as many of some sentences, in paper order, as fit into its window.

    What was noted before, `notes`, is among the notes of the answer, and of a `ReplyError`.

    Raises
    ------
    ReplyError
        If its replies hold no answer, a request failed for good, or nothing fits.
    StopError
        If no more requests may be sent.
    PendingError
        If a reply waits for a batch.
    """
    try:
        excerpt = draft.fitted(indices, asker.chat)
        outcome = await select(asker, draft, excerpt, budget)
    except ReplyError as error:
        raise ReplyError(str(error), notes=merged_notes(notes, error.notes)) from error
    noted = merged_notes(notes, outcome.notes, excerpt.notes)
    if outcome.reading is None:
        raise ReplyError(outcome.why, notes=noted)
    return selected(outcome.reading.indices, noted)


def selected(indices: Sequence[int], notes: Mapping[str, int]) -> Ranking:
    """Return a selection as an answer: a set, in paper order."""
    return Ranking(sentences=tuple(sorted(set(indices))), ordered=False, notes=notes)
