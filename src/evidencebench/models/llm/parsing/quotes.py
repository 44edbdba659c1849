"""Sentences of a paper found again in a reply, whatever became of their case, blanks, quotation marks and dashes."""

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache

from evidencebench.models.llm.parsing.text import comparable, plain_text

MIN_CONTAINED = 30
"""A part of a sentence names it from this many characters on, blanks not counted, if no other sentence holds it."""

_MAX_LOOK_UPS = 2000  # of parts, each of which reads the whole paper
_HAS_LETTERS = re.compile(r"[^\W\d_]{2}")
_HAS_DIGIT = re.compile("[0-9]")
_NUMBERED = re.compile(r"[\s\"'`>*-]{0,9}\[\s?[0-9]{1,9}\s?\]")


@lru_cache(maxsize=4096)  # a paper is read again with each of its replies
def _comparable_sentence(sentence: str) -> str:
    return comparable(sentence)


@lru_cache(maxsize=4096)
def _lowered_sentence(sentence: str) -> str:
    return plain_text(sentence).casefold()


class ShownSentences:
    """The sentences that a prompt showed, by their index in the paper, and where their texts stand in a reply.

    What it takes to compare texts is computed when it is first needed, since most replies hold numbers alone.
    """

    def __init__(self, texts: Mapping[int, str]) -> None:
        self.texts = texts
        self._n_look_ups = 0

    @cached_property
    def _by_text(self) -> dict[str, int]:
        """Comparable text -> the first index that has it."""
        found: dict[str, int] = {}
        for index in sorted(self.texts):
            found.setdefault(_comparable_sentence(self.texts[index]), index)
        return found

    @cached_property
    def _joined(self) -> str:
        """All comparable texts, each once."""
        return "\n".join(self._by_text)

    @cached_property
    def _lowered(self) -> str:
        # Nearly all are of plain letters, which is told fast.
        return "\n".join(
            text.casefold() if text.isascii() and text.isprintable() else _lowered_sentence(text)
            for text in self.texts.values()
        )

    def index_of(self, quoted: str) -> int | None:
        """Return the first sentence of this text; None where there is none, or it has no word."""
        return self._by_text.get(comparable(quoted)) if _HAS_LETTERS.search(quoted) else None

    def index_of_part(self, quoted: str) -> int | None:
        """Return the first sentence of this text, else the only one that holds it; None where there is none.

        A part that is cut short by ``...`` counts as the part before it.
        """
        index = self.index_of(quoted)
        if index is not None:
            return index
        part = comparable(quoted.split("...", 1)[0])
        if len(part) < MIN_CONTAINED or not self._may_look_up():
            return None
        at = self._joined.find(part)
        if at < 0 or "\n" in part or self._joined.find(part, at + len(part)) >= 0:
            return None
        return list(self._by_text.values())[self._joined.count("\n", 0, at)]

    def indices_in(self, quoted: str) -> list[int]:
        """Return the sentence that `index_of_part` finds, else the long ones that the text holds, in its order."""
        index = self.index_of_part(quoted)
        if index is not None:
            return [index]
        whole = comparable(quoted)
        if len(whole) < MIN_CONTAINED or not self._may_look_up():
            return []
        places = [(whole.find(text), index) for text, index in self._by_text.items() if len(text) >= MIN_CONTAINED]
        return [index for at, index in sorted(places) if at >= 0]

    def indices_making(self, line: str) -> list[int]:
        """Return the sentence that `index_of_part` finds, else those that a line is made of, nine tenths at least."""
        index = self.index_of_part(line)
        if index is not None:
            return [index]
        indices = self.indices_in(line)
        length = sum(len(_comparable_sentence(self.texts[index])) for index in indices)
        return indices if length >= 0.9 * len(comparable(line)) else []

    def _may_look_up(self) -> bool:
        self._n_look_ups += 1
        return self._n_look_ups <= _MAX_LOOK_UPS

    def begins(self, index: int, text: str) -> bool:
        """Whether a text is the beginning of a sentence, or begins with it: 12 characters, or all of it."""
        if index not in self.texts:
            return False
        own, other = _comparable_sentence(self.texts[index]), comparable(text)
        shorter = min(len(own), len(other))
        return bool(other) and shorter > 0 and own[:shorter] == other[:shorter] and (shorter >= 12 or own == other)  # noqa: PLR2004 - as said above

    def may_hold(self, words: str) -> bool:
        """Whether a sentence holds these words: a quick look, before `hold` is asked."""
        return words.casefold() in self._lowered

    def hold(self, line: str, words: str, said: str) -> bool:
        """Whether a line of a reply, or what it says, stands in a sentence.

        Parameters
        ----------
        line
            A line of the reply.
        words
            The words in it that would make it an answer, such as ``ANSWER``.
        said
            The answer, from these words on.
        """
        if not self.may_hold(words):
            return False
        numbered = _NUMBERED.match(line)
        own = comparable(line[numbered.end() :] if numbered else line)
        if comparable(said) in self._joined or (_HAS_DIGIT.search(own) and own in self._joined):
            return True
        holding = comparable(words)
        return any(holding in text and text in own for text in self._by_text if _HAS_DIGIT.search(text))
