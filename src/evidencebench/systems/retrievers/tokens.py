"""Cut a text into terms, for the systems that compare words."""

import re

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
