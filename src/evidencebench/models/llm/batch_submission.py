"""Submit a batch exactly once, even if the connection is cut or the process is killed."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from evidencebench.errors import CacheError, EvidenceBenchError
from evidencebench.models.llm.batch_apis.calls import Calls, UnsureError
from evidencebench.models.llm.batch_apis.contract import BatchApi, UnresolvedError
from evidencebench.models.llm.batch_queue import BatchJob, BatchQueue
from evidencebench.models.llm.reply_cache import FILE_NAME, cache_errors
from evidencebench.storage.locks import try_lock
from evidencebench.wording import counted

_LOOK_AGAIN_SECONDS = 0.5


def submit_one(api: BatchApi, calls: Calls, queue: BatchQueue, batch: BatchJob, *, folder: Path) -> str:
    """Submit a batch of the queue, its body in a temporary file in `folder`; return the provider's id."""

    def attempt() -> str:
        try:
            return api.create(calls, prepared)
        except UnsureError as error:
            calls.settings.sleep(calls.settings.settle_seconds)
            if (name := _name_after(error, api, calls, queue, batch)) is None:
                raise
            return name

    with cache_errors(folder / FILE_NAME), TemporaryFile(dir=folder) as body:  # fails if the disk is full
        rows = (api.row_of(key, request) for key, request in queue.requests(batch))
        prepared = api.prepare(calls, rows, body, batch.intent)
        return calls.retry(attempt)


def _name_after(error: UnsureError, api: BatchApi, calls: Calls, queue: BatchQueue, batch: BatchJob) -> str | None:
    """Return the id of a batch whose submission got no answer; None if it never arrived."""
    try:
        return api.find(calls, queue, batch)
    except EvidenceBenchError as failure:
        raise UnresolvedError(
            f"{batch.group.model}: a batch of {counted(batch.n_requests, 'request')} may have been submitted, but no "
            f"answer says so: {error}; {failure}; run again: it is looked for first, and not submitted twice"
        ) from failure


@contextmanager
def only_submitter(file: Path, sleep: Callable[[float], object] | None) -> Iterator[bool]:
    """Lock a cache's file while the block runs, so that one process at a time submits; yield whether it is locked.

    `sleep` waits for another process; if it is None, the block runs at once, with False if another process holds the
    lock. The lock ends with its process. So under the lock, a batch without an id is one whose submission was cut off.
    """
    path = file.with_name(f"{file.name}.submitting")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise CacheError(
            f"{path}: cannot be locked: {error.strerror}; make its folder one that can be written"
        ) from error
    try:
        while not (is_held := try_lock(descriptor)) and sleep is not None:
            sleep(_LOOK_AGAIN_SECONDS)
        yield is_held
    finally:
        os.close(descriptor)
