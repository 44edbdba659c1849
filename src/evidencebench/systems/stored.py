"""A system that answers from a file, so that the file's answers can be fused and reordered."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from evidencebench.errors import RunError, RunMismatchError, SystemSpecError, TaskError
from evidencebench.query import Query
from evidencebench.runs.formats import open_run
from evidencebench.runs.run import Failure, RunFile
from evidencebench.system import Asked, Ranking, RankingTask, Traits


def _join_tasks(tasks: Iterable[str | None]) -> str:
    return ", ".join(sorted(task for task in tasks if task is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The answers in a run file, to fuse or reorder.

    If the file lacks an answer, or its answer failed, this system's answer is a failure too. A file with one answer for
    each task answers only these tasks. A set without order stays without order.
    """

    run: Path  # in any form that `open_run` reads; a run made with this system has its checksum in the header
    _opened: RunFile = field(init=False, repr=False, compare=False)
    # Instance id -> the tasks that the file answers for it; None stands for an answer that serves every task.
    _tasks_of: dict[str, set[str | None]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "run", Path(self.run))
        opened = open_run(self.run)
        if opened.header is not None and opened.header.knows_labels:
            name = opened.header.system.name
            raise SystemSpecError(
                f"stored: run: {self.run} was made by '{name}', which is given the labels, so no system may use it"
            )
        tasks_of: dict[str, set[str | None]] = {}
        for instance_id, task in opened.done:
            tasks_of.setdefault(instance_id, set()).add(task)
        object.__setattr__(self, "_opened", opened)
        object.__setattr__(self, "_tasks_of", tasks_of)

    @property
    def traits(self) -> Traits:
        header = self._opened.header
        return Traits(
            reads_task=any(tasks != {None} for tasks in self._tasks_of.values()),
            selects=header is not None and any(task.endswith("_unconstrained") for task in header.tasks),
            versions=lambda: {f"run {self.run}": f"sha256:{self._opened.sha256}"},
            trained_on=lambda: () if header is None else header.trained_on or (),
            check=self._check,
        )

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        scope = "result_er" if task.scope == "results" else "er"
        official = f"{scope}_unconstrained" if task.budget is None else f"{scope}_at_{task.budget}"
        name = task.name or official
        answer = self._opened.answer(query.instance_id, name)
        if answer is None:
            got = _join_tasks(self._tasks_of.get(query.instance_id, ()))
            wanted = f"expected an answer for {name}, got answers for {got}" if got else "the file has no answer"
            raise RunError(f"{self.run}: {query.instance_id}: {wanted}")
        if isinstance(answer, Failure):
            raise RunError(f"{self.run}: {query.instance_id}: the stored answer failed: {answer.error}")
        return answer

    def _check(self, asked: Asked) -> None:
        """Raise unless the answers fit the asked tasks, data and hypotheses; without a header, any data fits."""
        header = self._opened.header
        answered = set().union(*self._tasks_of.values())
        known = set(header.tasks) if header is not None and header.per_task else answered
        lacking = [name for name in asked.tasks if known and None not in known and name not in known]
        if lacking:
            raise TaskError(
                f"{self.run}: cannot answer task '{lacking[0]}': it holds answers for {_join_tasks(known)} only; "
                "name one of these with --task"
            )
        if header is not None and header.control is not None:
            raise RunMismatchError(
                f"{self.run}: answers changed queries ({header.control.words}), which belong to no instance"
            )
        if header is not None and header.data.sha256 != asked.data_sha256:
            raise RunMismatchError(
                f"{self.run}: was made on {header.data.name} with sha256 {header.data.sha256[:12]}..., and this data "
                f"has {asked.data_sha256[:12]}...; run the system on this data first"
            )
        if not asked.own_queries:
            raise RunMismatchError(
                f"{self.run}: its answers are for the data's own queries, so they cannot be asked changed ones"
            )
