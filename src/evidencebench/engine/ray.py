"""Work on a Ray cluster: this machine alone, or many that have the same files."""

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, inf
from pathlib import Path
from typing import Any, ClassVar

from evidencebench.engine.processes import Event, Reply, dispatch, reply_to, sendable, why_it_died
from evidencebench.engine.protocol import Item, Outcome, Result, Setup, do_nothing, require_workers
from evidencebench.errors import EngineError
from evidencebench.provenance import require_extra
from evidencebench.version import __version__

_WAIT_SECONDS, _CONNECT_SECONDS = 0.5, 10.0
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
            actors = _Actors(ray, self, setup, tuple(arguments))
            yield from dispatch(actors, _count_room(ray, self), items, on_interrupt)


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
                    "machine with --ray-address local"
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


class _Actors:
    """The actors of one call, each named by its handle."""

    share_memory_of_machine = False  # others go on, though a slow item is tried again

    def __init__(self, ray: Any, cluster: RayCluster, setup: Setup[Any, Any], arguments: tuple[Any, ...]) -> None:
        self._ray, self._begin = ray, ray.put((setup, arguments, str(Path.cwd()), __version__))
        resources = {"num_cpus": cluster.cpus_per_actor, "num_gpus": cluster.gpus_per_actor}
        self._actor = ray.remote(max_restarts=0, **resources)(_Actor)
        self._handles: set[Any] = set()
        self._waited_for: dict[Any, Any] = {}  # reference to a reply -> the actor that gives it

    def start(self) -> Any:
        handle = self._actor.remote()
        self._handles.add(handle)
        self._waited_for[handle.begin.remote(self._begin)] = handle
        return handle

    def send(self, worker: Any, item: Any) -> None:
        self._waited_for[worker.answer.remote(item)] = worker

    def wait(self) -> Iterator[Event[Any]]:
        done, _ = self._ray.wait(list(self._waited_for), num_returns=1, timeout=_WAIT_SECONDS)
        for reference in done:
            worker = self._waited_for.pop(reference)
            try:
                told = self._ray.get(reference)
            except self._ray.exceptions.RayActorError as error:
                self._handles.remove(worker)
                is_lost = isinstance(error, self._ray.exceptions.ActorUnavailableError)
                yield Event(worker, died=_why_it_died(error), is_lost=is_lost)
            else:
                if isinstance(told, Exception):
                    raise told
                yield Event(worker, told)

    def kill(self) -> None:
        while self._handles:
            self._ray.kill(self._handles.pop())

    end = kill


def _why_it_died(error: Exception) -> str:
    """Return Ray's reason in one line, without its advice; of a process that is gone, Ray knows no more than that."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    detail = next((line for line in reversed(lines) if "exit detail: " in line or "died" in line), lines[-1])
    reason = detail.partition("exit detail: ")[2].partition(" Some common causes")[0] or detail
    return why_it_died(None) if "unexpectedly exits" in reason else reason


class _Actor:
    """What runs in a process of the cluster."""

    _work: Callable[[Any], Any]

    def begin(self, given: tuple[Setup[Any, Any], tuple[Any, ...], str, str]) -> Reply | Exception:
        """Open what the work needs; return an empty reply, or what keeps it from beginning."""
        setup, arguments, folder, version = given
        try:
            _require_same_place(folder, version)
            self._work = setup(*arguments)
        except Exception as error:  # noqa: BLE001 - raised where the work was asked for
            return sendable(error)
        return None, None

    def answer(self, item: Any) -> Reply:
        return reply_to(self._work, item)


def _require_same_place(folder: str, version: str) -> None:
    machine = os.uname().nodename
    if version != __version__:
        raise EngineError(f"ray: {machine} has evidencebench {__version__}, expected {version}; install that there")
    try:
        os.chdir(folder)  # paths may be relative to it
    except OSError as error:
        raise EngineError(
            f"ray: {machine} has no folder {folder}: {error.strerror}; every machine of the cluster needs the same "
            "files under the same paths, such as by a shared file system"
        ) from error
