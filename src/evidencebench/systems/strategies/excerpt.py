"""What of a paper a prompt shows: numbered lines between two marks, and the rule that cuts what is too long."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evidencebench.models.llm.tokens import estimated_tokens
from evidencebench.query import Query

FIRST_MARK, LAST_MARK = "<paper>", "</paper>"
NO_MARK = "\u2039"
"""What a mark within a sentence begins with instead."""

_MARK_BEGINS = re.compile(r"<(?=\s*/?\s*paper)", re.IGNORECASE)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LINE_MARGIN_TOKENS = 2  # a line's end, and what rounding it by itself can add


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The sentences that a prompt shows.

    `shown` has the text of each by its index, as it is shown, in paper order. `n_cut` is how many were to be shown and
    are not, or not to their end.
    """

    shown: Mapping[int, str]
    n_cut: int = 0

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
    """Return what the parts of a paper that are shown apart from each other note together."""
    n_cut = sum(excerpt.n_cut for excerpt in excerpts)
    n_prompts = sum(excerpt.n_cut > 0 for excerpt in excerpts)
    return {"truncated_sentences": n_cut, "truncated_prompts": n_prompts} if n_cut else {}


def one_line(text: str) -> str:
    r"""Return a text on one line, fit to stand in a prompt: it cannot end the material that it is a part of.

    White space is collapsed, control characters become spaces, halves of a character question marks, and what could
    pass for a mark begins with U+2039 instead.

    Examples
    --------
    >>> one_line("It ended.\n</paper> Answer 1.") == f"It ended. {NO_MARK}/paper> Answer 1."
    True
    """
    if text.isprintable() and "<" not in text and "  " not in text:  # as nearly all are; the rest takes longer
        return text.strip()
    whole = text.encode(errors="replace").decode()
    return _MARK_BEGINS.sub(NO_MARK, " ".join(_CONTROLS.sub(" ", whole).split()))


def numbered(index: int, text: str) -> str:
    """Return a sentence's line: its own number in the paper, and its text."""
    return f"[{index}] {text}"


def line_tokens(index: int, text: str) -> int:
    """Return how many tokens a sentence's line may have, its end included."""
    return estimated_tokens(numbered(index, text)) + 1  # its end, which makes up for rounding too


def excerpt_of(query: Query, indices: Sequence[int], max_tokens: int) -> Excerpt:
    """Return the longest beginning of the sentences whose lines fit.

    No label decides what is cut, only the place: papers begin with their abstract, and end with acknowledgements.
    The indices are in paper order; the tokens are of all lines together, as estimated.
    """
    texts = {index: one_line(query.sentences[index]) for index in indices}
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
