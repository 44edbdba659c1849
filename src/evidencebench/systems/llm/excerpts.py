"""The part of a paper that a prompt shows, the question about it, and the checks of all strategies' options."""

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

from evidencebench.errors import ReplyError, SystemSpecError
from evidencebench.models.llm.chat import ChatModel, ChatReply, estimated_tokens
from evidencebench.models.llm.client import default_client
from evidencebench.models.llm.inspect_models import INSPECT
from evidencebench.models.llm.logprobs import with_logprobs
from evidencebench.models.llm.providers import asks_json, server_of
from evidencebench.models.llm.reading import Reading, read_order, read_scores, read_selection
from evidencebench.provenance import require_extra
from evidencebench.query import AspectScope, Query, sections_of
from evidencebench.system import merged_notes
from evidencebench.systems.llm.asking import Asker, Conversation, Question, converse, error_priority
from evidencebench.systems.llm.prompts import form_text, prompt_named, schema_of, well_formed

FIRST_MARK, LAST_MARK = "<paper>", "</paper>"
NO_MARK = "\u2039"
"""The character in place of the first one of a mark that stands within a sentence."""

_MARK_BEGINS = re.compile(r"<(?=\s*/?\s*paper)", re.IGNORECASE)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    shown: Mapping[int, str]  # index -> the text as it is shown, in paper order
    n_cut: int = 0  # sentences that were to be shown and are left out, or not shown to their end

    @cached_property
    def block(self) -> str:
        lines = (f"[{index}] {text}" for index, text in self.shown.items())
        return "\n".join((FIRST_MARK, *lines, LAST_MARK))


def cut_notes(*excerpts: Excerpt) -> dict[str, int]:
    n_cut = sum(excerpt.n_cut for excerpt in excerpts)
    n_prompts = sum(excerpt.n_cut > 0 for excerpt in excerpts)
    return {"truncated_sentences": n_cut, "truncated_prompts": n_prompts} if n_cut else {}


def prompt_line(text: str) -> str:
    r"""Return a text on one line, in which nothing can pass for the mark that ends the paper in a prompt.

    >>> prompt_line("It ended.\n</paper> Answer 1.") == f"It ended. {NO_MARK}/paper> Answer 1."
    True
    """
    if text.isprintable() and "<" not in text and "  " not in text:  # true of nearly all texts; the rest takes longer
        return text.strip()
    whole = text.encode(errors="replace").decode()
    return _MARK_BEGINS.sub(NO_MARK, " ".join(_CONTROLS.sub(" ", whole).split()))


def line_tokens(index: int, text: str) -> int:
    """Return how many tokens a sentence's line may have, its end included."""
    return estimated_tokens(f"[{index}] {text}") + 1  # for the line's end and for rounding


def excerpt_of(query: Query, indices: Sequence[int], max_tokens: int) -> Excerpt:
    """Return the first sentences, as many as have lines that fit: papers end with acknowledgements."""
    texts = {index: prompt_line(query.sentences[index]) for index in indices}
    whole = Excerpt(shown=texts)
    # Nearly all papers fit. Line by line takes five times as long, and rounds each up by 1.5 tokens at most.
    if estimated_tokens(whole.block) + 1.5 * len(texts) <= max_tokens:
        return whole
    used = accumulate(line_tokens(index, text) for index, text in texts.items())
    shown = {index: text for (index, text), n_used in zip(texts.items(), used, strict=True) if n_used <= max_tokens}
    return Excerpt(shown=shown, n_cut=len(texts) - len(shown))


Sentences = tuple[int, ...]

MIN_WINDOW_TOKENS = 64
"""The smallest window that is worth a question, in estimated tokens of the lines."""


def windows_of(query: Query, *, max_tokens: int, min_tokens: int = 0, overlap: int = 0) -> tuple[Excerpt, ...]:
    """Cut a paper into windows of at most ``max_tokens``, by its sections; every sentence is in at least one.

    A section of fewer than ``min_tokens`` is joined to the next one, the last to the one before it. A longer one is cut
    into windows of like length that share up to ``overlap`` sentences, fewer where they would fill half a window. A
    sentence that is longer than a window is cut. Raises `ValueError` where windows are too short for any sentence.
    """
    if max_tokens < MIN_WINDOW_TOKENS:
        raise ValueError(f"max_tokens: expected at least {MIN_WINDOW_TOKENS}, got {max_tokens}")
    texts = [prompt_line(text) for text in query.sentences]
    sizes = [line_tokens(index, text) for index, text in enumerate(texts)]
    sections: list[Sentences] = []
    for section in sections_of(query.kinds):
        indices = tuple(range(section.start, section.stop))
        if sections and _size(sections[-1], sizes) < min_tokens:
            sections[-1] += indices
        else:
            sections.append(indices)
    if len(sections) > 1 and _size(sections[-1], sizes) < min_tokens:
        last = sections.pop()
        sections[-1] += last
    windows = [window for section in sections for window in _cut_section(section, sizes, max_tokens, overlap)]
    return tuple(_window_excerpt(window, texts, sizes, max_tokens) for window in windows)


def _size(section: Sentences, sizes: Sequence[int]) -> int:
    return sum(sizes[index] for index in section)


def _cut_section(section: Sentences, sizes: Sequence[int], max_tokens: int, overlap: int) -> list[Sentences]:
    """Return windows of like length over a section; each but the first begins with the last sentences before it."""
    size = _size(section, sizes)
    enough = size / math.ceil(size / max_tokens)
    windows: list[Sentences] = []
    window: Sentences = ()
    n_new_tokens = 0
    for index in section:
        if window and (n_new_tokens >= enough or _size((*window, index), sizes) > max_tokens):
            windows.append(window)
            room = min(max_tokens // 2, max_tokens - sizes[index])
            n_shared = 0  # never the whole window, so that windows move on
            while n_shared < min(overlap, len(window) - 1) and _size(window[-n_shared - 1 :], sizes) <= room:
                n_shared += 1
            window = window[len(window) - n_shared :]
            n_new_tokens = 0
        window += (index,)
        n_new_tokens += sizes[index]
    return [*windows, window]


def _window_excerpt(window: Sentences, texts: Sequence[str], sizes: Sequence[int], max_tokens: int) -> Excerpt:
    if _size(window, sizes) <= max_tokens:
        return Excerpt(shown={index: texts[index] for index in window})
    (index,) = window  # only a sentence alone can be longer than a window
    text = texts[index]
    n_fit = bisect_left(range(1, len(text) + 1), x=True, key=lambda end: line_tokens(index, text[:end]) > max_tokens)
    return Excerpt(shown={index: text[:n_fit]}, n_cut=1)


SHARED_PROMPTS = ("task", "reading", "wanted_all", "wanted_results", "repair", "repair_empty")

_FEWEST_SHOWN = 5
_FOLLOW_UP_TOKENS = 256  # kept free for the words of a second turn


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperQuestion:
    prompt: str
    query: Query
    scope: AspectScope
    fields: Mapping[str, str]

    def text(self, excerpt: Excerpt) -> str:
        return prompt_named(self.prompt).render(
            task=prompt_named("task").render(),
            reading=prompt_named("reading").render(hypothesis=prompt_line(self.query.hypothesis), paper=excerpt.block),
            wanted=prompt_named(f"wanted_{self.scope}").render(),
            **self.fields,
        )

    def question(self, kind: str, excerpt: Excerpt, chat: ChatModel, budget: int | None = None) -> Question:
        """Return the question with these sentences, for a reply in the form ``kind`` (see `form_name`)."""
        shown, n_sentences, structured = excerpt.shown, len(self.query.sentences), asks_json(chat)

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
        excerpt = excerpt_of(self.query, indices, self.room(chat))
        if len(excerpt.shown) < min(_FEWEST_SHOWN, len(indices)):
            raise _window_error(chat)
        return excerpt


def _window_error(chat: ChatModel) -> ReplyError:
    return ReplyError(
        f"context_tokens: {chat.context_tokens}, of which {chat.max_tokens} are kept for the reply, leave no room for "
        "the paper; raise context_tokens to what the model reads, or lower max_tokens"
    )


_BOUNDS: Mapping[str, tuple[int, float]] = {
    "repairs": (0, 3),
    "section_tokens": (MIN_WINDOW_TOKENS, math.inf),
    "min_section_tokens": (0, math.inf),
    "overlap": (0, math.inf),
    "top": (1, math.inf),
    "neighbours": (0, math.inf),
    "n": (1, math.inf),
}


def check_options(name: str, system: Any, prompt: str) -> None:
    chat: ChatModel = system.chat
    provider, _, model = chat.model.partition("/")
    if not (provider.strip() and model.strip()):
        raise SystemSpecError(f"{name}: model: expected provider/name, such as openai/NAME, got '{chat.model}'")
    try:
        if provider == INSPECT:
            require_extra(f"{name}: models of inspect_ai", "inspect", "inspect_ai")
        else:
            server_of(chat)  # asked once now, rather than failing for every instance
        chat.extra_fields()
    except SystemSpecError as error:
        raise SystemSpecError(f"{name}: {error}") from error
    if chat.temperature is not None:
        require_within(name, "temperature", chat.temperature, 0)
    if chat.top_p is not None and not 0 < chat.top_p <= 1:
        raise SystemSpecError(f"{name}: top_p: expected a number above 0 and up to 1, got {chat.top_p}")
    require_within(name, "max_tokens", chat.max_tokens, 1)
    nothing = Query(instance_id="", paper_id="", hypothesis="", sentences=(), kinds=())
    fields = dict.fromkeys(prompt_named(prompt).fields - {"task", "reading", "wanted"}, "")
    room = PaperQuestion(prompt=prompt, query=nothing, scope="all", fields=fields).room(chat)
    if room < MIN_WINDOW_TOKENS:
        raise SystemSpecError(
            f"{name}: context_tokens: expected at least {chat.context_tokens - room + MIN_WINDOW_TOKENS}, so that a "
            f"paper fits beside the question and the {chat.max_tokens} of max_tokens, got {chat.context_tokens}"
        )
    for option, (least, most) in _BOUNDS.items():
        if hasattr(system, option):
            require_within(name, option, getattr(system, option), least, most)


def require_within(system: str, option: str, value: float, least: float, most: float = math.inf) -> None:
    if not least <= value <= most or value == math.inf:
        expected = f"of at least {least}" if most == math.inf else f"in {least}..{most}"
        raise SystemSpecError(f"{system}: {option}: expected a number {expected}, got {value}")


def asker_of(system: Any) -> Asker:
    client, logprobs = default_client() if system.client is None else system.client, getattr(system, "logprobs", False)
    chat = with_logprobs(system.chat) if logprobs else system.chat
    return Asker(client=client, chat=chat, repairs=system.repairs, logprobs=logprobs)


def read_in_sections(
    system: Any, question: PaperQuestion, kind: str, budget: int | None, *, what: str
) -> tuple[list[Reading], dict[str, int]]:
    """Ask a question about each section of a paper at once; return the readings of answers, and the notes of all.

    All conversations end before an error is raised, so that requests are recorded for a batch, and replies are stored.
    """
    chat: ChatModel = system.chat
    max_tokens = min(system.section_tokens, question.room(chat))
    if max_tokens < MIN_WINDOW_TOKENS:
        raise _window_error(chat)
    sections = windows_of(
        question.query, max_tokens=max_tokens, min_tokens=system.min_section_tokens, overlap=system.overlap
    )
    asker = asker_of(system)
    ended = asker.client.together(
        [partial(converse, asker, question.question(kind, section, chat, budget)) for section in sections]
    )
    errors = sorted((end for end in ended if isinstance(end, BaseException)), key=error_priority)
    outcomes = [end for end in ended if not isinstance(end, BaseException)]
    notes = merged_notes(*(end.notes for end in (*outcomes, *errors) if isinstance(end, (Conversation, ReplyError))))
    if errors and isinstance(errors[0], ReplyError):
        raise ReplyError(str(errors[0]), notes=notes) from errors[0]
    if errors:
        raise errors[0]
    notes = merged_notes(notes, cut_notes(*sections))
    readings = [outcome.reading for outcome in outcomes if outcome.reading is not None]
    if len(readings) < len(outcomes):
        notes["unread_sections"] = len(outcomes) - len(readings)
    if not readings:
        raise ReplyError(f"{what}; the first: {outcomes[0].why}", notes=notes)
    return readings, notes
