"""Reads all instances once, in a thread, while pages are shown already: their words for search, the list's columns."""

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence

from evidencebench.data.instance import Instance
from evidencebench.errors import ChangedDataError, EvidenceBenchError
from evidencebench.pages.app.listing import Columns, columns_of
from evidencebench.pages.app.search_index import PlacedWords, SearchIndex, words_in
from evidencebench.pages.viewer.viewer_data import ViewerData

_log = logging.getLogger(__name__)

_BATCH = 100
# The scan of large data (instances) starts this much later, so that the first page is shown sooner.
_LARGE, _HEAD_START_SECONDS = 2_000, 1.0
# While a request is answered the scan waits in short steps, but not longer than the second number for one instance.
_REST_SECONDS = 0.002
_LONGEST_REST_SECONDS = 0.05


class BackgroundScan:
    """Fills the search index and the list's columns; both say how much they hold, and can be used meanwhile.

    ``positions`` maps an instance's id to its place in the data. ``n_asking`` is the number of requests that are being
    answered; the app sets it.
    """

    def __init__(self, viewed: ViewerData) -> None:
        self.columns: Columns = columns_of(viewed.overview())
        self.search = SearchIndex()
        self.n_asking = 0
        self.positions = {instance_id: position for position, instance_id in enumerate(viewed.dataset.ids)}
        self._viewed = viewed
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scan", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, if it still runs, and close the index."""
        self._is_ending.set()
        if self._thread.is_alive():
            self._thread.join()
        self.search.close()

    def wait(self, seconds: float) -> None:
        """Wait until the scan is over, at most ``seconds``."""
        self._thread.join(seconds)

    def _run(self) -> None:
        if len(self._viewed.dataset) > _LARGE:
            self._is_ending.wait(_HEAD_START_SECONDS)
        batch = []
        has_room = True
        for position, instance in self._instances():
            self._set_columns(position, instance)
            batch.append(None if instance is None else words_in(instance.query))
            if has_room and len(batch) == _BATCH:
                has_room = self._index(batch)
                batch = []
        if has_room and not self._is_ending.is_set():
            self._index(batch)

    def _index(self, batch: Sequence[PlacedWords | None]) -> bool:
        """Index the next instances; return False where the disk is full."""
        try:
            self.search.add(batch)
        except sqlite3.Error as error:
            _log.warning("the search finds the first %d instances only: %s", self.search.n_searched, error)
            return False
        return True

    def _set_columns(self, position: int, instance: Instance | None) -> None:
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
                return
            except EvidenceBenchError:
                yield position, None
            until = time.monotonic() + _LONGEST_REST_SECONDS
            while self.n_asking and time.monotonic() < until:
                time.sleep(_REST_SECONDS)
