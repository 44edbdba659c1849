"""The words of a hypothesis that say what it is about, and those of them that a paper never mentions."""

import re
from collections.abc import Iterable

from evidencebench.systems.retrievers.tokens import STOPWORDS, tokens

# Words that hypotheses about anything hold: they tell how a study speaks, not what it is about. Forms of them with
# other endings count too.
_ANY_TOPIC = (
    "affect alter associate association better cause change compare comparison compared contribute control decrease "
    "depend difference differ differences effect effective efficacy enhance evidence group have has high higher "
    "hypothesis impact improve improvement increase induce influence lead less level low lower lowers more most "
    "outcome patient people placebo prevent produce promote protect raise reduce reduction relate related result "
    "risk role show significant significantly study than trial use versus what which worse"
)
_LEAST_STEM, _LEAST_PLURAL = 4, 3


def _stem(word: str) -> str:
    """Return a word without the endings in which forms of one word differ: ``reduces`` and ``reduced`` are one.

    >>> _stem("kidneys"), _stem("therapies") == _stem("therapy"), _stem("HbA1c")
    ('kidney', True, 'hba1c')
    """
    word = word.lower()
    for ending in ("ingly", "edly", "ations", "ation", "ing", "ies", "ied", "ely", "es", "ed", "ly", "s", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= (_LEAST_STEM if ending != "s" else _LEAST_PLURAL):
            return word[: -len(ending)]
    return word


_COMMON = frozenset(map(_stem, _ANY_TOPIC.split())) | STOPWORDS
_NUMBER = re.compile(r"\d+")


def topic_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that say what it is about, each once, in order.

    >>> topic_words("High levels of wine consumption increase the risk of stomach cancer.")
    ('wine', 'consumption', 'stomach', 'cancer')
    """
    words = (word for word in tokens(text) if len(word) > 1 and not _NUMBER.fullmatch(word))
    return tuple(dict.fromkeys(word for word in words if word not in _COMMON and _stem(word) not in _COMMON))


def unmentioned_words(hypothesis: str, sentences: Iterable[str]) -> tuple[str, ...]:
    """Return the topic words of a hypothesis that no sentence holds in any form.

    A word counts as mentioned where one of the paper's words begins with its stem.

    >>> unmentioned_words("Xyzzy harms cats.", ["A cat was seen.", "Nobody was harmed."])
    ('xyzzy',)
    """
    wanted = {word: _stem(word) for word in topic_words(hypothesis)}
    for sentence in sentences:
        if not wanted:
            break
        found = {_stem(token) for token in tokens(sentence)}
        lengths = {len(stem) for stem in wanted.values() if len(stem) >= _LEAST_STEM}
        beginnings = {stem[:length] for stem in found for length in lengths}
        wanted = {word: stem for word, stem in wanted.items() if stem not in found and stem not in beginnings}
    return tuple(wanted)
