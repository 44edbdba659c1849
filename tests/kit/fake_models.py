"""The trial server on loopback, in a thread, for as long as a test needs it."""

import asyncio
import json
import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.request import urlopen

from uvicorn.server import ServerState

from doors import GoldStudy, listening_socket
from doors import web_server_of as server_of
from evidencebench import Dataset
from kit.trial_batches import AnthropicBatches, OpenAIBatches
from kit.trial_server import CutConnection, TrialModel, TrialServer, TrialSettings


@dataclass(kw_only=True)
class RunningServer:
    """A server that runs in another thread, and what became of its requests."""

    app: TrialServer
    root_url: str  # as the official Anthropic client wants it

    @property
    def base_url(self) -> str:
        """What stands before ``/chat/completions`` and ``/messages``."""
        return f"{self.root_url}/v1"

    @property
    def port(self) -> int:
        return int(self.root_url.rpartition(":")[2])

    def spec(self, name: str = "llm_base", *, model: str = "local/fake", more: str = "") -> str:
        """Return the specification of a strategy that asks this server; `more` are further options."""
        return f"{name}:model={model},base_url={self.base_url}{more}"

    def log_entries(self) -> list[dict[str, Any]]:
        """Return an entry for each request and each row of a batch, oldest first."""
        return list(self.app.entries)

    def totals(self) -> dict[str, Any]:
        return dict(self.app.totals)

    def end_batches(self) -> None:
        """Answer what batches of OpenAI's API still hold, however long they were to take, and wait until it is done."""
        self.app.settings = replace(self.app.settings, batch_delay_seconds=0.0)
        is_open = True
        while is_open:
            with urlopen(f"{self.base_url}/batches") as reply:  # noqa: S310 - loopback
                is_open = any(one["status"] in {"validating", "in_progress"} for one in json.load(reply)["data"])


def fake_model_app(dataset: Dataset, *, studies: Iterable[GoldStudy] = (), **settings: Any) -> TrialServer:
    """Return the app that the server serves."""
    if "fault_kinds" in settings:
        settings["fault_kinds"] = tuple(settings["fault_kinds"])
    chosen = TrialSettings(**settings)
    app = TrialServer(TrialModel(dataset, chosen, studies), chosen)
    OpenAIBatches(app)
    AnthropicBatches(app)
    return app


@contextmanager
def running_fake_server(dataset: Dataset, *, port: int = 0, **options: Any) -> Iterator[RunningServer]:
    """Run a server until the block ends, which cuts its connections; options as `fake_model_app` takes them."""
    app, bound = fake_model_app(dataset, **options), listening_socket("127.0.0.1", port)
    started: queue.SimpleQueue[Any] = queue.SimpleQueue()

    async def serve() -> None:
        loop, over, state = asyncio.get_running_loop(), asyncio.Event(), ServerState()
        config = server_of(app).config  # its server would take a fifth of a second to end
        config.load()
        listener = await loop.create_server(lambda: CutConnection(config, state, {}), sock=bound, backlog=1024)
        started.put(partial(loop.call_soon_threadsafe, over.set))
        await over.wait()
        listener.close()
        for _ in range(3):  # passes of the loop until what was just taken is a connection
            await asyncio.sleep(0)
        for connection in tuple(state.connections):
            connection.transport.abort()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="fake server", daemon=True)
    thread.start()
    end = started.get()
    try:
        yield RunningServer(app=app, root_url=f"http://127.0.0.1:{bound.getsockname()[1]}")
    finally:
        end()
        thread.join()
