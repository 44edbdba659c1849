"""Terms of sentences, cut once; topic words."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(r"[^\W_]+")

# English words that carry no topic, such as articles and prepositions: the list of Lucene's English analyser.
_STOPWORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOPWORDS = frozenset(_STOPWORDS.split())


def tokens(text: str, *, stopwords: bool = True) -> list[str]:
    """Return the lower-case words and numbers of a text; with ``stopwords``, those in `STOPWORDS` are left out."""
    terms = _TOKEN.findall(text.lower())
    return [term for term in terms if term not in STOPWORDS] if stopwords else terms


# British spellings and the American ones, in this order; what is folded by mistake is folded everywhere.
_SPELLINGS = (
    ("ae", "e"),
    ("oe", "e"),
    ("sulph", "sulf"),
    ("our", "or"),
    ("yse", "yze"),
    ("ise", "ize"),
    ("isa", "iza"),
    ("isi", "izi"),
    ("ll", "l"),
)
_ENDINGS = (("tre", "ter"), ("bre", "ber"), ("ogue", "og"), ("amme", "am"))
_LEAST_FOLDED = 5  # letters: "four" stays


def folded(word: str) -> str:
    """Return a small word so that its British and its American spelling are the same.

    >>> folded("haemoglobin"), folded("tumours"), folded("randomised"), folded("litre")
    ('hemoglobin', 'tumors', 'randomized', 'liter')
    """
    if len(word) < _LEAST_FOLDED:
        return word
    for british, american in _SPELLINGS:
        word = word.replace(british, american)
    plural = "s" if word.endswith("s") else ""
    stem = word.removesuffix("s")
    for british, american in _ENDINGS:
        if stem.endswith(british):
            return stem.removesuffix(british) + american + plural
    return word


def in_spelling_of(text: str, sentences: tuple[str, ...]) -> str:
    """Return a text whose words are spelled as sentences spell them, where those have only the other spelling.

    >>> in_spelling_of("Does iron raise hemoglobin?", ("Haemoglobin rose.",))
    'Does iron raise haemoglobin?'
    """
    spellings = _spellings(sentences)

    def spelled(match: re.Match[str]) -> str:
        word = match[0].lower()
        said = spellings.get(folded(word), {word})
        return match[0] if word in said else min(said)

    return _TOKEN.sub(spelled, text)


@lru_cache(maxsize=4)
def _spellings(sentences: tuple[str, ...]) -> dict[str, set[str]]:
    """Return the words of sentences by what they are folded to."""
    spellings: defaultdict[str, set[str]] = defaultdict(set)
    for word in words_of(sentences).words:
        spellings[folded(word)].add(word)
    return spellings


def all_tokens(text: str) -> list[str]:
    return tokens(text, stopwords=False)


Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Terms(NamedTuple):
    """Each term of each sentence once: three arrays, sentence by sentence, a sentence's terms by their first place."""

    sentences: Indices
    numbers: Indices  # of the word, in `SentenceWords.words`
    counts: Indices  # how often the sentence holds it


class SentenceWords:
    """All words of a paper's sentences, or whatever ``cut`` makes of a sentence, as numbers.

    ``words`` are the different words, in the order in which the paper first holds them; ``numbers`` are the places in
    it of all words of the paper, one after the other; ``sentences`` says in which sentence each stands.
    """

    def __init__(self, sentences: tuple[str, ...], cut: Callable[[str], Sequence[str]] = all_tokens) -> None:
        self.n: int = len(sentences)
        number_of: defaultdict[str, int] = defaultdict()
        number_of.default_factory = number_of.__len__  # a new word gets the next number
        numbers: list[int] = []
        lengths: list[int] = []
        for sentence in sentences:
            words = cut(sentence)
            numbers += [number_of[word] for word in words]
            lengths.append(len(words))
        self.words: tuple[str, ...] = tuple(number_of)
        self.numbers: Indices = np.array(numbers, np.intp)
        self.sentences: Indices = np.repeat(np.arange(self.n), lengths)
        self._number_of = dict(number_of)
        self._is_stopword = np.array([word in STOPWORDS for word in self.words], bool)

    def places(self, words: Iterable[str]) -> list[int]:
        return [self._number_of[word] for word in words if word in self._number_of]

    def kept(self, *, stopwords: bool) -> tuple[Indices, Indices]:
        """Return `numbers` and `sentences`; with ``stopwords``, without those of the words in `STOPWORDS`."""
        is_kept = ~self._is_stopword[self.numbers] if stopwords else slice(None)
        return self.numbers[is_kept], self.sentences[is_kept]

    def where(self, words: Iterable[str]) -> Flags:
        flags = np.zeros(len(self.words), bool)
        flags[self.places(words)] = True
        return flags

    @cached_property
    def weighted(self) -> "WeightedTerms":
        return WeightedTerms(self, stopwords=True)


class WeightedTerms:
    """The terms of a paper's sentences, weighted by TF-IDF: the count times ln((1 + n) / (1 + sentences with it)) + 1.

    Numbers are added in the order in which a sentence first holds its terms, so that they are the same to the last bit
    however the terms were counted.
    """

    def __init__(self, of_paper: SentenceWords, *, stopwords: bool) -> None:
        numbers, sentences = of_paper.kept(stopwords=stopwords)
        n_words = max(1, len(of_paper.words))
        keys, firsts, counts = np.unique(sentences * n_words + numbers, return_index=True, return_counts=True)
        order = np.argsort(firsts)
        self.terms: Terms = Terms(keys[order] // n_words, keys[order] % n_words, counts[order])
        self.n_holding: Indices = np.bincount(self.terms.numbers, minlength=len(of_paper.words))
        idf_of: Floats = np.zeros(of_paper.n + 1)
        for n in np.unique(self.n_holding).tolist():
            idf_of[n] = math.log((1 + of_paper.n) / (1 + n)) + 1
        self.idf: Floats = idf_of[self.n_holding]
        self.weights: Floats = self.terms.counts * self.idf[self.terms.numbers]
        ends = np.cumsum(np.bincount(self.terms.sentences, minlength=of_paper.n)).tolist()
        weights = self.weights.tolist()
        self.norms: Floats = np.array(
            [math.hypot(*weights[start:end]) for start, end in zip([0, *ends], ends, strict=False)], dtype=float
        )


@lru_cache(maxsize=2)  # a system is asked about the same paper for several tasks, and so are the systems of a fusion
def words_of(sentences: tuple[str, ...]) -> SentenceWords:
    return SentenceWords(sentences)
