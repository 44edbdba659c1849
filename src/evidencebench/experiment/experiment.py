"""Experiment: systems on data, from the runs to the tables of a paper."""

import inspect
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.engine.protocol import Engine
from evidencebench.execution.answers import SystemFunction
from evidencebench.execution.changes import HypothesisFunction, control_of, query_control
from evidencebench.execution.making import system_from
from evidencebench.execution.run import execute, rehearse
from evidencebench.experiment.boards import Uncertainty, leaderboard_result, paper_result
from evidencebench.experiment.pairs import comparison_result, control_result
from evidencebench.experiment.result_table import ResultTable
from evidencebench.files.atomic import write_whole
from evidencebench.files.disk import PathText
from evidencebench.integrations.frames import Frame, scores_frame
from evidencebench.models.llm.client import ESTIMATE_COLUMNS, ChatClient, EstimatingSender, ModelEstimate
from evidencebench.models.llm.costs import PriceTable
from evidencebench.models.llm.replies import open_cache
from evidencebench.pages.report.page import write_report
from evidencebench.runs.formats import GivenAnswer, answers_in
from evidencebench.runs.header import QueryControl
from evidencebench.runs.run import Failure, RunFile
from evidencebench.scoring.compare import ControlResult, Pair
from evidencebench.scoring.leaderboard import BEST, Board, SystemsTable
from evidencebench.scoring.measures import ASPECT_RECALL, Measure, MeasureOrName
from evidencebench.scoring.resampling import DEFAULT_DRAWS, DEFAULT_LEVEL, PairTest, Resampling
from evidencebench.scoring.score_runs import ScoredRuns, results_of_runs, score_runs
from evidencebench.scoring.selection import DEFAULT_RULES, Rules
from evidencebench.scoring.task_scores import TaskScores, summed
from evidencebench.system import NamedSystem, System, Traits
from evidencebench.tables import table_for_csv, table_for_readers
from evidencebench.wording import counted, one_line

Control = str | QueryControl | HypothesisFunction
Given = str | NamedSystem | System | type | SystemFunction | RunFile | Path | Mapping[str, GivenAnswer]


class Experiment:
    """Systems on data: runs them and resumes, scores them, and makes the tables, all from the same numbers.

    Parameters
    ----------
    systems
        What answers, by name; or a list, whose names are the specifications or the names of classes and functions.
        One is a specification as `make_system` takes it, an object or class with ``rank(query, task)``, a function
        ``(query, task) -> indices``, the best first, or answers that are there already: a run's path, or a dict
        instance id -> answer. None is given labels.
    data
        The data set, its path or its catalogue name.
    tasks
        Tasks or their names; empty: all that every system can answer.
    seeds
        How many seeds, 0 to ``seeds`` - 1, or the seeds. A specification or class is run once a seed, and an instance
        counts with its mean over them; the deviation between seeds is shown as that between epochs. An object, a
        function and stored answers have one run.
    controls
        How queries are changed on purpose, each in runs of its own; empty: not at all. A control of your own is a
        function of a query that returns another hypothesis; a dict of name -> function names several.
    folder
        Where the runs are kept, which the next experiment resumes: ``NAME.jsonl``, with a control
        ``NAME.wrong_hypothesis.jsonl``, with a seed above 0 ``NAME.seed1.jsonl``. None: a temporary folder.
    overwrite
        Whether runs that the folder holds are made anew, once; else those of other settings are an error.
    limit
        Only the first so many instances; None: all.
    rules
        How answers that do not fit the budget are read.
    measures
        Measures of your own, which every method then takes as ``measure``, as itself or by its key.
    test
        A test of your own in place of sign flips, as of `Resampling`.
    draws, level, seed
        Of the intervals and tests: how many draws, how many of them an interval holds (in 0..1), and their seed.
    jobs, engine, client
        As in `execute`.
    on_progress
        Called with (name of the run, instances done, instances in all).

    Examples
    --------
    >>> from evidencebench import Experiment
    >>> def first_ten(query, task):
    ...     return list(range(10))
    >>> experiment = Experiment(["bm25", first_ten], "sample", tasks="er_at_10")
    >>> print(experiment.controls().csv().splitlines()[1][:21])
    bm25,wrong hypothesis
    """

    def __init__(
        self,
        systems: Mapping[str, Given] | Sequence[Given] | str,
        data: Dataset | PathText,
        *,
        tasks: TaskOrName | Iterable[TaskOrName] = (),
        seeds: int | Sequence[int] = 1,
        controls: Control | Iterable[Control] | Mapping[str, Control] = "wrong_hypothesis",
        folder: PathText | None = None,
        overwrite: bool = False,
        limit: int | None = None,
        rules: Rules = DEFAULT_RULES,
        measures: Iterable[Measure] = (),
        test: PairTest | None = None,
        draws: int = DEFAULT_DRAWS,
        level: float = DEFAULT_LEVEL,
        seed: int = 0,
        jobs: int = 1,
        engine: Engine | None = None,
        client: ChatClient | None = None,
        on_progress: Callable[[str, int, int], None] = lambda *_: None,
    ) -> None:
        self.dataset: Dataset = dataset_from(data)
        self.tasks: tuple[Task, ...] = tasks_from(tasks)
        self.limit = limit
        self.rules = rules
        self.resampling: Resampling = Resampling(seed=seed, n_draws=draws, level=level, test=test)
        self.measures: tuple[Measure, ...] = tuple(measures)
        self.seeds: tuple[int, ...] = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
        self._controls = controls
        self.systems: dict[str, Given] = _named([systems] if isinstance(systems, str) else systems)
        for name, several in {"systems": self.systems, "seeds": self.seeds}.items():
            if not several:
                raise ValueError(f"{name}: expected at least one")
        self.folder: Path = Path(tempfile.mkdtemp(prefix="evidencebench-") if folder is None else str(folder))
        if folder is None:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._how: dict[str, Any] = {"jobs": jobs, "engine": engine}
        self._client, self._on_progress = client, on_progress
        self._to_overwrite = overwrite
        for given in self.systems.values():
            _require_system(given)

    def __repr__(self) -> str:
        tasks = ", ".join(task.name for task in self.tasks)
        return one_line(self, f"{counted(len(self.systems), 'system')} on {self.dataset.name!r}", tasks)

    @cached_property
    def query_controls(self) -> tuple[QueryControl, ...]:
        """The controls; those of functions are files in the folder ``controls``, which commands take too."""
        return tuple(dict.fromkeys(self._query_control(name, given) for name, given in _named_controls(self._controls)))

    def _query_control(self, name: str, given: Control) -> QueryControl:
        if isinstance(given, str | QueryControl):
            return query_control(given)
        path = self.folder / "controls" / f"{_file_name(name)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return control_of(given, self.dataset, path)

    def run(self) -> "Experiment":
        """Run what is not run yet, and return the experiment; an interrupted one goes on where it stopped.

        Raises
        ------
        RunMismatchError
            If the folder holds another run under a name; other errors are those of `execute`.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, given in self.systems.items():
            for planned in self._planned(name):
                if isinstance(given, Mapping):
                    _write_answers(given, planned.path)
                elif not isinstance(given, Path | RunFile):
                    execute(
                        _made(given, planned.seed),
                        self.dataset,
                        planned.path,
                        tasks=self.tasks,
                        limit=self.limit,
                        seed=planned.seed,
                        control=planned.control,
                        client=self._client,
                        overwrite=self._to_overwrite,
                        on_progress=partial(self._on_progress, planned.path.stem),
                        **self._how,
                    )
        self._to_overwrite = False
        return self

    def estimate(
        self, *, reply_tokens: int = 400, prices: PathText | None = None
    ) -> ResultTable[tuple[ModelEstimate, ...]]:
        """Return what language models that are named by a specification would be asked, and its cost; nothing is sent.

        Requests whose replies are stored are left out. A reply is taken to have ``reply_tokens``; ``prices`` is a file
        in place of the package's own prices.

        Examples
        --------
        >>> experiment = Experiment(["llm_base:model=openai/gpt-4o-mini"], "sample", tasks="er_at_10")
        >>> experiment.estimate().found[0].requests
        20
        """
        table = PriceTable.load(prices)
        sender = EstimatingSender(table, completion_tokens=reply_tokens)
        client = ChatClient(sender=sender, cache=open_cache(), prices=table)
        how: dict[str, Any] = {"tasks": self.tasks, "limit": self.limit, "client": client}
        try:
            for name, given in self.systems.items():
                for planned in self._planned(name):
                    if isinstance(given, str) and system_from(given, seed=planned.seed, client=client).waits:
                        rehearse(given, self.dataset, seed=planned.seed, control=planned.control, **how)
        finally:
            client.close()
        estimates = sender.estimates()
        return ResultTable(
            found=estimates,
            tables=(table_for_readers(ESTIMATE_COLUMNS, estimates),),
            figures=table_for_csv(ESTIMATE_COLUMNS, estimates),
            fields=list(map(asdict, estimates)),
        )

    def _planned(self, name: str) -> Iterator["_Planned"]:
        """Yield the runs of a system: its seeds with the own queries, then those with each control."""
        given = self.systems[name]
        if isinstance(given, Path | RunFile):
            yield _Planned(given if isinstance(given, Path) else given.path, 0, None)
            return
        is_asked = not isinstance(given, Mapping)
        for control in (None, *(self.query_controls if is_asked else ())):
            for seed in self.seeds if isinstance(given, str | type) else self.seeds[:1]:
                parts = [_file_name(name)]
                parts += [] if control is None else [_file_name(control.words.replace(" ", "_"))]
                parts += [f"seed{seed}"] if seed else []
                yield _Planned(self.folder / ".".join([*parts, "jsonl" if is_asked else "json"]), seed, control)

    @cached_property
    def scored(self) -> ScoredRuns:
        """The scores of every system by its name, after running what is not run yet; each the mean over its seeds."""
        planned = [(name, run) for name in self.run().systems for run in self._planned(name)]
        how = {"rules": self.rules, "limit": self.limit, **self._how}
        paths = list(dict.fromkeys(run.path for _, run in planned))
        scored = score_runs(paths, self.dataset, self.tasks, with_selections=True, measures=self.measures, **how)
        scores = {**scored.scores, **{label: by_task for label, (_, by_task) in scored.changed.items()}}
        runs = {**scored.runs, **{label: run for label, (run, _) in scored.changed.items()}}
        label_of = {run.path: label for label, run in runs.items()}
        of_seeds: dict[tuple[str, QueryControl | None], list[str]] = {}
        for name, run in planned:
            of_seeds.setdefault((name, run.control), []).append(label_of[run.path])
        means = {
            key: {task.name: _mean_over([scores[label][task.name] for label in labels]) for task in scored.tasks}
            for key, labels in of_seeds.items()
        }
        return replace(
            scored,
            runs={name: runs[labels[0]] for (name, control), labels in of_seeds.items() if control is None},
            scores={name: by_task for (name, control), by_task in means.items() if control is None},
            changed={
                f"{name}, {control.words}": (runs[labels[0]], means[name, control])
                for (name, control), labels in of_seeds.items()
                if control is not None
            },
        )

    def leaderboard(
        self, measure: MeasureOrName = ASPECT_RECALL, *, published: bool = False
    ) -> ResultTable[Mapping[str, Board]]:
        """Return the leaderboard of each task, with the ranks that each system can claim, beside the controls.

        With ``published``, the published figures of the official test split stand below.

        Examples
        --------
        >>> experiment = Experiment(["bm25", "cues"], "sample", tasks="er_at_10", controls=())
        >>> [row.system for row in experiment.leaderboard().found["er_at_10"].ranked][:2]
        ['cues', 'lead']
        """
        return leaderboard_result(self.scored, self.resampling, measure, published=published)

    def table(
        self,
        measure: MeasureOrName = ASPECT_RECALL,
        *,
        uncertainty: Uncertainty = "interval",
        against: str = BEST,
        controls: bool = False,
        published: bool = False,
    ) -> ResultTable[SystemsTable]:
        """Return systems x tasks as one table for a paper.

        Parameters
        ----------
        measure
            What is in the cells: a measure or its key.
        uncertainty
            What stands behind a mean: ``"interval"``, ``"error"`` (standard error), ``"epochs"`` (standard deviation of
            the means of seeds or epochs) or ``"none"``.
        against
            Differences to which system are marked: its name, ``"best"`` or ``"none"``.
        controls
            Whether the label-free controls and the ceiling are rows.
        published
            Whether the published figures of the official test split are rows.

        Raises
        ------
        RunError
            If there is no system ``against``, or it is not to be tested.

        Examples
        --------
        >>> experiment = Experiment(["bm25", "cues"], "sample", tasks="er_at_10", controls=())
        >>> print(experiment.table(uncertainty="none").text().splitlines()[0])
        system  er_at_10
        """
        scored = self.scored if controls else replace(self.scored, controls={})
        return paper_result(
            scored, self.resampling, measure, uncertainty=uncertainty, against=against, published=published
        )

    def compare(
        self, first: str | None = None, second: str | None = None, measure: MeasureOrName = ASPECT_RECALL
    ) -> ResultTable[tuple[Pair[str], ...]]:
        """Compare two systems by their names, or every two; p is adjusted over the pairs that are compared.

        Raises
        ------
        ValueError
            If a name is no system of this experiment, or only one is given.

        Examples
        --------
        >>> experiment = Experiment(["bm25", "cues"], "sample", tasks="er_at_10", controls=())
        >>> experiment.compare("bm25", "cues").found[0].comparison.test.n_better
        0
        """
        if first is None and second is None:
            return comparison_result(self.scored, self.resampling, measure, details=False)
        for name in (first, second):
            if name not in self.systems:
                known = ", ".join(f"'{system}'" for system in self.systems)
                raise ValueError(f"compare: no system {name!r} in this experiment; expected two of {known}")
        return comparison_result(self.scored, self.resampling, measure, pairs=[(str(first), str(second))])

    def controls(self, measure: MeasureOrName = ASPECT_RECALL) -> ResultTable[tuple[ControlResult, ...]]:
        """Return what changed queries do to each system: whether it uses the hypothesis.

        Raises
        ------
        ValueError
            If nothing was asked changed queries.

        Examples
        --------
        >>> experiment = Experiment(["bm25", "lead"], "sample", tasks="er_at_10")
        >>> [result.comparison.can_differ for result in experiment.controls().found]
        [True, False]
        """
        results = results_of_runs(self.scored, self.resampling, measure=measure)
        if not results:
            raise ValueError("controls: nothing here was asked changed queries; give the experiment controls=...")
        declared = {name: getattr(system, "traits", None) for name, system in self.systems.items()}
        reads = {name: traits.reads_hypothesis for name, traits in declared.items() if isinstance(traits, Traits)}
        results = tuple(replace(one, reads_hypothesis=reads.get(one.system, one.reads_hypothesis)) for one in results)
        signatures = {name: run.signature for name, run in self.scored.runs.items()}
        return control_result(results, signatures, self.dataset, self.resampling, measure)

    def per_instance(self, *, backend: str | None = None) -> Frame:
        """Return a data frame with a row for each system, task and instance, as `scores_frame` does."""
        return scores_frame(self.scored.scores, backend=backend)

    def report(self, path: PathText, *, title: str = "") -> Path:
        """Write the report, one HTML file, of the first seed's runs; return its path.

        Raises
        ------
        DataError
            If the file cannot be written.
        """
        runs = [run.path for run in self.scored.runs.values()] + [run.path for run, _ in self.scored.changed.values()]
        how: dict[str, Any] = {"rules": self.rules, "limit": self.limit, "resampling": self.resampling, **self._how}
        return write_report(path, runs, self.dataset, tasks=self.tasks, title=title, **how)


class _Planned(NamedTuple):
    path: Path
    seed: int
    control: QueryControl | None


def _named(systems: Mapping[str, Given] | Sequence[Given]) -> dict[str, Given]:
    if isinstance(systems, Mapping):
        return {name: _opened(given) for name, given in systems.items()}
    named: dict[str, Given] = {}
    for given in map(_opened, systems):
        name = _name_of(given)
        if name in named:
            raise TypeError(f"systems: two are named '{name}'; give a dict of name -> system")
        named[name] = given
    return named


def _name_of(given: Given) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, Path | RunFile):
        return (given if isinstance(given, Path) else given.path).stem
    if isinstance(given, Mapping):
        raise TypeError("systems: answers in a dict have no name; give a dict of name -> {instance id: answer}")
    return str(getattr(given, "name", None) or getattr(given, "__name__", None) or type(given).__name__)


def _opened(given: Given) -> Given:
    """Return a system as it is given; a text that names a file is the path of a run."""
    return Path(given) if isinstance(given, str) and Path(given).is_file() else given


def _named_controls(given: Control | Iterable[Control] | Mapping[str, Control]) -> Iterable[tuple[str, Control]]:
    if isinstance(given, Mapping):
        return given.items()
    several = [given] if isinstance(given, str | QueryControl) or callable(given) else list(dict.fromkeys(given))
    named = [(str(getattr(one, "__name__", one)), one) for one in several]
    if len(dict(named)) < len(named):
        raise ValueError("controls: expected names that differ; give a dict, {name: control}")
    return named


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.=-]+", "_", name)


def _require_system(given: Given) -> None:
    """Raise `TypeError` for what cannot be run, when the experiment is made and not at its first table."""
    if not isinstance(given, str | type | Path | RunFile | Mapping):
        system_from(given)


def _made(given: Any, seed: int) -> Any:
    """Return what `execute` takes: an object of a class, with the seed where it takes one; a system of a function."""
    if isinstance(given, type):
        takes_seed = "seed" in inspect.signature(given).parameters
        return given(seed=seed) if takes_seed else given()
    return given


def _write_answers(answers: Mapping[str, GivenAnswer], path: Path) -> None:
    """Write a dict of answers as a file that commands read; a failed answer is null."""
    shown: dict[str, Any] = {}
    for instance_id, answer in answers_in(answers).items():
        if isinstance(answer, Failure):
            shown[instance_id] = None
        else:
            shown[instance_id] = {"ranking" if answer.ordered else "set": answer.sentences}
    write_whole(path, msgspec.json.encode(shown))


def _mean_over(of_seeds: Sequence[TaskScores]) -> TaskScores:
    """Return scores of one system as their mean over the seeds, which are shown as epochs are; counts are of all."""
    first = of_seeds[0]
    if len(of_seeds) == 1:
        return first
    return replace(
        first,
        scores={key: np.mean([scores.scores[key] for scores in of_seeds], axis=0) for key in first.scores},
        answer_keys=tuple(map(hash, zip(*(scores.answer_keys for scores in of_seeds), strict=True))),
        epoch_recalls=tuple(scores.recalls for scores in of_seeds),
        **summed(of_seeds),
    )
