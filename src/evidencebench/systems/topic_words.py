"""The words of a hypothesis that say what it is about, and those of them that no sentence of a paper has."""

from collections.abc import Iterable

from evidencebench.systems.retrievers.tokens import STOPWORDS, tokens
from evidencebench.systems.selectors.hypothesis_parts import NOT_OF_TOPIC, root, roots

# Besides those that say what changes how: words that tell how a study speaks, not what it is about.
_ANY_STUDY = """
against alter altered another associate association better certain comparison contribute control depend development
difference differ effective efficacy elevate elevated enhance evidence high hypothesis impact impair impairs improve
improved improvement improving inducing independent independently influence inversely involve its key lead leading level
low manner mg most outcome particularly patient people placebo positively present prevent process produce promote
protect raise relate related require response result risk role set show significant significantly some study treat
treatment trial use using what whereas whether worse
"""
# Words of grammar and of questions: "How many were there?" is about nothing that a paper could lack.
_OF_GRAMMAR = """
about above across all along also although always am among any anybody anyone anything around because been before behind
being beyond both can cannot could despite did doing done down each either else enough even ever every everybody
everyone everything except few further had he her here him his how however just kind like many me might more much must
my near neither never nobody none nor nothing now off often once one only onto other others ought our out outside over
own rather same several shall she should since so somebody someone something than them themselves though through
throughout thus too two under unless until up upon us very was we were when whenever where wherever while whose why
within would yet you your
"""
_LEAST_BEGINNING = 4
_COMMON = STOPWORDS | set(_OF_GRAMMAR.split()) | {root(word) for word in (*NOT_OF_TOPIC, *_ANY_STUDY.split())}


def topic_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that say what it is about, each once, in order; no numbers, nor "5mg"."""
    words = (word for word in tokens(text) if len(word) > 1 and not word[0].isdigit())
    return tuple(dict.fromkeys(word for word in words if word not in _COMMON and root(word) not in _COMMON))


def unmentioned_words(hypothesis: str, sentences: Iterable[str]) -> tuple[str, ...]:
    """Return the topic words of a hypothesis that no sentence holds in any form."""
    wanted = {word: root(word) for word in topic_words(hypothesis)}
    seen: set[str] = set()
    for sentence in sentences:
        if not wanted:
            break
        new = set(roots(sentence)) - seen
        seen |= new
        wanted = {word: own for word, own in wanted.items() if not any(_are_forms(own, other) for other in new)}
    return tuple(wanted)


def _are_forms(first: str, second: str) -> bool:
    """Return whether two roots may be of one word: they are the same, or one begins the other."""
    shorter, longer = sorted((first, second), key=len)
    return first == second or (len(shorter) >= _LEAST_BEGINNING and longer.startswith(shorter))
