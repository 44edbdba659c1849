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
about above across all almost along already also although always am among amongst any anybody anyone anything aren
around because been before behind being below beside besides beyond both can cannot could couldn despite did didn doesn
doing don done down each either else enough even ever every everybody everyone everything everywhere except few further
had hasn haven he hence her here hers herself him himself his how however instead isn itself just kind like ll many
maybe me might mine more moreover much must my myself near neither never nevertheless nobody none nor nothing now
nowhere off often once one only onto other others otherwise ought our ours out outside over own perhaps please quite
rather same several shall she should shouldn since so somebody someone something sometimes somewhere soon still than
them themselves though through throughout thus together too toward towards two under unless until up upon us usually ve
very was wasn we were weren when whenever where wherever while whilst whom whose why within would wouldn yes yet you
your yours
"""
_LEAST_BEGINNING = 4
_COMMON = STOPWORDS | set(_OF_GRAMMAR.split()) | {root(word) for word in (*NOT_OF_TOPIC, *_ANY_STUDY.split())}


def topic_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that say what it is about, each once, in order; no numbers, nor "5mg".

    >>> topic_words("High levels of wine consumption increase the risk of stomach cancer.")
    ('wine', 'consumption', 'stomach', 'cancer')
    """
    words = (word for word in tokens(text) if len(word) > 1 and not word[0].isdigit())
    return tuple(dict.fromkeys(word for word in words if word not in _COMMON and root(word) not in _COMMON))


def unmentioned_words(hypothesis: str, sentences: Iterable[str]) -> tuple[str, ...]:
    """Return the topic words of a hypothesis that no sentence holds in any form.

    >>> unmentioned_words("Xyzzy harms cats.", ["A cat was seen.", "Nobody was harmed."])
    ('xyzzy',)
    """
    wanted = {word: root(word) for word in topic_words(hypothesis)}
    seen: set[str] = set()
    for sentence in sentences:
        if not wanted:
            break
        found = set(roots(sentence)) - seen
        seen |= found
        wanted = {word: own for word, own in wanted.items() if not any(_are_forms(own, other) for other in found)}
    return tuple(wanted)


def _are_forms(first: str, second: str) -> bool:
    """Return whether two roots may be of one word: they are the same, or one begins the other."""
    shorter, longer = sorted((first, second), key=len)
    return first == second or (len(shorter) >= _LEAST_BEGINNING and longer.startswith(shorter))
