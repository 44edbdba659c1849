"""Full-text search: finds the papers that hold every typed word, or a word that begins with it."""

import re
import sqlite3
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from evidencebench.errors import CacheError
from evidencebench.pages.viewer.page_records import Hits
from evidencebench.query import Query

Where = Literal["", "hypothesis", "text"]
"""Where the searched words shall stand; empty: in the hypothesis, the text or the id, each word in any of them."""

# `words_in` has split the text already, so the tokenizer only splits at spaces; to it, every non-ASCII character is a
# letter. The index says which papers hold a word, not where or how often, nor the text: that takes a tenth of the disk.
# A table for each place takes a third of the disk of one table that says in which place a word stands.
_PLACES = ("text", "hypothesis", "id")
_TABLES = "".join(
    f"CREATE VIRTUAL TABLE {place} USING fts5(words, content='', columnsize=0, detail=none, tokenize='ascii', "
    "prefix='1 2');"
    for place in _PLACES
)

# Letters and digits of any script: Python's ``\w`` without the underscore.
_WORD = re.compile(r"[^\W_]+")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
# ASCII letters become lower case, digits stay, all else becomes a space: many times faster than a regular expression.
_PLAIN = bytes(ord(chr(byte).lower()) if chr(byte).isalnum() and byte < 128 else 32 for byte in range(256))  # noqa: PLR2004


class SearchIndex:
    """Finds instances by their words, also while it is filled. It holds the first ``n_searched`` instances.

    It lies in memory; beyond a few megabytes SQLite moves it to a temporary file without a name.
    """

    def __init__(self) -> None:
        self.n_searched = 0
        self._lock = threading.Lock()
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        # The index is made again at each start, so no write need be waited for.
        self._connection.execute("PRAGMA journal_mode = MEMORY")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.executescript(_TABLES)

    def find(self, text: str, where: Where = "") -> npt.NDArray[np.intp] | None:
        """Return the positions of the instances that hold all words of a text, ascending; None: it has no words."""
        words = words_of(text)
        if not words:
            return None
        try:
            with self._lock:
                is_found = np.ones(self.n_searched, dtype=np.bool_)
                for word in dict.fromkeys(words):
                    is_found &= self._is_holding(word, (where,) if where else _PLACES)
        except sqlite3.DatabaseError as error:
            raise CacheError(f"the index of the search cannot be read: {error}; start the app again") from error
        return is_found.nonzero()[0]

    def _is_holding(self, word: str, places: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Return for every instance whether one of the places has a word that begins with this one."""
        is_holding = np.zeros(self.n_searched, dtype=np.bool_)
        for place in places:
            # A word has letters and digits only, so it cannot hold a quote.
            command = f"SELECT rowid FROM {place} WHERE {place} MATCH ?"  # noqa: S608 - names of this module
            asked = self._connection.execute(command, (f'"{word}"*',))
            is_holding[np.fromiter((rowid for (rowid,) in asked), dtype=np.intp)] = True
        return is_holding

    def add(self, words: "Sequence[PlacedWords | None]") -> None:
        """Index the next instances of the data; ``words`` has `words_in` of each, or None where it cannot be read."""
        rows = [(position, of) for position, of in enumerate(words, self.n_searched) if of is not None]
        with self._lock:
            self._connection.execute("BEGIN")
            for number, place in enumerate(_PLACES):
                values = ((position, of[number]) for position, of in rows)
                command = f"INSERT INTO {place}(rowid, words) VALUES (?, ?)"  # noqa: S608 - as above
                self._connection.executemany(command, values)
            self._connection.execute("COMMIT")
            self.n_searched += len(words)

    def close(self) -> None:
        """Close the index, after any search that is running."""
        with self._lock:
            self._connection.close()


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order: runs of letters and digits, in lower case, without accents.

    The function ``wordsOf`` of ``viewer/assets/row_values.js`` returns the same words.

    >>> words_of("IL-6 and naïve T_cells")
    ['il', '6', 'and', 'naive', 't', 'cells']
    """
    if text.isascii():
        return text.encode().translate(_PLAIN).decode().split()
    plain = unicodedata.normalize("NFKD", text)
    marks = [char for char in set(_FOREIGN.findall(plain)) if unicodedata.category(char).startswith("M")]
    return _WORD.findall(plain.translate(dict.fromkeys(map(ord, marks))).lower())


def distinct_words(texts: Iterable[str]) -> set[str]:
    """Return the set of all words of these texts."""
    by_is_ascii: dict[bool, list[str]] = {True: [], False: []}  # apart, since ASCII takes far less time
    for text in texts:
        by_is_ascii[text.isascii()].append(text)
    return {word for members in by_is_ascii.values() for word in words_of(" ".join(members))}


PlacedWords = tuple[str, str, str]
"""The distinct words of an instance's text, of its hypothesis and of its id, each joined by spaces."""


def words_in(query: Query) -> PlacedWords:
    """Return the words that find an instance."""
    text, hypothesis, instance_id = map(distinct_words, (query.sentences, (query.hypothesis,), (query.instance_id,)))
    return " ".join(text), " ".join(hypothesis), " ".join(instance_id)


# A longer sentence is cut, since a row repeats it.
_MOST_SHOWN = 2_000


def hits_in(sentences: Sequence[str], text: str) -> Hits | None:
    """Return where the words of a search stand in a paper's text; None: nowhere.

    >>> hits_in(["One.", "Statins help.", "Statins lower the risk."], "statin ris")
    Hits(n=2, index=2, text='Statins lower the risk.')
    """
    asked = [f" {word}" for word in dict.fromkeys(words_of(text))]
    n_asked = [sum(map(f" {' '.join(words_of(sentence))}".__contains__, asked)) for sentence in sentences]
    n_hits = sum(map(bool, n_asked))
    if not n_hits:
        return None
    best = n_asked.index(max(n_asked))
    return Hits(n=n_hits, index=best, text=sentences[best][:_MOST_SHOWN])
