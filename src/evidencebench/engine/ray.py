"""Work on a Ray cluster: this machine alone, or many that have the same files."""

import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil, inf
from pathlib import Path
from typing import Any, ClassVar

from evidencebench.engine.dispatch import DIED, MOST_EARLY_DEATHS, Death, Reply, dispatch, replies_to, sendable
from evidencebench.engine.protocol import Item, Outcome, Result, Setup, do_nothing, require_workers
from evidencebench.errors import EngineError, WorkerError
from evidencebench.provenance import require_extra
from evidencebench.version import __version__

_CONNECT_SECONDS = 10.0
# Read when Ray is imported. No report of use goes anywhere, and nothing is printed among the results.
_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS_SKIP_REGEX": "."}


@dataclass(frozen=True, slots=True, kw_only=True)
class RayCluster:
    """Runs items in actors of a Ray cluster: processes that hold what they have opened, such as a model.

    It needs the extra ``ray``. Every machine of the cluster needs the same version of evidencebench, and the same files
    under the same paths: a file is known by its checksum.

    Attributes
    ----------
    n_actors
        How many actors work at a time; None, or more than the cluster has room for: as many as it has room for.
    address
        ``"local"`` starts a cluster on this machine, which ends with the work; ``"auto"`` is the one that runs on this
        machine, or that the variable ``RAY_ADDRESS`` names; or ``"host:port"``. None: ``"auto"``, or else ``"local"``.
    cpus_per_actor, gpus_per_actor
        What an actor takes for itself. With a fraction of a GPU, several actors share one.

    Raises
    ------
    ValueError
        If there is no actor, an actor takes no CPU, or a number is negative or not finite.

    Examples
    --------
    >>> RayCluster(n_actors=4, gpus_per_actor=1).shares_memory
    False
    """

    n_actors: int | None = None
    address: str | None = None
    cpus_per_actor: float = 1
    gpus_per_actor: float = 0
    shares_memory: ClassVar[bool] = False
    is_one_machine: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_actors is not None:
            require_workers("RayCluster", self.n_actors)
        if not (0 < self.cpus_per_actor < inf and 0 <= self.gpus_per_actor < inf):
            got = f"{self.cpus_per_actor!r} and {self.gpus_per_actor!r}"
            raise ValueError(f"RayCluster: expected more than 0 CPUs and at least 0 GPUs an actor, got {got}")

    def outcomes(
        self,
        setup: Setup[Item, Result],
        arguments: Sequence[Any],
        items: Iterable[Item],
        *,
        on_interrupt: Callable[[], object] = do_nothing,
    ) -> Iterator[Outcome[Item, Result]]:
        """Yield outcomes as `Engine.outcomes` says.

        Raises `MissingExtraError` if Ray is not installed, and `EngineError` if the cluster cannot be reached, or has
        no room for an actor.
        """
        with _connected(self) as ray:
            n_actors = _count_room(ray, self)
            pool = _ActorPool(ray, self, n_actors, setup, tuple(arguments))
            yield from dispatch(pool, n_actors, items, on_interrupt)


@contextmanager
def _connected(cluster: RayCluster) -> Iterator[Any]:
    """Give the package Ray, connected to the cluster, unless this process is connected already, as in a notebook."""
    require_extra("the engine ray", "ray", "ray")
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    import ray  # noqa: PLC0415 - an extra, which takes a second

    if ray.is_initialized():
        yield ray
        return
    try:
        _connect(ray, cluster)
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, cluster: RayCluster) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    named = cluster.address or os.environ.get("RAY_ADDRESS")
    if cluster.address != "local":
        try:
            host, _, port = (named or "").rpartition("//")[2].rpartition(":")
            if host:  # where nothing listens, Ray would wait many minutes
                socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
            ray.init(cluster.address or "auto", **quiet)
        except (OSError, ValueError, RuntimeError) as error:  # a ConnectionError is an OSError
            if named is not None:
                why = str(error).partition("\n")[0]
                raise EngineError(
                    f"ray: there is no cluster at '{named}': {why}; start one with 'ray start --head', or work on this "
                    "machine with --set ray-address=local"
                ) from error
        else:
            return
    n_cpus = max(os.cpu_count() or 1, ceil(cluster.cpus_per_actor * (cluster.n_actors or 1)))
    ray.init("local", num_cpus=n_cpus, include_dashboard=False, **quiet)


def _count_room(ray: Any, cluster: RayCluster) -> int:
    """Return how many actors work at a time; raise where no machine has room for one."""
    asked = {"CPU": cluster.cpus_per_actor, "GPU": cluster.gpus_per_actor}
    machines = [{name: node["Resources"].get(name, 0.0) for name in asked} for node in ray.nodes() if node["Alive"]]
    room = sum(int(min((has[name] / asked[name] for name in asked if asked[name]), default=inf)) for has in machines)
    if room == 0:
        most = max(machines, key=lambda has: (has["GPU"], has["CPU"]), default=dict.fromkeys(asked, 0.0))
        raise EngineError(
            f"ray: a worker asks for {_resources(asked)}, and no machine of the cluster has that: the largest has "
            f"{_resources(most)}; ask for less, or add a machine to the cluster"
        )
    return room if cluster.n_actors is None else min(room, cluster.n_actors)


def _resources(resources: dict[str, float]) -> str:
    return f"{resources['CPU']:g} CPU and {resources['GPU']:g} GPU"


_Batch = tuple[Sequence[Any], Future[list[Reply] | Exception]]


class _ActorPool:
    """Actors that take a batch at a time once they have begun; one that dies is replaced. Ray calls it from threads."""

    share_memory_of_machine = False  # others go on, though a slow item is tried again

    def __init__(
        self, ray: Any, cluster: RayCluster, n_actors: int, setup: Setup[Any, Any], arguments: tuple[Any, ...]
    ) -> None:
        self._ray, self._given = ray, ray.put((setup, arguments, str(Path.cwd()), __version__))
        resources = {"num_cpus": cluster.cpus_per_actor, "num_gpus": cluster.gpus_per_actor}
        self._actor = ray.remote(max_restarts=0, **resources)(_Actor)
        self._n_actors, self._n_early_deaths = n_actors, 0
        self._lock = threading.RLock()
        self._actors: set[Any] = set()
        self._idle: list[Any] = []
        self._waiting: deque[_Batch] = deque()  # batches that no actor has

    def submit(self, items: Sequence[Any]) -> Future[list[Reply] | Exception]:
        replies = Future[list[Reply] | Exception]()
        with self._lock:
            self._waiting.append((items, replies))
            if len(self._actors) < self._n_actors and not self._idle:
                self._start()
            self._feed()
        return replies

    def death(self, error: BaseException) -> Death | None:
        return error if isinstance(error, Death) else None

    def end(self, *, at_once: bool) -> None:  # noqa: ARG002 - no actor has anything to do, or all are killed
        with self._lock:
            self._waiting.clear()
            for actor in self._actors:
                self._ray.kill(actor)
            self._actors.clear()

    def _start(self) -> None:
        actor = self._actor.remote()
        self._actors.add(actor)
        actor.begin.remote(self._given).future().add_done_callback(partial(self._note_begun, actor))

    def _feed(self) -> None:
        while self._idle and self._waiting:
            actor, (items, replies) = self._idle.pop(), self._waiting.popleft()
            actor.answer.remote(items).future().add_done_callback(partial(self._tell, actor, replies))

    def _note_begun(self, actor: Any, begun: "Future[None]") -> None:
        error = begun.exception()
        with self._lock:
            if error is None:
                self._idle.append(actor)
                self._feed()
            elif actor in self._actors:  # else they were all ended
                self._actors.remove(actor)
                self._n_early_deaths += not self._is_lost(error)
                self._replace(error)

    def _replace(self, error: BaseException) -> None:
        """Start another actor in place of one that died before it had begun, or tell that they all do."""
        if self._n_early_deaths < MOST_EARLY_DEATHS:
            self._start()
            return
        words = f"{MOST_EARLY_DEATHS} workers died before they had begun an item; the last: {_why_it_died(error)}"
        while self._waiting:
            self._waiting.popleft()[1].set_exception(WorkerError(words))

    def _tell(
        self, actor: Any, replies: Future[list[Reply] | Exception], future: Future[list[Reply] | Exception]
    ) -> None:
        error = future.exception()
        if error is None:
            with self._lock:
                self._idle.append(actor)
                self._feed()
            replies.set_result(future.result())
        elif isinstance(error, self._ray.exceptions.RayActorError):
            with self._lock:
                self._actors.discard(actor)
            replies.set_exception(Death(_why_it_died(error), is_blamed=not self._is_lost(error)))
        else:
            replies.set_exception(error)

    def _is_lost(self, error: BaseException) -> bool:
        return isinstance(error, self._ray.exceptions.ActorUnavailableError)


def _why_it_died(error: BaseException) -> str:
    """Return Ray's reason in one line, without its advice; of a process that is gone, Ray knows no more than that."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    detail = next((line for line in reversed(lines) if "exit detail: " in line or "died" in line), lines[-1])
    reason = detail.partition("exit detail: ")[2].partition(" Some common causes")[0] or detail
    return DIED if "unexpectedly exits" in reason else reason


class _Actor:
    """What runs in a process of the cluster."""

    _work: Callable[[Any], Any] | Exception

    def begin(self, given: tuple[Setup[Any, Any], tuple[Any, ...], str, str]) -> None:
        """Open what the work needs, or keep what prevents that, which is raised where the work was asked for."""
        setup, arguments, folder, version = given
        try:
            _require_same_place(folder, version)
            self._work = setup(*arguments)
        except Exception as error:  # noqa: BLE001 - as above
            self._work = sendable(error)

    def answer(self, items: Sequence[Any]) -> list[Reply] | Exception:
        return self._work if isinstance(self._work, Exception) else replies_to(self._work, items)


def _require_same_place(folder: str, version: str) -> None:
    machine = socket.gethostname()
    if version != __version__:
        raise EngineError(f"ray: {machine} has evidencebench {__version__}, expected {version}; install that there")
    try:
        os.chdir(folder)  # paths may be relative to it
    except OSError as error:
        raise EngineError(
            f"ray: {machine} has no folder {folder}: {error.strerror}; every machine of the cluster needs the same "
            "files under the same paths, such as by a shared file system"
        ) from error
