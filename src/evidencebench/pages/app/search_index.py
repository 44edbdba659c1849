"""Full-text search: which papers hold all the words that someone types, each as the beginning of a word."""

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
"""Where indices lie in the folder of what is kept; each can be deleted at any time, and is made again."""

MOST_IN_MEMORY = 2_000
"""So many instances are indexed in moments, so that nothing is kept of them."""

_VERSION = 1
# Words come ready, so the tokenizer only splits at spaces; it takes all that is not ASCII for letters. Which papers
# hold a word is kept, but neither where nor how often, and not the text: a tenth of the file.
_TABLES = """
CREATE VIRTUAL TABLE paper USING fts5(words, content='', columnsize=0, detail=none, tokenize='ascii', prefix='1 2');
"""

# Letters and digits of any script; what Python calls a word but for the underscore.
_WORD = re.compile(r"[^\W_]+")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
# Lower case for letters, themselves for digits, a space for all else: many times faster than looking for words.
_PLAIN = bytes(ord(chr(byte).lower()) if chr(byte).isalnum() and byte < 128 else 32 for byte in range(256))  # noqa: PLR2004


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


def words_of(text: str) -> list[str]:
    """Return the words of a text in its order: runs of letters and digits, without case and accents.

    They are the same in ``viewer/assets/row_values.js``.

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
    apart: dict[bool, list[str]] = {True: [], False: []}  # since ASCII takes far less time
    for text in texts:
        apart[text.isascii()].append(text)
    return {word for members in apart.values() for word in words_of(" ".join(members))}


def words_in(query: Query) -> str:
    """Return by which words an instance is found: those of its id, its hypothesis and its text."""
    return " ".join(distinct_words((query.instance_id, query.hypothesis, *query.sentences)))


def empty_index() -> SearchIndex:
    """Return an index in memory and, beyond a few megabytes, in a nameless temporary file."""
    connection = _connected("")  # which is how SQLite calls such a file
    connection.executescript(_TABLES)
    return SearchIndex(connection)


def kept_index(path: Path, n_instances: int) -> SearchIndex | None:
    """Return a finished index from a file, or None where there is none, or a damaged one."""
    if not is_intact(path):
        return None
    try:
        return SearchIndex(_connected(f"{path.absolute().as_uri()}?mode=ro&immutable=1"), n_instances)
    except sqlite3.Error:
        return None


@contextmanager
def growing_index(path: Path) -> Iterator[tuple[SearchIndex, Callable[[], None]] | None]:
    """Give an index in a file that is not there yet, with what puts it there once all is in it.

    Only one process at a time makes a file: None for every other one. A process that is killed leaves a part, which the
    next one removes. Raises `OSError` or `sqlite3.Error` if the file cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked_file(path.with_suffix(".lock")) as is_held:
        if not is_held:
            yield None
            return
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        connection = _connected(part.absolute().as_uri())
        connection.executescript(_TABLES)
        yield SearchIndex(connection), lambda: put_in_cache(part, path)


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
