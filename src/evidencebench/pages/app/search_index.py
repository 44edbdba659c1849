"""Full-text search: which papers hold all the words that someone types, each as the beginning of a word."""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evidencebench.errors import CacheError
from evidencebench.pages.app.words import distinct_words, words_of
from evidencebench.query import Query
from evidencebench.storage.cached_file import is_intact, put_in_cache

SEARCH_FOLDER = "search"
"""Where indices lie in the folder of what is kept; each can be deleted at any time, and is made again."""

MOST_IN_MEMORY = 2_000
"""So many instances are indexed in moments, so that nothing is kept of them."""

# The number in the file's head that tells ours from those of others: "ebsr".
_APPLICATION_ID = 0x65627372
_VERSION = 1
# Words come ready, so the tokenizer only splits at spaces; it takes all that is not ASCII for letters. Which papers
# hold a word is kept, but neither where nor how often, and not the text: a tenth of the file.
_TABLES = """
CREATE VIRTUAL TABLE paper USING fts5(words, content='', columnsize=0, detail=none, tokenize='ascii', prefix='1 2');
"""


class SearchIndex:
    """Finds instances by their words; it can be asked while it is filled. It holds the first ``n_searched`` of them."""

    def __init__(self, connection: sqlite3.Connection, n_searched: int = 0) -> None:
        self.n_searched = n_searched
        self._connection = connection
        self._lock = threading.Lock()

    def find(self, text: str) -> npt.NDArray[np.intp] | None:
        """Return the positions of instances that hold all words of a text, ascending; None where it has no words.

        A damaged index raises `CacheError`.
        """
        words = words_of(text)
        if not words:
            return None
        # A word has letters and digits only, so nothing in it can end the quotes.
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
        """Index the next instances of the data by what `words_in` returns of each; None: it cannot be read."""
        rows = [(position, text) for position, text in enumerate(words, self.n_searched) if text is not None]
        with self._lock:
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT INTO paper(rowid, words) VALUES (?, ?)", rows)
            self._connection.execute("COMMIT")
            self.n_searched += len(words)

    def close(self) -> None:
        """Close the file, after any search that is under way."""
        with self._lock:
            self._connection.close()


def words_in(query: Query) -> str:
    """Return by which words an instance is found: those of its id, its hypothesis and its text."""
    return " ".join(distinct_words((query.instance_id, query.hypothesis, *query.sentences)))


def empty_index() -> SearchIndex:
    """Return an index in memory and, beyond a few megabytes, in a nameless temporary file."""
    connection = _connected("")  # which is how SQLite calls such a file
    connection.executescript(_TABLES)
    return SearchIndex(connection)


def kept_index(path: Path, n_instances: int) -> SearchIndex | None:
    """Return a finished index from a file, or None where there is none that can be used, or a damaged one."""
    if not is_intact(path):
        return None
    try:
        connection = _connected(f"{path.absolute().as_uri()}?mode=ro&immutable=1")
    except sqlite3.Error:
        return None
    try:
        pragmas = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        (n_indexed,) = connection.execute("SELECT n FROM done").fetchone()
        connection.execute("SELECT rowid FROM paper WHERE paper MATCH '\"a\"' LIMIT 1").fetchone()
    except (sqlite3.Error, TypeError):
        connection.close()
        return None
    if pragmas != [_APPLICATION_ID, _VERSION] or n_indexed != n_instances:
        connection.close()
        return None
    return SearchIndex(connection, n_instances)


@contextmanager
def growing_index(path: Path) -> Iterator[tuple[SearchIndex, Callable[[], None]] | None]:
    """Give an index in a file that is not there yet, with what puts it there once all is in it.

    Only one process at a time makes a file: None for every other one. A process that is killed leaves a part, which the
    next one removes. Raises `OSError` or `sqlite3.Error` if the file cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        connection = _connected(part.absolute().as_uri())
        connection.executescript(f"{_TABLES} CREATE TABLE done (n INTEGER NOT NULL);")
        index = SearchIndex(connection)

        def keep() -> None:
            connection.execute("INSERT INTO done VALUES (?)", (index.n_searched,))
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            put_in_cache(part, path)

        yield index, keep
    finally:
        os.close(lock)


def index_file(folder: Path, sha256: str) -> Path:
    """Return where the index of the data with a checksum lies, in the folder of what is kept."""
    return folder / SEARCH_FOLDER / f"{sha256}.v{_VERSION}.sqlite"


def kept_files(folder: Path) -> list[Path]:
    """Return all finished indices in the folder of what is kept; an app that uses one goes on when it is deleted."""
    return sorted((folder / SEARCH_FOLDER).glob("*.sqlite"))


def _connected(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=address != "", isolation_level=None, check_same_thread=False)
    # What is lost is made again, so nothing is written twice or waited for.
    connection.execute("PRAGMA journal_mode = MEMORY")
    connection.execute("PRAGMA synchronous = OFF")
    return connection
