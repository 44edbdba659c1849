"""Full-text search: finds the papers that hold every typed word, or a word that begins with it."""

import re
import sqlite3
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evidencebench.errors import CacheError
from evidencebench.query import Query
from evidencebench.storage.cached_file import is_intact, put_in_cache
from evidencebench.storage.locks import locked_file

SEARCH_FOLDER = "search"
"""Folder of the indices in the cache folder. An index can be deleted at any time; the app makes it again."""

MOST_IN_MEMORY = 2_000
"""Indices of up to this many instances are made in memory at each start, since that takes moments."""

_VERSION = 1
# `words_in` has split the text already, so the tokenizer only splits at spaces; to it, every non-ASCII character is a
# letter. The index says which papers hold a word, not where or how often, nor the text: that takes a tenth of the disk.
_TABLES = """
CREATE VIRTUAL TABLE paper USING fts5(words, content='', columnsize=0, detail=none, tokenize='ascii', prefix='1 2');
"""

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

    def find(self, text: str) -> npt.NDArray[np.intp] | None:
        """Return the positions of the instances that hold all words of a text, ascending; None: the text has no words.

        A damaged index raises `CacheError`.
        """
        words = words_of(text)
        if not words:
            return None
        # A word has letters and digits only, so it cannot hold a quote.
        asked = " AND ".join(f'"{word}"*' for word in dict.fromkeys(words))
        try:
            with self._lock:
                rows = self._connection.execute("SELECT rowid FROM paper WHERE paper MATCH ?", (asked,)).fetchall()
        except sqlite3.DatabaseError as error:
            raise CacheError(
                f"the index of the search cannot be read: {error}; remove it with 'evidencebench cache prune --search "
                "--yes' and start the app again"
            ) from error
        return np.sort(np.fromiter((rowid for (rowid,) in rows), dtype=np.intp, count=len(rows)))

    def add(self, words: Sequence[str | None]) -> None:
        """Index the next instances of the data; ``words`` has `words_in` of each, or None where it cannot be read."""
        rows = [(position, text) for position, text in enumerate(words, self.n_searched) if text is not None]
        with self._lock:
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT INTO paper(rowid, words) VALUES (?, ?)", rows)
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


def words_in(query: Query) -> str:
    """Return the words that find an instance, joined by spaces: the words of its id, hypothesis and sentences."""
    return " ".join(distinct_words((query.instance_id, query.hypothesis, *query.sentences)))


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
