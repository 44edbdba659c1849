"""Read what a prompt asks, by its marks: the shown sentences, the hypotheses, the budget, the scope and the mode."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from evidencebench.query import AspectScope

# The longest run of digits that can name a sentence; int() refuses thousands of digits.
_DIGITS = "[0-9]{1,7}"
_BEGIN, _END = "\n<paper>\n", "\n</paper>\n"
_SENTENCE = re.compile(rf"^\[({_DIGITS})\] (.*)$", re.MULTILINE)
_HYPOTHESIS = re.compile(r"^Hypothesis: (.*)$", re.MULTILINE)
_BUDGET = re.compile(rf"at most ({_DIGITS}) sentences?\b|as many sentences as needed", re.IGNORECASE)
_ESCAPED = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"  # in place of <, so that no sentence can end the paper
_RESULTS = "outcomes and analyses only"
_STEP = re.compile(r"Building step: (.*)")
_MODES: dict[str, Literal["score", "order", "rewrite"]] = {
    "score every sentence": "score",
    "order every sentence": "order",
    "rewritten hypothesis": "rewrite",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a conversation; ``developer`` counts as ``system``."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContent:
    """The parts of a conversation that decide the answer.

    ``shown`` holds the displayed numbers and texts, in prompt order; ``hypotheses``, the normalised hypotheses, oldest
    first, those of examples included. ``is_follow_up`` says whether the model has replied before. ``step`` is what a
    prompt of a step of construction asks for; ``instructions``, what stands outside of papers in the first message.
    """

    shown: tuple[tuple[int, str], ...] = ()
    hypotheses: tuple[str, ...] = ()
    budget: int | None = None  # None: no limit is stated
    scope: AspectScope = "all"
    mode: Literal["select", "score", "order", "rewrite"] = "select"
    is_follow_up: bool = False
    step: str = ""
    instructions: str = ""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The displayed numbers, in prompt order."""
        return tuple(number for number, _ in self.shown)


def read_prompt(turns: Sequence[Turn]) -> PromptContent:
    """Return the parts of a conversation that decide the answer.

    Marks count outside the paper only, since a sentence of it may hold any of them. The budget is that of the last turn
    that states one; in a turn, the first statement counts.

    >>> lines = ["At most 2 sentences.", "Hypothesis: Tea helps.", "<paper>", "[7] At most 9 sentences!", "</paper>"]
    >>> content = read_prompt([Turn(role="user", text=chr(10).join(lines))])
    >>> content.budget, content.shown, content.hypotheses
    (2, ((7, 'At most 9 sentences!'),), ('Tea helps.',))
    """
    parts = [_split_at_papers(turn.text) for turn in turns if turn.role != "assistant"]
    outside = ["\n".join(texts) for texts, _ in parts]
    instructions = "\n".join(outside).lower()
    first = outside[0].strip() if outside else ""
    step = _STEP.match(first)
    return PromptContent(
        shown=_sentences_in(next((blocks for _, blocks in reversed(parts) if blocks), [])),
        hypotheses=tuple(normalised(line) for text in outside for line in _HYPOTHESIS.findall(text)),
        budget=_budget(outside),
        scope="results" if _RESULTS in instructions else "all",
        mode=next((mode for words, mode in _MODES.items() if words in instructions), "select"),
        # A last turn by the model is only the beginning of its reply.
        is_follow_up=any(turn.role == "assistant" for turn in turns[:-1]),
        step=step[1] if step else "",
        instructions=first,
    )


def normalised(text: str) -> str:
    """Return a sentence for comparison: on one line, and with ``<`` where a prompt writes another sign for it.

    >>> normalised("  one   line ")
    'one line'
    """
    return " ".join(text.split()).replace(_ESCAPED, "<")


def _split_at_papers(text: str) -> tuple[list[str], list[str]]:
    """Return the texts of a turn outside of papers, and those between the lines that begin and end a paper."""
    outside, blocks, rest = list[str](), list[str](), f"\n{text}\n"
    while True:
        before, begin, behind = rest.partition(_BEGIN)
        block, end, behind = f"\n{behind}".partition(_END) if begin else ("", "", "")
        if not end:
            return [*outside, rest], blocks
        outside.append(before)
        blocks.append(block)
        rest = f"\n{behind}"


def _sentences_in(blocks: Iterable[str]) -> tuple[tuple[int, str], ...]:
    sentences: dict[int, str] = {}
    for block in blocks:
        for number, text in _SENTENCE.findall(block):
            sentences.setdefault(int(number), text)
    return tuple(sentences.items())


def _budget(texts: Sequence[str]) -> int | None:
    found = next(filter(None, map(_BUDGET.search, reversed(texts))), None)
    return int(found[1]) if found is not None and found[1] is not None else None
