"""Serve the app: on an address for as long as a block runs, in a thread, or until a signal comes."""

import asyncio
import queue
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from uvicorn.server import ServerState

from evidencebench.integrations.fake_server.app import FakeModelApp
from evidencebench.integrations.fake_server.client import ClientConnection
from evidencebench.web.serving import config_for

_BACKLOG = 1024  # connections that wait to be taken


@asynccontextmanager
async def served(app: FakeModelApp, host: str, port: int) -> AsyncIterator[str]:
    """Serve an app until the block ends; yields its address, ``http://host:port``. Port 0 chooses a free port.

    Then all connections and batches are cut, and the log is closed.

    Raises `OSError` if the port is taken or may not be used.
    """
    config = config_for(
        app,
        http="h11",
        h11_max_incomplete_event_size=app.limits.max_head_bytes,
        timeout_keep_alive=int(app.limits.head_seconds) + 1,  # later than ours, which begins with the connection
    )
    config.load()
    state = ServerState()
    listener = await asyncio.get_running_loop().create_server(
        lambda: ClientConnection(config, state, app.limits, app.log), host, port, backlog=_BACKLOG
    )
    try:
        bound_host, bound_port = listener.sockets[0].getsockname()[:2]
        yield f"http://{f'[{bound_host}]' if ':' in bound_host else bound_host}:{bound_port}"
    finally:
        listener.close()
        for connection in tuple(state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # here requests notice that their clients have left
        for task in state.tasks:
            task.cancel()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        await app.close()


def serve_until_signal(app: FakeModelApp, *, host: str, port: int, on_start: Callable[[str], None]) -> None:
    """Serve an app until SIGINT or SIGTERM comes; `on_start` is called with its address once it listens.

    Raises `OSError` if the port is taken or may not be used.
    """

    async def serve() -> None:
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
        async with served(app, host, port) as address:
            on_start(address)
            await over.wait()

    asyncio.run(serve())


@contextmanager
def served_in_thread(
    app: FakeModelApp, *, port: int = 0, loop: asyncio.AbstractEventLoop | None = None
) -> Iterator[str]:
    """Serve an app on this machine, from a thread of its own, while the block runs; yields its address.

    Port 0 chooses a free port. ``loop`` is closed at the end; None: a new one. Raises `OSError` if the port is taken or
    may not be used.
    """
    started: queue.SimpleQueue[str | BaseException] = queue.SimpleQueue()
    loop, over = loop or asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        async with served(app, "127.0.0.1", port) as address:
            started.put(address)
            await over.wait()

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            started.put(error)
        finally:
            loop.close()

    thread = threading.Thread(target=run, name="fake server", daemon=True)
    thread.start()
    address = started.get()
    if isinstance(address, BaseException):
        raise address
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
