"""A question about a paper, without the paper's sentences, and how many of these fit into it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evidencebench.errors import ReplyError
from evidencebench.models.llm.chat import ChatModel, ChatReply
from evidencebench.models.llm.reading import Reading, read_order, read_scores, read_selection
from evidencebench.models.llm.tokens import estimated_tokens
from evidencebench.query import AspectScope, Query
from evidencebench.systems.strategies.conversation import Question
from evidencebench.systems.strategies.excerpt import Excerpt, excerpt_of, prompt_line
from evidencebench.systems.strategies.forms import form_text, schema_of, well_formed
from evidencebench.systems.strategies.prompts import prompt_named
from evidencebench.systems.strategies.windows import MIN_WINDOW_TOKENS, windows_of

SHARED_PROMPTS = ("task", "reading", "wanted_all", "wanted_results", "repair", "repair_empty")
"""The names of the prompts that are parts of every question."""

_FEWEST_SHOWN = 5
_FOLLOW_UP_TOKENS = 256  # kept free for the words of a second turn


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperQuestion:
    """A question without its sentences: the prompt's name, the query, the scope, and the prompt's further fields."""

    prompt: str
    query: Query
    scope: AspectScope
    fields: Mapping[str, str]

    def text(self, excerpt: Excerpt) -> str:
        """Return the question with these sentences."""
        return prompt_named(self.prompt).render(
            task=prompt_named("task").render(),
            reading=prompt_named("reading").render(hypothesis=prompt_line(self.query.hypothesis), paper=excerpt.block),
            wanted=prompt_named(f"wanted_{self.scope}").render(),
            **self.fields,
        )

    def question(self, kind: str, excerpt: Excerpt, chat: ChatModel, budget: int | None = None) -> Question:
        """Return the question with these sentences, for a reply in the form ``kind`` (see `form_name`)."""
        shown, n_sentences, structured = excerpt.shown, len(self.query.sentences), chat.structured

        def read(reply: ChatReply) -> Reading:
            if kind == "answer":
                return read_selection(reply, shown, budget=budget, n_sentences=n_sentences)
            return (read_order if kind == "order" else read_scores)(reply, shown, n_sentences=n_sentences)

        return Question(
            text=self.text(excerpt),
            stand_in=well_formed(kind, list(shown)[:budget], structured=structured),
            schema=schema_of(kind),
            read=read,
            form=form_text(kind, structured=structured, n_sentences=n_sentences, budget=budget, with_reasoning=False),
            selects=kind == "answer",
            budget=budget,
        )

    def room(self, chat: ChatModel) -> int:
        """Return how many tokens the sentences may have, as estimated, beside the words, a reply and a second turn."""
        words = estimated_tokens(self.text(Excerpt(shown={})))
        return chat.context_tokens - chat.max_tokens - words - _FOLLOW_UP_TOKENS

    def fitted(self, indices: Sequence[int], chat: ChatModel) -> Excerpt:
        """Return the first of some sentences, as many as fit into the model's window."""
        excerpt = excerpt_of(self.query, indices, self.room(chat))
        if len(excerpt.shown) < min(_FEWEST_SHOWN, len(indices)):
            raise _window_error(chat)
        return excerpt

    def windows(self, chat: ChatModel, *, max_tokens: int, min_tokens: int, overlap: int) -> tuple[Excerpt, ...]:
        """Return the paper in parts by `windows_of`, each of which fits into the question and the model's window."""
        max_tokens = min(max_tokens, self.room(chat))
        if max_tokens < MIN_WINDOW_TOKENS:
            raise _window_error(chat)
        return windows_of(self.query, max_tokens=max_tokens, min_tokens=min_tokens, overlap=overlap)


def _window_error(chat: ChatModel) -> ReplyError:
    """Return the error for a model's window into which no sentences fit."""
    return ReplyError(
        f"context_tokens: {chat.context_tokens}, of which {chat.max_tokens} are kept for the reply, leave no room for "
        "the paper; raise context_tokens to what the model reads, or lower max_tokens"
    )
