"""What a model wrote, checked without a model: its length, its language, its numbers, and what it gives away."""

import re
import unicodedata

from evidencebench.papers.sentences import sentence_spans

FEWEST_WORDS, MOST_WORDS = 5, 50
"""How many words a hypothesis has."""

NO_WORDS = "no words"
"""Why a draft is dropped whose summary says nothing: see `has_words`."""

_LEAST_SHARED = 0.2
"""The least share of a text's words that stand in the text that it was made from."""

_STEM = 6
"""The first letters of a longer word that make two words alike: "lowers" and "lowered"."""

_WORD = re.compile(r"[^\W_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}-][^\W_]+)*")
_NUMBER = re.compile(r"(?<![\w-])(?<!\w[.,])\d+(?:[.,]\d+)*(?![\w-]|[.,]\d)")
# "Type 2 diabetes" and "vitamin B 12" name something.
_NAMING = frozenset(
    {"chapter", "class", "cluster", "domain", "exon", "factor", "grade", "group", "interleukin", "item", "level",
     "omega", "phase", "protein", "schedule", "stage", "subtype", "type", "types", "version", "vitamin", "wave"}
)  # fmt: skip
_FINDING = re.compile(
    r"\b(?:significant(?:ly)?|p\s?[<=>]|confidence intervals?|(?:was|were|has been|have been) (?:found|observed|shown|"
    r"reported|demonstrated)|(?:odds|hazard|risk|rate) ratio (?:of|was)|et al|the (?:study|trial|authors|results?) "
    r"(?:found|show(?:s|ed)?|report(?:s|ed)?|suggests?|demonstrated?))\b|[%\N{PER MILLE SIGN}]",
    re.IGNORECASE,
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters.

    >>> words_of("COX-2 inhibitors, twice a day")
    ['cox-2', 'inhibitors', 'twice', 'a', 'day']
    """
    return [word.casefold() for word in _WORD.findall(text)]


def has_words(text: str) -> bool:
    """Say whether a text says anything: it has at least three words that are no numbers.

    >>> has_words("12.4 (3.1) vs 11.9 (2.8), 95%")
    False
    """
    return sum(word.isalpha() and len(word) > 1 for word in words_of(text)) >= 3  # noqa: PLR2004 - said above


def wrong_with_hypothesis(hypothesis: str, summary: str, context: str) -> str:
    """Return what is wrong with a hypothesis, in words for the model that wrote it; empty where nothing is.

    >>> wrong_with_hypothesis("Tea lowers blood pressure by 2.1 mmHg.", "Tea lowered blood pressure by 2.1 mmHg.", "")
    'it gives away the number 2.1 of the summary'
    """
    n_sentences, n_words = len(sentence_spans(hypothesis)), len(words_of(hypothesis))
    if n_sentences != 1:
        return f"it has {n_sentences} sentences, not one"
    if not FEWEST_WORDS <= n_words <= MOST_WORDS:
        return f"it has {n_words} words, not {FEWEST_WORDS} to {MOST_WORDS}"
    if hypothesis.rstrip().endswith("?"):
        return "it is a question, not a statement"
    if is_foreign(hypothesis, f"{summary} {context}"):
        return "it is not in the language of the summary"
    known = set(numbers_in(summary))
    if leaked := [number for number in numbers_in(hypothesis) if number in known]:
        return f"it gives away the number {leaked[0]} of the summary"
    finding = _FINDING.search(hypothesis)
    return f"'{finding[0]}' gives away that a study found something" if finding else ""


def wrong_with_aspect(aspect: str, summary: str) -> str:
    """Return what is wrong with an aspect, in words for the model that wrote it; empty where nothing is.

    >>> wrong_with_aspect("40 adults drank tea", "Thirty adults drank tea.")
    "the number 40 of 'adults drank tea' is not in the summary"
    """
    if not words_of(aspect):
        return "an aspect is empty"
    known = set(numbers_in(summary))
    if invented := [number for number in numbers_in(aspect) if number not in known]:
        rest = " ".join(word for word in aspect.split() if invented[0] not in word)
        return f"the number {invented[0]} of '{rest[:60]}' is not in the summary"
    if is_foreign(aspect, summary):
        return f"'{aspect[:60]}' is not in the words and the language of the summary"
    return ""


def numbers_in(text: str) -> list[str]:
    """Return the numbers of a text that are no part of a name, without signs between thousands.

    >>> numbers_in("COX-2, type 2 diabetes, IL6: 1,024 patients, 95% CI 0.8-1.2")
    ['1024', '95', '0.8', '1.2']
    """
    numbers = []
    spaced = re.sub(r"(?<=\d)\s?[-\N{EN DASH}\N{MINUS SIGN}]\s?(?=\d)", " ", text)
    for number in _NUMBER.finditer(spaced):
        before = words_of(spaced[max(0, number.start() - 30) : number.start()])
        if not before or before[-1] not in _NAMING:
            numbers.append(re.sub(r",(?=\d{3}(?:\D|$))", "", number[0]))
    return numbers


def is_foreign(text: str, source: str) -> bool:
    """Say whether a text that was made from another is in another language or script.

    Its words are then other words: hardly any of them stands in the source.
    """
    words, known = words_of(text), set(words_of(source))
    if not words or not known:
        return False
    shared = sum(
        word in known or (len(word) > _STEM and any(other.startswith(word[:_STEM]) for other in known))
        for word in words
    )
    return shared < _LEAST_SHARED * len(words) or _script_of(text) != _script_of(source)


def _script_of(text: str) -> str:
    """Return the script of most letters, such as ``LATIN``."""
    names = [unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha()]
    return max(set(names), key=names.count, default="")
