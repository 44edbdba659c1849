"""Parts of a hypothesis, how sentences speak of them."""

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np

from evidencebench.files.disk import packaged_table
from evidencebench.query import Kind, Query
from evidencebench.systems.question import ParsedQuestion
from evidencebench.systems.words import STOPWORDS, Floats, Indices, folded, tokens

_WORDS = packaged_table(__file__)
NOT_OF_TOPIC = frozenset(_WORDS["of_effects"].split())
_ROOT_LETTERS, _LEAST_PLURAL = 6, 4
_HYPHENATED = re.compile(r"(?<![^\W_])[^\W_]+(?:[-\u2010\u2011\u2013][^\W_]+)+")
_ABBREVIATION = re.compile(r"\(\s?([A-Za-z][A-Za-z0-9-]{1,9})\s?[);,]")
_LONGEST_ABBREVIATED = 8


@lru_cache(maxsize=1 << 16)
def root(word: str) -> str:
    """Return the beginning that a word shares with its inflections, such as "infect" for "infections".

    >>> [root(word) for word in ("infections", "rates", "studies", "pain")]
    ['infect', 'rate', 'study', 'pain']
    """
    word = folded(word)
    if len(word) >= _LEAST_PLURAL and not word.endswith(("ss", "us", "is")):
        word = f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")
    return word[:_ROOT_LETTERS]


def roots(text: str) -> list[str]:
    """Return the roots of a text's words, in order; a hyphenated word is there in parts, then as one."""
    hyphenated = (re.sub(r"\W", "", word.lower()) for word in _HYPHENATED.findall(text))
    return [root(word) for word in (*tokens(text), *hyphenated)]


def topic_roots(text: str) -> tuple[str, ...]:
    """Return the roots of a text's words without those that say what changes how, each once."""
    words = [word for word in tokens(text) if word not in NOT_OF_TOPIC]
    return tuple(dict.fromkeys(root(word) for word in words or tokens(text)))


def abbreviations(sentences: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return each abbreviation that a paper explains, as "deep venous thrombosis (DVT)" -> the words of its full name.

    The abbreviation's letters begin the words before the bracket, or stand in them in this order.
    """
    full_names: dict[str, tuple[str, ...]] = {}
    for sentence in sentences:
        for match in _ABBREVIATION.finditer(sentence) if "(" in sentence else ():
            short = match[1].lower().replace("-", "")
            if short in full_names or not any(letter.isupper() for letter in match[1]):
                continue
            before = tokens(sentence[max(0, match.start() - 120) : match.start()], stopwords=False)
            if full := _full_name(short, before[-_LONGEST_ABBREVIATED:]):
                full_names[short] = full
    return full_names


def _full_name(short: str, before: Sequence[str]) -> tuple[str, ...]:
    """Return the words before a bracket that the abbreviation stands for; none if its letters are not in them."""
    forms = {short, short.removesuffix("s")}
    for size in range(1, len(before) + 1):
        words = before[-size:]
        if words[0][0] != short[0] or words[0] in STOPWORDS:
            continue
        initials = "".join(word[0] for word in words)
        content = "".join(word[0] for word in words if word not in STOPWORDS)
        letters = iter("".join(words))
        if forms & {initials, content} or (size <= len(short) and all(letter in letters for letter in short)):
            return tuple(words)
    return ()


Part = Literal["intervention", "comparator", "outcome", "whole"]

PARTS: tuple[Part, ...] = get_args(Part)

# The words of a topic: the most telling ones of those sentences that speak most of the hypothesis.
_TOPIC_SENTENCES, _TOPIC_WORDS = 40, 100


def windowed(values: Floats, reach: int) -> Floats:
    """Return, for each value, the mean of it and the ``reach`` values on either side, fewer at the ends."""
    n = len(values)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    index = np.arange(n)
    low, high = np.maximum(0, index - reach), np.minimum(n, index + reach + 1)
    means: Floats = (sums[high] - sums[low]) / (high - low)
    return means


class Holding(NamedTuple):
    """The sentences that hold a root, in order, how often each does, and 1 plus the logarithm of that."""

    sentences: Indices
    counts: Floats
    damped: Floats


class RootIndex:
    """Which sentences hold each root of a paper, and how rare it is."""

    def __init__(self, counts: Sequence[Counter[str]]) -> None:
        self.n: int = len(counts)
        places: defaultdict[str, list[int]] = defaultdict(list)
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for index, count in enumerate(counts):
            for word, n in count.items():
                places[word].append(index)
                numbers[word].append(n)
        self.holding: dict[str, Holding] = {
            word: Holding(np.array(of_word, np.intp), np.array(numbers[word], float), 1 + np.log(numbers[word]))
            for word, of_word in places.items()
        }
        self.idf: dict[str, float] = {
            word: math.log(1 + (self.n - len(of_word) + 0.5) / (len(of_word) + 0.5)) for word, of_word in places.items()
        }

    def sums(self, weights: Mapping[str, float]) -> Floats:
        """Return, for each sentence, the sum of the weights of the roots it holds."""
        sums = np.zeros(self.n)
        for word, weight in weights.items():
            if word in self.holding:
                sums[self.holding[word].sentences] += weight
        return sums

    def dots(self, weights: Mapping[str, float]) -> Floats:
        """Return, for each sentence, the product of the weights and its damped counts."""
        dots = np.zeros(self.n)
        for word, weight in weights.items():
            if word in self.holding:
                sentences, _, damped = self.holding[word]
                dots[sentences] += weight * damped
        return dots

    @cached_property
    def rarities(self) -> Floats:
        """The sum of the rarity of each sentence's different roots."""
        return self.sums(self.idf)

    @cached_property
    def norms(self) -> Floats:
        """The length of each sentence's vector of damped counts times rarity."""
        squares = np.zeros(self.n)
        for word, (sentences, _, damped) in self.holding.items():
            squares[sentences] += (damped * self.idf[word]) ** 2
        return np.sqrt(squares)


class PaperWords:
    def __init__(self, sentences: Sequence[str]) -> None:
        self.roots: list[list[str]] = [roots(sentence) for sentence in sentences]
        self.counts: list[Counter[str]] = [Counter(words) for words in self.roots]
        self.index: RootIndex = RootIndex(self.counts)
        self.full_names: dict[str, tuple[str, ...]] = {
            root(short): tuple(dict.fromkeys(map(root, words))) for short, words in abbreviations(sentences).items()
        }


# Keywords are cut beside none of these, nor before a bracket.
_JOINING = STOPWORDS | frozenset(["after", "before", "between", "during", "from", "on", "per", "vs"])
# Shares of a word's places where the other stands next to it: above the first, two words are never cut apart; below the
# second, a second cut is made too.
_OFTEN, _SELDOM = 0.5, 0.1


def parts_in_paper(text: str, sentences: Iterable[str]) -> tuple[str, str, str]:
    """Cut keywords, such as "tea water blood pressure", where their words are most seldom neighbours in a paper.

    Returns intervention, comparator, which may be empty, and outcome; all of a text without such a place as both.

    >>> parts_in_paper("green tea blood pressure", ["Green tea lowers blood pressure."])
    ('green tea', '', 'blood pressure')
    """
    words = text.split()
    of_words = [[root(token) for token in tokens(word)] for word in words]
    wanted = {stem for stems in of_words for stem in stems}
    n_of: Counter[str] = Counter()
    n_pairs: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        held = [stem if stem in wanted else "" for stem in map(root, tokens(sentence, stopwords=False))]
        n_of.update(held)
        n_pairs.update(pairwise(held))
    bonds: list[tuple[float, float, int]] = []
    for index, (before, behind) in enumerate(pairwise(of_words), 1):
        if before and behind and _JOINING.isdisjoint(words[index - 1 : index + 1]) and words[index][0] not in "([":
            pair = (before[-1], behind[0])
            bond = n_pairs[pair] / (1 + min(n_of[pair[0]], n_of[pair[1]]))
            bonds.append((bond, abs(index - len(words) / 2), index))
    bonds = sorted(bond for bond in bonds if bond[0] <= _OFTEN)
    if not bonds:
        return text, "", text
    is_seldom = [bond <= _SELDOM for bond, _, _ in bonds[:2]] == [True, True]
    cuts = sorted(index for _, _, index in bonds[: 1 + is_seldom])
    parts = [" ".join(words[start:end]) for start, end in pairwise([0, *cuts, len(words)])]
    return parts[0], parts[1] if is_seldom else "", parts[-1]


class Relevance:
    """Columns of one number a sentence; each is computed when it is first read."""

    def __init__(self, query: Query, words: PaperWords, question: ParsedQuestion) -> None:
        self.query = query
        self.n: int = len(query.sentences)
        self.words: list[list[str]] = words.roots
        self._of_paper = words
        parts = (question.intervention, question.comparator, question.outcome)
        texts = (*(parts if question.is_split else parts_in_paper(query.hypothesis, query.sentences)), query.hypothesis)
        self.wanted: dict[Part, tuple[str, ...]] = dict(zip(PARTS, map(topic_roots, texts), strict=True))

    @cached_property
    def counts(self) -> list[Counter[str]]:
        """The counts of the roots; where an abbreviation or its full name stands, the hypothesis's words for it too."""
        asked = set(self.wanted["whole"])
        names = self._of_paper.full_names.items()
        helpful = [(short, full) for short, full in names if short in asked or asked.intersection(full)]
        if not helpful:
            return self._of_paper.counts
        counts = []
        for count in self._of_paper.counts:
            more: Counter[str] = Counter()
            for short, full in helpful:
                if short in count:
                    more.update(word for word in full if word in asked and word not in count)
                elif short in asked and all(word in count for word in full):
                    more[short] += 1
            counts.append(count + more if more else count)
        return counts

    @cached_property
    def index(self) -> RootIndex:
        return self._of_paper.index if self.counts is self._of_paper.counts else RootIndex(self.counts)

    @property
    def idf(self) -> dict[str, float]:
        return self.index.idf

    @cached_property
    def own(self) -> dict[Part, Floats]:
        """Part -> the share of the words that no other part has which each sentence holds, each weighed by rarity."""
        n_parts = Counter(word for part in PARTS[:-1] for word in self.wanted[part])
        return {part: self._shares(word for word in self.wanted[part] if n_parts[word] == 1) for part in PARTS[:-1]}

    @cached_property
    def held(self) -> dict[Part, Floats]:
        """Part -> the share of its words that each sentence holds, each weighed by its rarity."""
        return {part: self._shares(words) for part, words in self.wanted.items()}

    def _shares(self, words: Iterable[str]) -> Floats:
        unseen = math.log(1 + (self.n + 0.5) / 0.5)  # the rarity of a word that the paper lacks
        weights = {word: self.idf.get(word, unseen) for word in words}
        total = sum(weights.values()) or 1.0
        return self.index.sums(weights) / total

    @cached_property
    def rarest(self) -> dict[Part, Floats]:
        """Part -> 1 where the sentence holds the part's rarest word of those that the paper has."""
        flags = {}
        for part, words in self.wanted.items():
            rarest = max((word for word in words if word in self.idf), key=self.idf.__getitem__, default=None)
            flags[part] = self.index.sums({rarest: 1.0}) if rarest else np.zeros(self.n)
        return flags

    @cached_property
    def phrase(self) -> dict[Part, Floats]:
        """Part -> the share of its neighbouring words that stand side by side in the sentence."""
        shares = dict(self.held)  # of parts of a single word
        for part, words in self.wanted.items():
            if pairs := set(pairwise(words)):
                shares[part] = np.array([len(pairs.intersection(pairwise(held))) / len(pairs) for held in self.words])
        return shares

    @cached_property
    def focus(self) -> dict[Part, Floats]:
        """Part -> the share of the sentence's own words, weighed by rarity, that are the part's."""
        totals = np.maximum(self.index.rarities, 1e-9)
        return {part: self.index.sums(self._known(words)) / totals for part, words in self.wanted.items()}

    def _known(self, words: Iterable[str]) -> dict[str, float]:
        """Return the rarity of those words that the paper has."""
        return {word: self.idf[word] for word in words if word in self.idf}

    @cached_property
    def bm25(self) -> dict[Part, Floats]:
        lengths = np.array([len(words) for words in self.words], dtype=float)
        damping = 0.9 * (0.6 + 0.4 * lengths / max(1e-9, lengths.mean() if self.n else 1.0))
        scores_of = {}
        for part, words in self.wanted.items():
            scores = np.zeros(self.n)
            for word, rarity in self._known(words).items():
                sentences, counts, _ = self.index.holding[word]
                scores[sentences] += rarity * counts / (counts + damping[sentences])
            scores_of[part] = scores
        return scores_of

    def under_heading(self, values: Floats) -> Floats:
        """Return the value of the heading above each sentence; 0 without."""
        index = np.where([kind is Kind.HEADING for kind in self.query.kinds], np.arange(self.n), -1)
        last = np.maximum.accumulate(index)
        of_heading: Floats = np.where(last >= 0, values[last], 0.0)
        return of_heading

    @cached_property
    def topic(self) -> Floats:
        """Cosine with the words that stand where the hypothesis's words stand (a relevance model).

        Each root is weighed by the relevance of the sentences that hold it. It tells the hypothesis's paper from
        another one in the same pool.
        """
        relevance = self.bm25["whole"]
        near = windowed(relevance, 2)
        top = np.argsort(-(relevance + near), kind="stable")[:_TOPIC_SENTENCES]
        weights: Counter[str] = Counter()
        for index in top.tolist():
            count = self.counts[index]
            for word, n in count.items():
                weights[word] += (relevance[index] + near[index]) * n / max(1, len(self.words[index]))
        terms = {word: weight * self.idf[word] for word, weight in weights.items()}
        terms = dict(sorted(terms.items(), key=lambda item: (-item[1], item[0]))[:_TOPIC_WORDS])
        weighted = {word: weight * self.idf[word] for word, weight in terms.items()}
        dots, norms = self.index.dots(weighted), self.index.norms
        cosines = np.divide(dots, norms, out=np.zeros(self.n), where=norms > 0)
        shares: Floats = cosines / max(1e-9, cosines.max(initial=0.0))
        return shares


LEAST_BEGINNING = 4
_OF_STUDIES = {root(word) for word in (*NOT_OF_TOPIC, *_WORDS["any_study"].split())}
_COMMON = STOPWORDS | set(_WORDS["of_grammar"].split()) | _OF_STUDIES


def topic_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that say what it is about, each once, in order; no numbers, nor "5mg"."""
    words = (word for word in tokens(text) if len(word) > 1 and not word[0].isdigit())
    return tuple(dict.fromkeys(word for word in words if word not in _COMMON and root(word) not in _COMMON))


def unmentioned_words(hypothesis: str, sentences: Iterable[str]) -> tuple[str, ...]:
    """Return the topic words of a hypothesis that no sentence holds in any form."""
    seen = _vocabulary(tuple(sentences))
    return tuple(word for word in topic_words(hypothesis) if not has_form(seen, root(word)))


@lru_cache(maxsize=2)  # many hypotheses are asked of one paper
def _vocabulary(sentences: tuple[str, ...]) -> list[str]:
    return sorted({stem for sentence in sentences for stem in roots(sentence)})


def has_form(vocabulary: Sequence[str], stem: str) -> bool:
    return next(forms_in(vocabulary, stem), None) is not None


def forms_in(vocabulary: Sequence[str], stem: str) -> Iterator[str]:
    """Yield what a sorted vocabulary has of the root of a word, the roots that begin it, and those that it begins."""
    if len(stem) >= LEAST_BEGINNING:
        yield from beginning_with(vocabulary, stem)
    for start in {stem, *(stem[:end] for end in range(LEAST_BEGINNING, len(stem)))}:
        if next(beginning_with(vocabulary, start), None) == start:
            yield start


def beginning_with(vocabulary: Sequence[str], start: str) -> Iterator[str]:
    for at in range(bisect_left(vocabulary, start), len(vocabulary)):
        if not vocabulary[at].startswith(start):
            break
        yield vocabulary[at]
