"""Find a marked text in a paper's sentences, however its white space, marks and citations are written."""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate

_NO_LETTER = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+")

# A text is taken for found where this share of its letters and digits stands in a stretch of the paper, in order, and
# this many words of it stand there in one piece.
SHARE_FOUND = 0.8
_FEWEST_IN_ONE_PIECE = 4
# The stretch may be longer than the text by a quarter and this many words.
_MORE_WORDS = 12
# Longer texts, and those of which too many pairs of words are alike, are found only where they stand letter by letter:
# the time of an alignment grows with these.
_MOST_WORDS = 400
_MOST_PAIRS = 20_000_000

# A sentence of which less is marked than this many letters and digits, and less than half, is not meant: the mark went
# a little too far.
_FEWEST_LETTERS = 8


def letters_of(text: str) -> str:
    r"""Return the letters and digits of a text, case folded; characters such as a superscript 2 are plain ones.

    >>> letters_of("By 3\u202fmm\u00b2 (P < 0.05)")
    'by3mm2p005'
    """
    return _NO_LETTER.sub("", unicodedata.normalize("NFKC", text).casefold())


@dataclass(frozen=True)
class SearchedPaper:
    """Sentences, joined in two ways to be searched: all but white space, and letters and digits alone."""

    sentences: Sequence[str]

    @cached_property
    def _exact(self) -> "_Joined":
        return _joined("".join(sentence.split()) for sentence in self.sentences)

    @cached_property
    def _letters(self) -> "_Joined":
        return _joined(map(letters_of, self.sentences))

    @cached_property
    def _words(self) -> tuple[list[str], list[int]]:
        """The words, and the sentence of each."""
        words, owners = list[str](), list[int]()
        for index, sentence in enumerate(self.sentences):
            sentence_words = _words_of(sentence)
            words += sentence_words
            owners += [index] * len(sentence_words)
        return words, owners

    @cached_property
    def _n_of_word(self) -> Counter[str]:
        return Counter(self._words[0])

    def share_before(self, sentence: int) -> float:
        """Return which share of the paper's letters stands before a sentence, in 0..1."""
        return self._letters.starts[sentence] / max(1, len(self._letters.text))

    def places_of(self, text: str) -> list[tuple[int, ...]]:
        """Return the places where a text stands in the sentences: for each, the sentences that hold it.

        It is looked for letter by letter; where it stands nowhere, by its letters and digits alone; and then by its
        words, some of which may be missing or others between them, as citations are.
        """
        for joined, wanted in ((self._exact, "".join(text.split())), (self._letters, letters_of(text))):
            starts = occurrences(joined.text, wanted)
            if starts:
                return [self.meant(joined.overlaps(start, start + len(wanted))) for start in starts]
        aligned = self._aligned(_words_of(text))
        return [aligned] if aligned else []

    def meant(self, n_marked: dict[int, int]) -> tuple[int, ...]:
        """Return the sentences that are meant, given sentence -> how many of its letters and digits are marked."""
        sizes = {index: len(letters_of(self.sentences[index])) for index in n_marked}
        enough = [index for index, n in n_marked.items() if n >= min(_FEWEST_LETTERS, sizes[index] / 2) and n]
        return tuple(sorted(enough or [max(n_marked, key=lambda index: n_marked[index])]))

    def _aligned(self, wanted: list[str]) -> tuple[int, ...]:
        """Return the sentences of the stretch that has most of the words in order; empty where none has enough."""
        words, owners = self._words
        n_pairs = sum(self._n_of_word[word] for word in wanted)
        if not 0 < len(wanted) <= _MOST_WORDS or n_pairs > _MOST_PAIRS:
            return ()
        matcher = SequenceMatcher(None, words, wanted, autojunk=False)
        longest = matcher.find_longest_match()
        if longest.size < min(_FEWEST_IN_ONE_PIECE, len(wanted)):
            return ()
        slack = len(wanted) // 4 + _MORE_WORDS
        begin = max(0, longest.a - longest.b - slack)
        stretch = words[begin : longest.a - longest.b + len(wanted) + slack]
        matcher.set_seq1(stretch)
        n_marked: Counter[int] = Counter()
        for block in matcher.get_matching_blocks():
            for place in range(block.a, block.a + block.size):
                n_marked[owners[begin + place]] += len(stretch[place])
        if n_marked.total() < SHARE_FOUND * sum(map(len, wanted)):
            return ()
        return self.meant(n_marked)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joined:
    text: str
    starts: tuple[int, ...]  # where each sentence begins, and where the last one ends

    def overlaps(self, start: int, stop: int) -> dict[int, int]:
        """Return sentence -> how many of the characters start..stop-1, which are at least one, are its own letters."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, stop - 1) - 1
        return {
            index: len(letters_of(self.text[max(start, self.starts[index]) : min(stop, self.starts[index + 1])]))
            for index in range(first, last + 1)
        }


def _joined(texts: Iterable[str]) -> _Joined:
    parts = list(texts)
    return _Joined(text="".join(parts), starts=tuple(accumulate(map(len, parts), initial=0)))


def _words_of(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def occurrences(text: str, wanted: str) -> list[int]:
    """Return where a text begins in another, overlaps apart; nowhere if it is empty."""
    starts: list[int] = []
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        starts.append(start)
        start = text.find(wanted, start + len(wanted))
    return starts
