"""Submit a batch exactly once, also across a cut connection or a killed process."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryFile

from evidencebench.errors import CacheError, EvidenceBenchError, FailingServerError
from evidencebench.models.llm.batch_apis.calls import Calls, UnsureError
from evidencebench.models.llm.batch_apis.contract import BatchApi, BatchSearch, SearchResult
from evidencebench.models.llm.batch_queue import BatchJob, BatchQueue
from evidencebench.models.llm.reply_database import FILE_NAME, cache_errors
from evidencebench.web.transient import TransientError
from evidencebench.wording import counted

_LOOK_AGAIN_SECONDS = 0.5


class UnresolvedError(FailingServerError):
    """A batch may or may not have been submitted; it stays written down, to be looked for."""


async def submit_one(
    api: BatchApi, calls: Calls, queue: BatchQueue, batch: BatchJob, *, folder: Path, settle_seconds: float
) -> str:
    """Submit a batch that is written down already, its body built in a folder; return the provider's id.

    After `settle_seconds` a batch that was submitted shows in the provider's list.
    """
    with cache_errors(folder / FILE_NAME), TemporaryFile(dir=folder) as body:  # the disk may be full
        rows = (api.row_of(key, request) for key, request in queue.requests(batch))
        await asyncio.to_thread(api.write, rows, body)
        prepared = await api.prepare(calls, body, batch.intent)
        number = 0
        while True:
            number += 1
            try:
                return await api.create(calls, prepared)
            except TransientError as error:
                failure = error
            if isinstance(failure, UnsureError):
                await calls.nap(settle_seconds)
                if (name := await _name_after(failure, api, calls, queue, batch)) is not None:
                    return name
            await calls.waited(failure, number)


async def _name_after(
    error: UnsureError, api: BatchApi, calls: Calls, queue: BatchQueue, batch: BatchJob
) -> str | None:
    """Look up a batch whose submission got no answer: return its id, or None if it never arrived."""
    try:
        found = await search(api, calls, queue, batch)
    except EvidenceBenchError as failure:
        raise _unresolved(batch, f"{error}; {failure}") from failure
    if found.perhaps:
        raise _unresolved(batch, f"{error}; its id may be {' or '.join(found.perhaps)}")
    return found.name


def _unresolved(batch: BatchJob, why: str) -> UnresolvedError:
    return UnresolvedError(
        f"{batch.group.model}: a batch of {counted(batch.n_requests, 'request')} may have been submitted, but no "
        f"answer says so: {why}; run again: it is looked for first, and not submitted twice"
    )


async def search(api: BatchApi, calls: Calls, queue: BatchQueue, batch: BatchJob) -> SearchResult:
    """Look for a batch of which nobody has seen an id, at its provider."""
    sought = BatchSearch(
        intent=batch.intent,
        since=batch.created,
        n_requests=batch.n_requests,
        known=queue.known_names(),
        holds=lambda key: queue.request(batch, key) is not None,
    )
    return await api.find(calls, sought)


@asynccontextmanager
async def only_submitter(file: Path, sleep: Callable[[float], Awaitable[object]] | None) -> AsyncIterator[bool]:
    """Hold what one process at a time holds for a cache's file: it alone submits.

    So a submission without an id was cut off. The lock ends with its process. `sleep` waits until it is free; without
    one the block is given whether it was.
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
        while not (is_held := _is_locked(descriptor)) and sleep is not None:
            await sleep(_LOOK_AGAIN_SECONDS)
        yield is_held
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
