"""The words of a text, as the search knows them: the same here and in ``viewer/assets/row_values.js``."""

import re
import unicodedata
from collections.abc import Iterable

# Letters and digits of any script; what Python calls a word but for the underscore.
_WORD = re.compile(r"[^\W_]+")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
# Lower case for letters, themselves for digits, a space for all else: many times faster than looking for words.
_PLAIN = bytes(ord(chr(byte).lower()) if chr(byte).isalnum() and byte < 128 else 32 for byte in range(256))  # noqa: PLR2004


def words_of(text: str) -> list[str]:
    """Return the words of a text in its order: runs of letters and digits, without case and accents.

    Examples
    --------
    >>> words_of("IL-6 and naïve T_cells")
    ['il', '6', 'and', 'naive', 't', 'cells']
    """
    if text.isascii():
        return text.encode().translate(_PLAIN).decode().split()
    plain = unicodedata.normalize("NFKD", text)
    marks = [char for char in set(_FOREIGN.findall(plain)) if unicodedata.category(char).startswith("M")]
    return _WORD.findall(plain.translate(dict.fromkeys(map(ord, marks))).lower())


def distinct_words(texts: Iterable[str]) -> set[str]:
    """Return the words of all these texts, each once."""
    found: set[str] = set()
    ascii_texts = []
    for text in texts:
        if text.isascii():
            ascii_texts.append(text)
        else:
            found.update(words_of(text))
    found.update(words_of(" ".join(ascii_texts)))
    return found
