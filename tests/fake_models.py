"""A fake model server on loopback, in a thread, for as long as a test needs it."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from evidencebench.construction.gold_studies import GoldStudy
from evidencebench.data.dataset import Dataset
from evidencebench.integrations.fake_server.app import FakeModelApp
from evidencebench.integrations.fake_server.client import ConnectionLimits
from evidencebench.integrations.fake_server.request_log import LogEntry
from evidencebench.integrations.fake_server.serving import served_in_thread
from evidencebench.integrations.fake_server.settings import PASSING_FAULTS, Fault, Personality, Settings

T = TypeVar("T")


@dataclass(kw_only=True)
class RunningServer:
    """A fake server that runs in another thread, and what became of its requests."""

    app: FakeModelApp
    entries: list[LogEntry]
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    root_url: str = ""  # as the official Anthropic client wants it

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
        """Return the lines of the log, oldest first."""
        return self._between_requests(lambda: list(map(msgspec.structs.asdict, self.entries)))

    def totals(self) -> dict[str, Any]:
        return self._between_requests(lambda: dict(self.app.log.totals))

    def _between_requests(self, make: Callable[[], T]) -> T:
        async def made() -> T:
            return make()

        return asyncio.run_coroutine_threadsafe(made(), self.loop).result()


def fake_model_app(
    dataset: Dataset,
    *,
    personality: Personality | str = Personality.ORACLE,
    fault_kinds: Iterable[Fault | str] = PASSING_FAULTS,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 - frozen
    clock: Callable[[], float] = time.time,
    studies: Iterable[GoldStudy] = (),
    **settings: Any,
) -> tuple[FakeModelApp, list[LogEntry]]:
    """Return the app that the server serves, with the list that its log fills."""
    entries: list[LogEntry] = []
    chosen = Settings(personality=Personality(personality), fault_kinds=tuple(map(Fault, fault_kinds)), **settings)
    return FakeModelApp(dataset, chosen, limits=limits, clock=clock, entries=entries, studies=studies), entries


@contextmanager
def running_fake_server(dataset: Dataset, *, port: int = 0, **options: Any) -> Iterator[RunningServer]:
    """Run a fake server until the block ends; options as `fake_model_app` and `Settings` take them."""
    app, entries = fake_model_app(dataset, **options)
    server = RunningServer(app=app, entries=entries)
    with served_in_thread(app, port=port, loop=server.loop) as server.root_url:
        yield server
