"""Sentences of a paper found again in a reply, whatever became of their case, blanks, quotation marks and dashes."""

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache

from evidencebench.models.llm.parsing.text import comparable, plain_text

MIN_CONTAINED = 30
"""A part of a sentence names it from this many characters on, blanks not counted, if no other sentence holds it."""

_MIN_BEGINNING = 12
_MAX_LOOK_UPS = 2000  # of parts, each of which reads the whole paper
_HAS_WORD = re.compile(r"[^\W\d_]{2}")
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
        return self._by_text.get(comparable(quoted)) if _HAS_WORD.search(quoted) else None

    def index_of_part(self, quoted: str) -> int | None:
        """Return the first sentence of this text, else the only one that holds it; None where there is none.

        A part that is cut short by ``...`` counts as the part before it.
        """
        index = self.index_of(quoted)
        if index is not None:
            return index
        part = comparable(quoted.split("...", 1)[0])
        self._n_look_ups += 1
        if len(part) < MIN_CONTAINED or self._n_look_ups > _MAX_LOOK_UPS:
            return None
        at = self._joined.find(part)
        if at < 0 or "\n" in part or self._joined.find(part, at + len(part)) >= 0:
            return None
        return list(self._by_text.values())[self._joined.count("\n", 0, at)]

    def begins(self, index: int, text: str) -> bool:
        """Whether a text is the beginning of a sentence, or begins with it: 12 characters, or all of it."""
        if index not in self.texts:
            return False
        own, other = _comparable_sentence(self.texts[index]), comparable(text)
        shorter = min(len(own), len(other))
        return own[:shorter] == other[:shorter] and (shorter >= _MIN_BEGINNING or (own == other and shorter > 0))

    def hold(self, line: str, words: str, said: str = "") -> bool:
        """Whether a line of a reply stands in a sentence, or holds one, so that it is the paper's and no answer.

        `words` in the line would make it an answer, such as ``ANSWER``; `said` is the answer, from these words on.
        """
        if words.casefold() not in self._lowered:  # which is quick, and true of nearly all replies
            return False
        numbered = _NUMBERED.match(line)
        own, holding = comparable(line[numbered.end() :] if numbered else line), comparable(words)
        if (_HAS_DIGIT.search(own) and own in self._joined) or (said and comparable(said) in self._joined):
            return True
        known = (text for text in self._by_text if holding in text and text in own and _HAS_DIGIT.search(text))
        return any(not own[own.find(text) + len(text) :][:1].isdecimal() for text in known)
