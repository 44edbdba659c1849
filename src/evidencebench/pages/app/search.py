"""Full-text search for papers that hold every typed word, or a word that begins with it; and the background scan."""

import logging
import re
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from evidencebench.errors import CacheError, ChangedDataError, EvidenceBenchError
from evidencebench.pages.app.list import Columns, Where
from evidencebench.pages.paper import Hits
from evidencebench.pages.viewer import ViewerData
from evidencebench.query import Query

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


PlacedWords = tuple[str, str, str]
"""The distinct words of an instance's text, of its hypothesis and of its id, each joined by spaces."""


class SearchIndex:
    """Finds instances by their words, also while it is filled; beyond a few megabytes SQLite keeps it on the disk."""

    def __init__(self) -> None:
        self.n_searched: int = 0  # it holds so many of the first instances
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
                is_hit = np.ones(self.n_searched, dtype=np.bool_)
                for word in dict.fromkeys(words):
                    is_holding = np.zeros(self.n_searched, dtype=np.bool_)
                    for place in (where,) if where else _PLACES:
                        # A word has letters and digits only, so it cannot hold a quote.
                        command = f"SELECT rowid FROM {place} WHERE {place} MATCH ?"  # noqa: S608 - names of this module
                        rows = self._connection.execute(command, (f'"{word}"*',))
                        is_holding[np.fromiter((rowid for (rowid,) in rows), dtype=np.intp)] = True
                    is_hit &= is_holding
        except sqlite3.DatabaseError as error:
            raise CacheError(f"the index of the search cannot be read: {error}; start the app again") from error
        return is_hit.nonzero()[0]

    def add(self, words: Sequence[PlacedWords | None]) -> None:
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
        with self._lock:
            self._connection.close()


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order: runs of letters and digits, in lower case, without accents.

    The function ``wordsOf`` of ``assets/route.js`` returns the same words.

    >>> words_of("IL-6 and naïve T_cells")
    ['il', '6', 'and', 'naive', 't', 'cells']
    """
    if text.isascii():
        return text.encode().translate(_PLAIN).decode().split()
    plain = unicodedata.normalize("NFKD", text)
    marks = [char for char in set(_FOREIGN.findall(plain)) if unicodedata.category(char).startswith("M")]
    return _WORD.findall(plain.translate(dict.fromkeys(map(ord, marks))).lower())


def words_in(query: Query) -> PlacedWords:
    def distinct(*texts: str) -> str:
        return " ".join({word for text in texts for word in words_of(text)})

    return distinct(*query.sentences), distinct(query.hypothesis), distinct(query.instance_id)


_MOST_SHOWN = 2_000  # characters of a sentence, since a row repeats it


def hits_in(sentences: Sequence[str], text: str) -> Hits | None:
    """Return where the words of a search stand in a paper's text; None: nowhere."""
    asked = [f" {word}" for word in dict.fromkeys(words_of(text))]
    n_asked = [sum(map(f" {' '.join(words_of(sentence))}".__contains__, asked)) for sentence in sentences]
    n_hits = sum(map(bool, n_asked))
    if not n_hits:
        return None
    best = n_asked.index(max(n_asked))
    return Hits(n=n_hits, index=best, text=sentences[best][:_MOST_SHOWN])


# Reads all instances once, in a thread, while pages are shown already: their words for search, the list's columns.

_log = logging.getLogger(__name__)

_BATCH = 100
# The scan of large data (instances) starts this much later, so that the first page is shown sooner.
_LARGE, _HEAD_START_SECONDS = 2_000, 1.0
# While a request is answered the scan waits in short steps, but not longer than the second number for one instance.
_REST_SECONDS = 0.002
_LONGEST_REST_SECONDS = 0.05


class BackgroundScan:
    """Fills the search index and the list's columns; both say how much they hold, and can be used meanwhile."""

    def __init__(self, viewed: ViewerData) -> None:
        overview = viewed.overview()
        self.columns: Columns = Columns(
            overview.n_instances,
            len(overview.systems),
            len(overview.tasks),
            n_counted=sum(system.is_counted for system in overview.systems),
            ceiling=next((position for position, system in enumerate(overview.systems) if system.is_oracle), None),
        )
        self.search: SearchIndex = SearchIndex()
        self._n_asking = 0  # requests that are being answered
        self._lock = threading.Lock()
        self.positions: dict[str, int] = {
            instance_id: position for position, instance_id in enumerate(viewed.dataset.ids)
        }
        self._viewed = viewed
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scan", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._is_ending.set()
        if self._thread.is_alive():
            self._thread.join()
        self.search.close()

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the scan wait while a request is answered in this block."""
        with self._lock:
            self._n_asking += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_asking -= 1

    def _run(self) -> None:
        n_instances, batch = len(self._viewed.dataset), []
        if n_instances > _LARGE:
            self._is_ending.wait(_HEAD_START_SECONDS)
        has_room = True  # on the disk, for the index
        for position in range(n_instances):
            until = time.monotonic() + _LONGEST_REST_SECONDS
            while self._n_asking and time.monotonic() < until:
                time.sleep(_REST_SECONDS)
            if self._is_ending.is_set():
                return
            try:
                batch.append(self._words(position))
            except ChangedDataError as error:
                _log.warning("%s", error)
                break
            if has_room and len(batch) == _BATCH:
                has_room, batch = self._index(batch), []
        if has_room:
            self._index(batch)

    def _index(self, batch: Sequence[PlacedWords | None]) -> bool:
        """Index the next instances; return False where the disk is full."""
        try:
            self.search.add(batch)
        except sqlite3.Error as error:
            _log.warning("the search finds the first %d instances only: %s", self.search.n_searched, error)
            return False
        return True

    def _words(self, position: int) -> PlacedWords | None:
        """Return the words of an instance, after its numbers are set; None where it cannot be read."""
        words = None
        try:
            instance = self._viewed.dataset[position]
            words = words_in(instance.query)
            if not self.columns.is_set(position):
                self.columns.set(self._viewed.row(position, instance))
        except ChangedDataError:
            raise
        except EvidenceBenchError:  # the instance's own page shows the error
            self.columns.leave_out(position)
        return words
