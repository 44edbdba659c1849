"""The language that a text is in, by its most frequent words and its script; its words, in any script."""

import re
import unicodedata
from collections import Counter

from evidencebench.files.disk import packaged_table

_TABLES = packaged_table(__file__, "languages.toml")
_SCRIPTS = _TABLES["scripts"]
_WORDS = {language: frozenset(words.split()) for language, words in _TABLES["words"].items()}
_ENGLISH = _WORDS.pop("English")
_OWN_WORDS = {language: words - _ENGLISH for language, words in _WORDS.items()}
_LETTERS = re.compile(r"[^\W\d_]+")
_MOST_CHARACTERS = 200_000
_LEAST_SHARE = 0.3  # of the letters, in a script of its own
_LEAST_SHARED = 0.3  # of a text's words stand in the text that it was made from, where one's language is not clear
_STEM = 6  # the first letters of a longer word that make two words alike: "lowers" and "lowered"
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai, Chinese, ...


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
        return sum(n_of[word] for word in wanted.intersection(n_of))

    language = max(_WORDS, key=lambda language: n_words(_OWN_WORDS[language]))
    own, english = n_words(_OWN_WORDS[language]), n_words(_ENGLISH - _WORDS[language])
    n_different = len(_WORDS[language] & n_of.keys()) + is_accented
    return language if n_different > 1 and own > 2 * english else None


_PART = rf"(?:(?![{UNSPACED}])[^\W_])+"
_WORD = re.compile(rf"[{UNSPACED}]|{_PART}(?:['\N{{RIGHT SINGLE QUOTATION MARK}}-]{_PART})*")


def words_of(text: str) -> list[str]:
    """Return the words of a text without accents; a letter is one in scripts that write no space between words."""
    if not text.isascii():
        letters = (letter for letter in unicodedata.normalize("NFD", text) if unicodedata.category(letter)[0] != "M")
        text = unicodedata.normalize("NFKC", "".join(letters))
    return [word.casefold() for word in _WORD.findall(text)]


def has_words(text: str) -> bool:
    """Say whether a text says anything: it has at least three words that are no numbers."""
    words = words_of(text)
    return sum(word.isalpha() and (len(word) > 1 or word >= "\u0e00") for word in words) >= 3  # noqa: PLR2004 - said


def is_foreign(text: str, source: str) -> bool:
    """Say whether a text is in another language than its source, or hardly any of its words stands there."""
    words, known = words_of(text), set(words_of(source))
    if not words or not known:
        return False
    own, language = language_of(text), language_of(source)  # None: English, or not clear
    if own is not None and language is not None:
        is_japanese = "Japanese" in own and "Japanese" in language  # a text of it may have no letter of its own
        return own != language and not is_japanese
    stems = {word[:_STEM] for word in known}
    shared = sum(word in known or (len(word) > _STEM and word[:_STEM] in stems) for word in words)
    return shared == 0 if own == language else shared < _LEAST_SHARED * len(words)
