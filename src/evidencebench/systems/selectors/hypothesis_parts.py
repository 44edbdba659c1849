"""Cut a hypothesis into what is done, what it is compared with, and what it changes; find its words in sentences."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.systems.retrievers.sentence_words import words_of
from evidencebench.systems.retrievers.tokens import STOPWORDS, tokens

# The verb between a cause and its effect.
_VERB = re.compile(
    r"\b(?:(?:is|are|was|were)(?: (?:not|causally|inversely|positively|independently))* associated with|increas\w+"
    r"|decreas\w+|reduc\w+|rais\w+|lower\w*|elevat\w+|caus\w+|induc\w+|affect\w*|alter\w*|impair\w*|improv\w+"
    r"|disrupt\w*|modulat\w+|inhibit\w*|promot\w+|lead\w*|upregulat\w+|enhanc\w+|contribut\w+|prevent\w*|chang\w+)\b",
    re.IGNORECASE,
)

# Words that a hypothesis says of its effect, not of its topic.
_OF_EFFECTS = """
increase increases increased decrease decreases decreased reduce reduces reduced change changes changed higher lower
compared versus vs than group groups effect effects affect affects cause causes induce induces associated via through
more less does do have has can may which who those between during after before per from without
"""
NOT_OF_TOPIC = frozenset(_OF_EFFECTS.split())
_ROOT_LETTERS, _LEAST_PLURAL = 6, 4
_HYPHENATED = re.compile(r"(?<![^\W_])[^\W_]+(?:[-\u2010\u2011\u2013][^\W_]+)+")
_ABBREVIATION = re.compile(r"\(\s?([A-Za-z][A-Za-z0-9-]{1,9})\s?[);,]")
_LONGEST_ABBREVIATED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HypothesisParts:
    """The texts of a hypothesis's parts."""

    intervention: str
    comparator: str  # empty without one
    outcome: str


def parts_of(hypothesis: str) -> HypothesisParts:
    """Return the parts of a hypothesis; one without a known verb is cut in its middle.

    >>> parts_of("Tea, compared with water, changes blood pressure.")
    HypothesisParts(intervention='Tea', comparator='water', outcome='blood pressure')
    """
    text = hypothesis.strip()
    arms, changes, outcome = text.rpartition(", changes ")
    intervention, compared, comparator = arms.partition(", compared with ")
    if changes and compared:  # "Tea, compared with water, changes blood pressure."
        return HypothesisParts(intervention=intervention, comparator=comparator, outcome=outcome.removesuffix("."))
    verb = _VERB.search(text, 1)
    if verb and text[verb.end() :].strip(" ."):
        intervention, outcome = text[: verb.start()].strip(), text[verb.end() :].strip()
    else:
        words = text.split()
        middle = (len(words) + 1) // 2
        intervention, outcome = " ".join(words[:middle]), " ".join(words[middle:])
    return HypothesisParts(intervention=intervention, comparator="", outcome=outcome)


def root(word: str) -> str:
    """Return the beginning that a word shares with its inflections, such as "infect" for "infections".

    >>> [root(word) for word in ("infections", "rates", "studies", "pain")]
    ['infect', 'rate', 'study', 'pain']
    """
    if len(word) >= _LEAST_PLURAL and not word.endswith(("ss", "us", "is")):
        word = f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")
    return word[:_ROOT_LETTERS]


def roots(text: str) -> list[str]:
    """Return the roots of a text's words, in order; a hyphenated word is there in parts, then as one."""
    return [root(word) for word in (*tokens(text), *_hyphenated(text))]


def roots_of(sentences: Sequence[str]) -> list[list[str]]:
    """Return the `roots` of each of a paper's sentences."""
    paper = words_of(tuple(sentences))
    root_of = [root(word) for word in paper.words]
    numbers, places = paper.kept(stopwords=True)
    ends = np.cumsum(np.bincount(places, minlength=len(sentences))).tolist()
    all_roots = [root_of[number] for number in numbers.tolist()]
    return [
        [*all_roots[start:end], *map(root, _hyphenated(sentence))]
        for start, end, sentence in zip([0, *ends], ends, sentences, strict=False)
    ]


def _hyphenated(text: str) -> list[str]:
    """Return the hyphenated words of a text as one word each."""
    return [re.sub(r"\W", "", word.lower()) for word in _HYPHENATED.findall(text)]


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
