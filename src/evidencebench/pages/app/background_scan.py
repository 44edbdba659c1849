"""A pass over all instances while the app is in use: their words for the search, then their numbers for the list."""

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
    growing_index,
    index_file,
    kept_index,
    words_in,
)
from evidencebench.pages.viewer.viewer_data import ViewerData

_log = logging.getLogger(__name__)

_BATCH = 100
# The first page of large data comes first.
_HEAD_START_SECONDS = 1.0
# Requests for pages go first, but even under constant requests the scan goes on and ends.
_REST_SECONDS = 0.002
_LONGEST_REST_SECONDS = 0.05


class BackgroundScan:
    """Passes over the data in a thread of its own, so that pages are shown before it has begun.

    ``positions`` says where each instance stands in the data, ``columns`` holds the numbers of those that it has
    passed, and ``n_asking`` is how many requests are being answered, which the app counts. Indices of large data are
    kept in the folder ``cache``; None: they are made anew each time.
    """

    def __init__(self, viewed: ViewerData, cache: Path | None = None) -> None:
        self.columns: Columns = columns_of(viewed.overview())
        self.n_asking = 0
        self._viewed = viewed
        self.positions = {instance_id: position for position, instance_id in enumerate(viewed.dataset.ids)}
        self._cache = cache
        # All of them stay open to the end, since a search may still use one that was replaced.
        self._indices = [empty_index()]
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scan", daemon=True)

    @property
    def search(self) -> SearchIndex:
        """The index, as far as it is."""
        return self._indices[-1]

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End early, if it is not over."""
        self._is_ending.set()
        if self._thread.is_alive():
            self._thread.join()
        for index in self._indices:
            index.close()

    def wait(self, seconds: float) -> None:
        """Wait until it is over, at most so long."""
        self._thread.join(seconds)

    def _run(self) -> None:
        is_large = len(self._viewed.dataset) > MOST_IN_MEMORY
        if is_large:
            self._is_ending.wait(_HEAD_START_SECONDS)
        try:
            if self._cache is None or not is_large or not self._keep(self._cache):
                self._fill(self.search)
        except sqlite3.Error as error:  # no room left
            _log.warning("the search finds the first %d instances only: %s", self.search.n_searched, error)
        self._number()

    def _keep(self, cache: Path) -> bool:
        """Take the index from the cache, or put it there; say whether that could be done."""
        dataset = self._viewed.dataset
        path = index_file(cache, dataset.sha256)
        kept = kept_index(path, len(dataset))
        if kept is not None:
            self._indices.append(kept)
            return True
        try:
            with growing_index(path) as growing:
                if growing is None:  # another app is making it
                    return False
                index, put_there = growing
                self._indices.append(index)
                if self._fill(index):
                    put_there()
                return True
        except (OSError, DataError, sqlite3.Error) as error:  # a folder that nobody can write to, or a full disk
            _log.warning("the index of the search is not kept: %s", error)
            self._indices.append(empty_index())
            return False

    def _fill(self, index: SearchIndex) -> bool:
        """Index every instance, and say whether that came to its end."""
        batch = []
        for _, instance in self._instances():
            batch.append(None if instance is None else words_in(instance.query))
            if len(batch) == _BATCH:
                index.add(batch)
                batch = []
        if self._is_ending.is_set():
            return False
        index.add(batch)
        return True

    def _number(self) -> None:
        """Set the numbers of every instance that no page has asked for yet."""
        for position, instance in self._instances():
            if self.columns.is_set(position):
                continue
            try:
                if instance is not None:
                    self.columns.set(self._viewed.row(position, instance))
                    continue
            except EvidenceBenchError:  # its page says why
                pass
            self.columns.leave_out()

    def _instances(self) -> Iterator[tuple[int, Instance | None]]:
        """Yield every instance with its position, None for one that cannot be read, at the pace that others allow."""
        dataset = self._viewed.dataset
        for position in range(len(dataset)):
            if self._is_ending.is_set():
                return
            try:
                yield position, dataset[position]
            except ChangedDataError as error:
                _log.warning("%s", error)
                self._is_ending.set()  # so that no index of two files is kept
                return
            except EvidenceBenchError:
                yield position, None
            until = time.monotonic() + _LONGEST_REST_SECONDS
            while self.n_asking and time.monotonic() < until:
                time.sleep(_REST_SECONDS)
