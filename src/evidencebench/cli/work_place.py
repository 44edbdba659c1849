"""The options that say where work runs: ``--engine``, ``--jobs`` and those of a Ray cluster."""

import os
from dataclasses import dataclass

import click

from evidencebench.cli import options
from evidencebench.engine.in_process import InProcess
from evidencebench.engine.protocol import Engine
from evidencebench.engine.ray_cluster import RayCluster
from evidencebench.extras import require_extra


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPlace:
    """Where work runs: on an engine, or where that is None, in so many processes, fewer for small data."""

    jobs: int = 1
    engine: Engine | None = None


def _work_place(
    engine: str | None, jobs: int | None, ray_address: str | None, gpus_per_worker: float | None
) -> WorkPlace:
    """Return the place that the options name; raise where they do not go together."""
    if engine != "ray" and (ray_address is not None or gpus_per_worker is not None):
        raise click.UsageError("--ray-address and --gpus-per-worker go with --engine ray")
    if engine == "ray":
        require_extra("--engine ray", "ray", "ray")
        return WorkPlace(
            engine=RayCluster(n_actors=jobs or None, address=ray_address, gpus_per_actor=gpus_per_worker or 0)
        )
    if engine == "local":
        if jobs is not None and jobs != 1:
            raise click.UsageError("--engine local is this process alone: leave --jobs out, or choose another engine")
        return WorkPlace(engine=InProcess())
    if jobs is None:
        jobs = 1 if engine is None else 0
    return WorkPlace(jobs=jobs or _count_processors())


def _count_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


work_place = options.bundled_as(
    "place",
    _work_place,
    options.number(
        "-j",
        "--jobs",
        least=0,
        help="Processes, fewer for small data, or workers of a cluster; 0: one a processor. [default: 1]",
    ),
    click.option(
        "--engine",
        type=click.Choice(["local", "processes", "ray"]),
        help="Where work runs: this process, processes of this machine, or a Ray cluster. [default: by --jobs]",
    ),
    click.option("--ray-address", metavar="A", help="Of the cluster: local, auto or host:port; see docs/scale.md."),
    click.option(
        "--gpus-per-worker",
        type=options.Finite(0),
        metavar="N",
        help="GPUs that each worker of a cluster holds, such as 1 or 0.5.",
    ),
)
