"""Reads all instances in the background while the app runs: their words for search, and the list's columns."""

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from evidencebench.data.instance import Instance
from evidencebench.errors import ChangedDataError, DataError, EvidenceBenchError
from evidencebench.pages.app.listing import Columns, columns_of
from evidencebench.pages.app.search_index import (
    MOST_IN_MEMORY,
    SearchIndex,
    empty_index,
    index_file,
    make_index_file,
    open_index,
    words_in,
)
from evidencebench.pages.viewer.viewer_data import ViewerData

_log = logging.getLogger(__name__)

_BATCH = 100
# The scan of large data starts this much later, so that the first page is shown sooner.
_HEAD_START_SECONDS = 1.0
# While a request is answered the scan waits in short steps, but not longer than the second number for one instance.
_REST_SECONDS = 0.002
_LONGEST_REST_SECONDS = 0.05


class BackgroundScan:
    """Reads all instances in a thread of its own, while pages are shown already.

    ``positions`` maps an instance's id to its place in the data. ``columns`` holds the numbers of the instances that
    were scanned. ``n_asking`` is the number of requests that are being answered; the app sets it. Search indices of
    large data are kept in the folder ``cache``; None: they are made again at each start.
    """

    def __init__(self, viewed: ViewerData, cache: Path | None = None) -> None:
        self.columns: Columns = columns_of(viewed.overview())
        self.n_asking = 0
        self._viewed = viewed
        self.positions = {instance_id: position for position, instance_id in enumerate(viewed.dataset.ids)}
        self._cache = cache
        # All stay open until `close`, since a search may still use an index that was replaced.
        self._indices = [empty_index()]
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scan", daemon=True)

    @property
    def search(self) -> SearchIndex:
        """The current search index; it may still be growing."""
        return self._indices[-1]

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, if it still runs, and close the indices."""
        self._is_ending.set()
        if self._thread.is_alive():
            self._thread.join()
        for index in self._indices:
            index.close()

    def wait(self, seconds: float) -> None:
        """Wait until the scan is over, at most ``seconds``."""
        self._thread.join(seconds)

    def _run(self) -> None:
        is_large = len(self._viewed.dataset) > MOST_IN_MEMORY
        if is_large:
            self._is_ending.wait(_HEAD_START_SECONDS)
        try:
            if self._cache is None or not is_large or not self._use_cache(self._cache):
                self._read_all(self.search)
        except sqlite3.Error as error:  # the disk is full
            _log.warning("the search finds the first %d instances only: %s", self.search.n_searched, error)
            self._read_all(None)

    def _use_cache(self, cache: Path) -> bool:
        """Open the index from the cache, or make it there; return False where neither is possible."""
        dataset = self._viewed.dataset
        path = index_file(cache, dataset.sha256)
        kept = open_index(path, len(dataset))
        if kept is not None:
            self._indices.append(kept)
            self._read_all(None)
            return True
        try:
            with make_index_file(path) as growing:
                if growing is None:  # another app is making it
                    return False
                index, put_there = growing
                self._indices.append(index)
                if self._read_all(index):
                    put_there()
                return True
        except (OSError, DataError, sqlite3.Error) as error:  # the folder cannot be written to, or the disk is full
            _log.warning("the index of the search is not kept: %s", error)
            self._indices.append(empty_index())
            return False

    def _read_all(self, index: SearchIndex | None) -> bool:
        """Set the columns of every instance, and index it; return False where the scan was stopped before the last.

        Both in one pass, so that both numbers on the page grow at once.
        """
        batch = []
        for position, instance in self._instances():
            self._set_columns(position, instance)
            if index is None:
                continue
            batch.append(None if instance is None else words_in(instance.query))
            if len(batch) == _BATCH:
                index.add(batch)
                batch = []
        if self._is_ending.is_set():
            return False
        if index is not None:
            index.add(batch)
        return True

    def _set_columns(self, position: int, instance: Instance | None) -> None:
        """Set the columns of an instance, unless a page has."""
        if self.columns.is_set(position):
            return
        try:
            if instance is not None:
                self.columns.set(self._viewed.row(position, instance))
                return
        except EvidenceBenchError:  # the instance's own page shows the error
            pass
        self.columns.leave_out(position)

    def _instances(self) -> Iterator[tuple[int, Instance | None]]:
        """Yield (position, instance) in order, pausing while requests are answered; None: it cannot be read."""
        dataset = self._viewed.dataset
        for position in range(len(dataset)):
            if self._is_ending.is_set():
                return
            try:
                yield position, dataset[position]
            except ChangedDataError as error:
                _log.warning("%s", error)
                self._is_ending.set()  # so that no index with words of two files is kept
                return
            except EvidenceBenchError:
                yield position, None
            until = time.monotonic() + _LONGEST_REST_SECONDS
            while self.n_asking and time.monotonic() < until:
                time.sleep(_REST_SECONDS)
