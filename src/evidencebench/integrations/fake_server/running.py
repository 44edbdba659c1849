"""Run a fake server in a thread, as tests do, or until a signal comes, as the command does."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evidencebench.data.dataset import Dataset
from evidencebench.integrations.fake_server.connection import Limits
from evidencebench.integrations.fake_server.faults import PASSING_FAULTS, Fault
from evidencebench.integrations.fake_server.personalities import Personality
from evidencebench.integrations.fake_server.server import FakeServer
from evidencebench.integrations.fake_server.settings import Settings

LOOPBACK = "127.0.0.1"
Result = TypeVar("Result")


class RunningServer:
    """A fake server that runs in another thread.

    Attributes
    ----------
    base_url
        What stands before ``/chat/completions`` and ``/messages``.
    root_url
        The same without ``/v1``, as the official Anthropic client wants it.
    """

    def __init__(self, server: FakeServer, loop: asyncio.AbstractEventLoop) -> None:
        self._server, self._loop = server, loop
        self.root_url = server.address
        self.base_url = f"{server.address}/v1"

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.root_url.rpartition(":")[2])

    def log_entries(self) -> list[dict[str, Any]]:
        """Return what became of each request so far, oldest first: the lines of the log, see `Entry`."""
        entries = self._ask(_given(lambda: list(self._server.book.entries)))
        return [msgspec.structs.asdict(entry) for entry in entries]

    def totals(self) -> dict[str, Any]:
        """Return what became of all requests so far, as ``GET /log`` tells it, see `Totals`."""
        return self._ask(_given(lambda: msgspec.structs.asdict(self._server.totals)))

    def _ask(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@contextmanager
def running_fake_server(
    dataset: Dataset,
    *,
    personality: Personality | str = Personality.ORACLE,
    faults: float = 0.0,
    fault_kinds: Iterable[Fault | str] = PASSING_FAULTS,
    seed: int = 0,
    latency: float = 0.0,
    hang_seconds: float = 30.0,
    retry_after: float = 0.05,
    batch_delay: float = 0.0,
    batch_expire: float = 0.0,
    refuse_rate: float = 0.0,
    repairable: bool = False,
    log: Path | None = None,
    port: int = 0,
    limits: Limits | None = None,
    clock: Callable[[], float] = time.time,
) -> Iterator[RunningServer]:
    """Run a fake server on loopback until the block ends.

    Parameters
    ----------
    dataset
        What the prompts are about.
    personality, faults, fault_kinds, seed, batch_expire, refuse_rate, repairable, log
        As in `Settings`.
    latency, hang_seconds, retry_after, batch_delay
        Seconds, as in `Settings`.
    port
        0: a free one.
    limits
        What a client may ask of a connection; None: the default ones.
    clock
        Seconds since 1970.

    Raises
    ------
    ValueError
        If there is no such personality or fault.
    MissingExtraError
        If h11 is not installed.
    OSError
        If the port is taken.
    """
    settings = Settings(
        personality=Personality(personality),
        faults=faults,
        fault_kinds=tuple(map(Fault, fault_kinds)),
        seed=seed,
        latency_seconds=latency,
        hang_seconds=hang_seconds,
        retry_after_seconds=retry_after,
        batch_delay_seconds=batch_delay,
        batch_expire=batch_expire,
        refuse_rate=refuse_rate,
        repairable=repairable,
        log=log,
    )
    server = FakeServer(dataset, settings, limits=limits, clock=clock, keeps_entries=True)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fake server", daemon=True)
    thread.start()

    def do(work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    try:
        do(server.start(LOOPBACK, port))
        yield RunningServer(server, loop)
    finally:
        do(server.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def serve_until_signal(
    dataset: Dataset, settings: Settings, *, host: str, port: int, on_start: Callable[[str], None]
) -> None:
    """Run a fake server until SIGINT or SIGTERM comes.

    Parameters
    ----------
    dataset
        What the prompts are about.
    settings
        How it behaves.
    host, port
        Where it listens; port 0: a free one.
    on_start
        Called with the server's address, as ``http://host:port``, once it listens.

    Raises
    ------
    MissingExtraError
        If h11 is not installed.
    OSError
        If the port is taken or may not be used.
    """
    server = FakeServer(dataset, settings)
    asyncio.run(_serve(server, host, port, on_start))


async def _serve(server: FakeServer, host: str, port: int, on_start: Callable[[str], None]) -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    try:
        await server.start(host, port)
        on_start(server.address)
        await over.wait()
    finally:
        await server.stop()


async def _given(make: Callable[[], Result]) -> Result:
    """Return what a function returns, called in the loop's thread, between two requests."""
    return make()
