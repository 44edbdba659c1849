"""Show a model sentences of a paper and have it select: what every strategy that selects shares."""

from collections.abc import Mapping, Sequence

from evidencebench.errors import ReplyError
from evidencebench.llm.chat import ChatModel, ChatReply
from evidencebench.llm.reading import Reading, read_selection
from evidencebench.query import Query
from evidencebench.strategies.conversation import Asker, Outcome, Question, converse
from evidencebench.strategies.drafts import SHARED_PROMPTS, Draft
from evidencebench.strategies.excerpt import Excerpt
from evidencebench.strategies.forms import SELECTION_SCHEMA, budget_words, form_name, form_text, selection_like
from evidencebench.strategies.prompts import prompt_named, versions_of
from evidencebench.system import Brief, Ranking, merged_notes

NOTHING = Ranking(sentences=(), ordered=False)
"""The answer where nothing can be selected, for which no model is asked."""


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
    words = budget_words(brief.budget)
    form = form_text("answer", structured=chat.structured, budget=words)
    return Draft(prompt=prompt, query=query, scope=brief.scope, fields={"budget": words, "form": form, **fields})


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
    form = form_text("answer", structured=structured, budget=budget_words(budget))

    def read(reply: ChatReply) -> Reading:
        return read_selection(reply, shown, budget=budget, n_sentences=n_sentences)

    def shorten(reading: Reading) -> str | None:
        if budget is None or len(reading.indices) <= budget:
            return None
        n_selected = str(len(reading.indices))
        return prompt_named("over_length").render(n_selected=n_selected, budget=budget_words(budget), form=form)

    question = Question(
        text=draft.text(excerpt),
        stand_in=selection_like(list(shown)[:budget], structured=structured),
        schema=SELECTION_SCHEMA,
        read=read,
        repair=prompt_named("repair").render(form=form),
        may_be_empty=True,
        shorten=shorten,
    )
    return await converse(asker, question)


async def select_from(asker: Asker, draft: Draft, indices: Sequence[int], budget: int | None) -> Ranking:
    """Return what a model selects of as many of some sentences, in paper order, as fit into its window.

    Raises
    ------
    ReplyError
        If its replies hold no answer, a request failed for good, or nothing fits.
    StopError
        If no more requests may be sent.
    PendingError
        If a reply waits for a batch.
    """
    excerpt = draft.fitted(indices, asker.chat)
    outcome = await select(asker, draft, excerpt, budget)
    notes = merged_notes(outcome.notes, excerpt.notes)
    if outcome.reading is None:
        raise ReplyError(outcome.why, notes=notes)
    return selected(outcome.reading.indices, notes)


def selected(indices: Sequence[int], notes: Mapping[str, int]) -> Ranking:
    """Return a selection as an answer: a set, in paper order."""
    return Ranking(sentences=tuple(sorted(set(indices))), ordered=False, notes=notes)
