"""The language that a text is in, by its most frequent words and its script."""

import re
import unicodedata
from collections import Counter

from evidencebench.files.disk import packaged_table

_TABLES = packaged_table(__file__, "languages.toml")
_SCRIPTS = _TABLES["scripts"]
_WORDS = {language: frozenset(words.split()) for language, words in _TABLES["words"].items()}
_ENGLISH = _WORDS.pop("English")
_LETTERS = re.compile(r"[^\W\d_]+")
_MOST_CHARACTERS = 200_000
_LEAST_SHARE = 0.3  # of the letters, in a script of its own


def language_of(text: str) -> str | None:
    """Return the language that a text is in, if it is told and not English.

    >>> language_of("Senkt Tee den Blutdruck bei Erwachsenen?"), language_of("tea placebo sleep")
    ('German', None)
    """
    words = _LETTERS.findall(text[:_MOST_CHARACTERS].lower())
    letters = [letter for word in words if not word.isascii() for letter in word if letter > "\u036f"]
    scripts = Counter(unicodedata.name(letter, "?").split()[0] for letter in letters)
    of_script = Counter({_SCRIPTS[script]: n for script, n in scripts.items() if script in _SCRIPTS})
    if of_script and of_script.total() > _LEAST_SHARE * sum(map(len, words)):
        return "Japanese" if of_script["Japanese"] else of_script.most_common(1)[0][0]
    n_of = Counter(words)
    is_accented = any(not word.isascii() for word in words)

    def n_words(wanted: frozenset[str]) -> int:
        return sum(n_of[word] for word in wanted)

    language = max(_WORDS, key=lambda language: n_words(_WORDS[language] - _ENGLISH))
    own, english = n_words(_WORDS[language] - _ENGLISH), n_words(_ENGLISH - _WORDS[language])
    n_different = len(_WORDS[language] & n_of.keys()) + is_accented
    return language if n_different > 1 and own > 2 * english else None
