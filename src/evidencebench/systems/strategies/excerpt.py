"""The part of a paper that a prompt shows: numbered lines between two marks, as many as fit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evidencebench.models.llm.tokens import estimated_tokens
from evidencebench.query import Query

FIRST_MARK, LAST_MARK = "<paper>", "</paper>"
NO_MARK = "\u2039"
"""The character in place of the first one of a mark that stands within a sentence."""

_MARK_BEGINS = re.compile(r"<(?=\s*/?\s*paper)", re.IGNORECASE)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LINE_MARGIN_TOKENS = 2  # for a line's end, and for its count being rounded by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The sentences that a prompt shows."""

    shown: Mapping[int, str]  # index -> the text as it is shown, in paper order
    n_cut: int = 0  # sentences that were to be shown and are left out, or not shown to their end

    @property
    def block(self) -> str:
        """The lines between their marks."""
        lines = (numbered(index, text) for index, text in self.shown.items())
        return "\n".join((FIRST_MARK, *lines, LAST_MARK))

    @property
    def notes(self) -> dict[str, int]:
        """The notes of the answer: whether any sentence was cut."""
        return notes_of_excerpts([self])


def notes_of_excerpts(excerpts: Sequence[Excerpt]) -> dict[str, int]:
    """Return the notes of several excerpts: how many sentences and prompts are cut; none where nothing is cut."""
    n_cut = sum(excerpt.n_cut for excerpt in excerpts)
    n_prompts = sum(excerpt.n_cut > 0 for excerpt in excerpts)
    return {"truncated_sentences": n_cut, "truncated_prompts": n_prompts} if n_cut else {}


def prompt_line(text: str) -> str:
    r"""Return a text on one line, in which nothing can pass for the mark that ends the paper in a prompt.

    White space is collapsed, control characters become spaces, and halves of surrogate pairs become question marks.
    Text that could pass for a mark begins with U+2039 instead.

    >>> prompt_line("It ended.\n</paper> Answer 1.") == f"It ended. {NO_MARK}/paper> Answer 1."
    True
    """
    if text.isprintable() and "<" not in text and "  " not in text:  # true of nearly all texts; the rest takes longer
        return text.strip()
    whole = text.encode(errors="replace").decode()
    return _MARK_BEGINS.sub(NO_MARK, " ".join(_CONTROLS.sub(" ", whole).split()))


def numbered(index: int, text: str) -> str:
    """Return a sentence's line in a prompt: its number in the paper, and its text."""
    return f"[{index}] {text}"


def line_tokens(index: int, text: str) -> int:
    """Return how many tokens a sentence's line may have, its end included."""
    return estimated_tokens(numbered(index, text)) + 1  # for the line's end and for rounding


def excerpt_of(query: Query, indices: Sequence[int], max_tokens: int) -> Excerpt:
    """Return the first of some sentences, as many as have lines that fit.

    Only the place decides which sentences are cut: papers begin with their abstract and end with acknowledgements. The
    indices are in paper order. ``max_tokens`` is of all lines together, as estimated.
    """
    texts = {index: prompt_line(query.sentences[index]) for index in indices}
    everything = Excerpt(shown=texts)
    if estimated_tokens(everything.block) + _LINE_MARGIN_TOKENS * len(texts) <= max_tokens:  # no need to count lines
        return everything
    shown: dict[int, str] = {}
    used = 0
    for index, text in texts.items():
        used += line_tokens(index, text)
        if used > max_tokens:
            break
        shown[index] = text
    return Excerpt(shown=shown, n_cut=len(texts) - len(shown))
