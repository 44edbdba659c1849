"""Full-text search: finds the papers that hold every typed word, or a word that begins with it."""

import re
import sqlite3
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from evidencebench.errors import CacheError
from evidencebench.pages.viewer.page_records import Hits
from evidencebench.query import Query
from evidencebench.storage.cached_file import is_intact, put_in_cache
from evidencebench.storage.locks import locked_file

SEARCH_FOLDER = "search"
"""Folder of the indices in the cache folder. An index can be deleted at any time; the app makes it again."""

MOST_IN_MEMORY = 2_000
"""Indices of up to this many instances are made in memory at each start, since that takes moments."""

Where = Literal["", "hypothesis", "text"]
"""Where the searched words shall stand; empty: in the hypothesis, the text or the id, each word in any of them."""

_VERSION = 2
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
    """Finds instances by their words, also while it is filled. It holds the first ``n_searched`` instances."""

    def __init__(self, connection: sqlite3.Connection, n_searched: int = 0) -> None:
        self.n_searched = n_searched
        self._connection = connection
        self._lock = threading.Lock()

    def find(self, text: str, where: Where = "") -> npt.NDArray[np.intp] | None:
        """Return the positions of the instances that hold all words of a text, ascending; None: the text has no words.

        A damaged index raises `CacheError`.
        """
        words = words_of(text)
        if not words:
            return None
        try:
            with self._lock:
                is_found = np.ones(self.n_searched, dtype=np.bool_)
                for word in dict.fromkeys(words):
                    is_found &= self._is_holding(word, (where,) if where else _PLACES)
        except sqlite3.DatabaseError as error:
            raise CacheError(
                f"the index of the search cannot be read: {error}; remove it with 'evidencebench cache prune --search "
                "--yes' and start the app again"
            ) from error
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


def empty_index() -> SearchIndex:
    """Return an index in memory; beyond a few megabytes SQLite moves it to a temporary file without a name."""
    connection = _connect("")  # SQLite's address of such a database
    connection.executescript(_TABLES)
    return SearchIndex(connection)


def open_index(path: Path, n_instances: int) -> SearchIndex | None:
    """Return the finished index in a file, or None where the file is missing or damaged."""
    if not is_intact(path):
        return None
    try:
        return SearchIndex(_connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1"), n_instances)
    except sqlite3.Error:
        return None


@contextmanager
def make_index_file(path: Path) -> Iterator[tuple[SearchIndex, Callable[[], None]] | None]:
    """Give an empty index in a partial file, and a function that renames the full one to ``path``.

    Only one process at a time makes the file; every other process is given None. A process that is killed leaves its
    partial file, and the next one removes that. Raises `OSError` or `sqlite3.Error` if the file cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked_file(path.with_suffix(".lock")) as is_held:
        if not is_held:
            yield None
            return
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        connection = _connect(part.absolute().as_uri())
        connection.executescript(_TABLES)
        yield SearchIndex(connection), lambda: put_in_cache(part, path)


def index_file(folder: Path, sha256: str) -> Path:
    """Return the path of an index in the cache folder; ``sha256`` is the checksum of the data file."""
    return folder / SEARCH_FOLDER / f"{sha256}.v{_VERSION}.sqlite"


def kept_files(folder: Path) -> list[Path]:
    """Return the paths of all finished indices in the cache folder. An app goes on where its index is deleted."""
    return sorted((folder / SEARCH_FOLDER).glob("*.sqlite"))


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=address != "", isolation_level=None, check_same_thread=False)
    # A lost index is made again, so the journal need not be on the disk, nor writes be waited for.
    connection.execute("PRAGMA journal_mode = MEMORY")
    connection.execute("PRAGMA synchronous = OFF")
    return connection
