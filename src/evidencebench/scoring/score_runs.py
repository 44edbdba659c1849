"""Score run files: their labels, and their scores beside those of controls."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np

from evidencebench.data.dataset import Dataset, dataset_from, reopen_dataset, require_limit
from evidencebench.data.sources import DataFile
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.engine.local import InProcess, engine_of
from evidencebench.engine.protocol import Engine, outcomes_in_order
from evidencebench.errors import EvidenceWarning, RunError, RunMismatchError, TaskError, WorkerError
from evidencebench.execution.compatibility import check_answers, check_belongs, tasks_of
from evidencebench.files.disk import PathText, paths_from
from evidencebench.runs.answers import PERSON
from evidencebench.runs.formats import open_run
from evidencebench.runs.header import SHOWN_DIGITS, ControlName, QueryControl, RunHeader, SystemHeader, option_text
from evidencebench.runs.oddities import warn
from evidencebench.runs.run import RunFile
from evidencebench.scoring.compare import ControlResult, control_results
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.evaluate import Answering, answer_functions, evaluate_sources
from evidencebench.scoring.measures import ASPECT_RECALL, Measure, MeasureOrName
from evidencebench.scoring.oddities import is_changed, oddities, traits_of_run
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.selection import DEFAULT_RULES, Rules
from evidencebench.scoring.task_scores import TaskScores, summed
from evidencebench.wording import counted, first_few, one_line, without_folders


def runs_by_label(runs: Sequence[RunFile], names: Mapping[PathText, str] | None = None) -> dict[str, RunFile]:
    """Return label -> run: the system, with the options that differ where needed, or else the file's path.

    A language model's label begins with the model, a person's holds the name. ``names`` has the labels of runs, by
    path, that have none of these. A file in an option is shown by its name.
    """
    given = {Path(path): name for path, name in (names or {}).items()}
    if unknown := given.keys() - {run.path for run in runs}:
        known = ", ".join(f"'{run.path}'" for run in runs)
        raise RunError(f"names: '{min(unknown)}': no such run here; expected a path among {known}")
    systems = [_system_label(run) for run in runs]
    is_absolute = any(run.path.is_absolute() for run in runs)
    folder = os.path.commonpath([run.path.absolute().parent for run in runs]) if is_absolute else ""
    paths = [str(run.path.absolute().relative_to(folder) if is_absolute else run.path) for run in runs]
    labels = systems
    # A nested system by its name only, as long as that tells the runs apart.
    finer = [_with_options(runs, systems, paths, with_inner_options=inner) for inner in (False, True)]
    for finer_labels in (*finer, paths):
        counts = Counter(labels)
        labels = [longer if counts[label] > 1 else label for label, longer in zip(labels, finer_labels, strict=True)]
    if len(set(labels)) < len(labels):
        raise RunMismatchError(
            f"{next(label for label, n in Counter(labels).items() if n > 1)}: given twice; name each run once"
        )
    labels = [given.get(run.path, label) for run, label in zip(runs, labels, strict=True)]
    for name, n in Counter(labels).items():
        if n > 1 or not name.strip():
            raise RunError(f"names: expected a name for each run, got '{name}'{f' for {n} runs' if n > 1 else ''}")
    return dict(zip(labels, runs, strict=True))


def _system_label(run: RunFile) -> str:
    if run.header is None:
        return run.path.name
    system = run.header.system
    # A person is named even where no other person's run is shown.
    is_person = system.name == PERSON and "name" in system.options
    label = f"{PERSON}(name={option_text(system.options['name'])})" if is_person else _system_name(system)
    if run.header.crossval is not None and run.header.crossval.folds is not None:
        return f"{label}, cross-validated"
    return label if run.header.control is None else f"{label}, {run.header.control.words}"


def _system_name(system: SystemHeader) -> str:
    """Return a system's name; of a language model's strategy, behind its models: ``gpt-4o-mini · base``."""
    strategy = system.name.removeprefix("llm_")
    if strategy == system.name:
        return system.name
    systems = system.options.get("systems")  # of a vote
    parts = [part.get("options") for part in systems if isinstance(part, dict)] if isinstance(systems, list) else []
    options = [part for part in (system.options, *parts) if isinstance(part, dict)]
    models = [model for part in options if isinstance(model := part.get("model"), str)]
    shown = "+".join(dict.fromkeys(model.rstrip("/").rpartition("/")[2] for model in models))
    return f"{shown} · {strategy}" if shown else system.name


def _with_options(
    runs: Sequence[RunFile], names: Sequence[str], paths: Sequence[str], *, with_inner_options: bool
) -> list[str]:
    labels = list(paths)
    for place, (run, name) in enumerate(zip(runs, names, strict=True)):
        if run.header is None:
            continue
        options = run.header.system.options
        others = [
            other.header.system.options
            for other, other_name in zip(runs, names, strict=True)
            if other.header and other_name == name
        ]
        differing = [key for key in options if any(other.get(key) != options[key] for other in others)]
        texts = (f"{key}={option_text(options[key], with_inner_options=with_inner_options)}" for key in differing)
        labels[place] = without_folders(f"{name}({','.join(texts)})")
    return labels


MIN_INSTANCES_A_JOB = 500  # fewer are not worth another process
_BLOCK_SIZE = 32  # instances that a worker scores at a time

NOT_MEASURED = "not measured"

Scores = dict[str, dict[str, TaskScores]]  # source name -> task name -> scores


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRuns:
    """On a task without a budget, only controls that select have scores: a ranking would win by naming all."""

    dataset: Dataset
    rules: Rules  # how answers of runs were read
    tasks: tuple[Task, ...]
    runs: Mapping[str, RunFile]  # by label
    scores: Mapping[str, Mapping[str, TaskScores]]  # label -> task name -> scores
    controls: Mapping[str, Mapping[str, TaskScores]]  # name -> task name -> scores
    changed: Mapping[str, tuple[RunFile, Mapping[str, TaskScores]]] = field(default_factory=dict)
    """Runs that were asked changed queries, and their scores, by label; they are on no board."""
    warnings: tuple[EvidenceWarning, ...] = ()  # what is odd, of all runs

    def __repr__(self) -> str:
        runs = f"{counted(len(self.runs), 'run')}: {', '.join(map(repr, self.runs))}"
        return one_line(self, repr(self.dataset.name), ", ".join(task.name for task in self.tasks), runs)

    @property
    def n_instances(self) -> int:
        """How many instances were scored, those that a task does not apply to included."""
        scores = next(iter(next(iter(self.scores.values())).values()))
        return len(scores.ids) + scores.counts.not_applicable

    def trained_on_it(self, label: str) -> bool | None:
        """Say whether a model of a run was trained on this very data; None where the run cannot say."""
        return self.runs[label].trained_on(self.dataset.sha256)


def score_runs(
    paths: PathText | Iterable[PathText],
    dataset: Dataset | PathText,
    tasks: TaskOrName | Iterable[TaskOrName] = (),
    *,
    measures: Iterable[Measure] = (),
    rules: Rules = DEFAULT_RULES,
    with_controls: bool = True,
    with_selections: bool = False,
    changed_apart: bool = True,
    names: Mapping[PathText, str] | None = None,
    limit: int | None = None,
    jobs: int = 1,
    engine: Engine | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> ScoredRuns:
    """Score runs on the tasks asked for, or on all that every one can answer; parameters are as in `evaluate`.

    Answers of controls are read by the default rules. With ``limit``, runs over different numbers of instances can be
    scored together. ``names`` has labels by path. Runs that were asked changed queries (``run --control``) stand apart,
    in ``changed``, unless ``changed_apart`` is False; without another run, that raises `RunMismatchError`. What is odd
    is an `EvidenceWarning` each.
    """
    paths = paths_from(paths)
    if not paths:
        raise RunError("expected at least one run file, got none")
    dataset, tasks = dataset_from(dataset), tasks_from(tasks)
    runs = open_runs(paths, dataset, tasks, names)
    own = {label: run for label, run in runs.items() if not (changed_apart and is_changed(run))}
    if not own:
        raise RunMismatchError(
            f"{next(iter(runs.values())).path}: was asked changed queries, as every run here; "
            "add a run that was asked the data's own (evidencebench run SYSTEM without --control)"
        )
    asked = tuple(tasks) or common_tasks(list(runs.values()), dataset)
    dataset, n_instances = _common_part(runs, dataset, limit)
    engine = engine_of(engine, jobs, at_most=1 + n_instances // MIN_INSTANCES_A_JOB)
    how: dict[str, Any] = {"measures": tuple(measures), "rules": rules}
    how |= {"with_controls": with_controls, "with_selections": with_selections}
    if isinstance(engine, InProcess):
        scores = _scorer(dataset, runs, asked, **how)(data=dataset, limit=n_instances, on_progress=on_progress)
    else:
        _ = dataset.sha256  # other machines know the file by it
        setup, arguments = partial(_block_scorer, names=names, **how), (dataset.file, tuple(paths), asked)
        blocks = [
            dataset.ids[start : min(start + _BLOCK_SIZE, n_instances)] for start in range(0, n_instances, _BLOCK_SIZE)
        ]
        parts: list[Scores] = []
        for outcome in outcomes_in_order(engine, setup, arguments, blocks):
            if isinstance(outcome.error, WorkerError):
                first, last = outcome.item[0], outcome.item[-1]
                raise WorkerError(f"scoring {first} to {last}: {outcome.error}") from outcome.error
            parts.append(outcome.value)
            if on_progress is not None:
                on_progress(min(len(parts) * _BLOCK_SIZE, n_instances), n_instances)
        scores = {
            name: {task.name: _joined([part[name][task.name] for part in parts]) for task in asked} for name in parts[0]
        }
    applicable = tuple(task for task in asked if next(iter(scores.values()))[task.name].ids)
    for task in asked:
        if task not in applicable and (task in tasks or not applicable):
            raise TaskError(_why_nothing_counts(dataset, task, n_instances))
    by_label = {label: scores[f"run {label}"] for label in runs}
    odd = oddities(runs, by_label, dataset, rules)
    warn(odd)
    return ScoredRuns(
        dataset=dataset,
        rules=rules,
        tasks=applicable,
        runs=own,
        scores={label: by_label[label] for label in own},
        changed={label: (run, by_label[label]) for label, run in runs.items() if label not in own},
        warnings=odd,
        controls={
            name: {
                task: task_scores
                for task, task_scores in scores[f"control {name}"].items()
                if control.named.selects or task_scores.task.budget is not None
            }
            for name, control in (CONTROLS if with_controls else {}).items()
        },
    )


def _scorer(
    dataset: Dataset,
    runs: Mapping[str, RunFile],
    tasks: Sequence[Task],
    *,
    rules: Rules,
    with_controls: bool,
    **how: Any,
) -> Callable[..., Scores]:
    """Return `evaluate_sources` of runs and controls, with a prefix, since a run may have a control's name."""
    sources: dict[str, Answering] = {f"run {label}": run for label, run in runs.items()}
    of_runs = dict.fromkeys(sources, rules)
    if with_controls:
        sources |= {f"control {name}": control.named for name, control in CONTROLS.items()}
    answers, distractors = answer_functions(sources, dataset)
    return partial(evaluate_sources, answers, tasks=tasks, distractors=distractors, rules=of_runs, **how)


def _block_scorer(
    file: DataFile, paths: Sequence[Path], tasks: Sequence[Task], *, names: Mapping[PathText, str] | None, **how: Any
) -> Callable[[Sequence[str]], Scores]:
    dataset = reopen_dataset(file)
    score = _scorer(dataset, runs_by_label([open_run(path) for path in paths], names), tasks, **how)
    return lambda ids: score(data=[dataset[instance_id] for instance_id in ids])


def _joined(parts: Sequence[TaskScores]) -> TaskScores:
    each_instance = ("ids", "clusters", "selections", "over_length", "n_sentences", "cut_short", "answer_keys")
    rows: dict[str, Any] = {name: tuple(chain(*(getattr(part, name) for part in parts))) for name in each_instance}
    return TaskScores(
        task=parts[0].task,
        scores={key: np.concatenate([part.scores[key] for part in parts]) for key in parts[0].scores},
        epoch_recalls=tuple(map(np.concatenate, zip(*(part.epoch_recalls for part in parts), strict=True))),
        errors={name: error for part in parts for name, error in part.errors.items()},
        **summed(parts),
        **rows,
    )


def has_labels(dataset: Dataset, n_instances: int | None = None) -> bool:
    return any(instance.labels.aspects for instance in dataset.instances(n_instances))


def _why_nothing_counts(dataset: Dataset, task: Task, n_instances: int) -> str:
    applies = f"{dataset.path}: task '{task.name}' applies to none of the {counted(n_instances, 'instance')}"
    if has_labels(dataset, n_instances):
        return (
            f"{applies}: expected aspects labelled Results, got none; choose a task over all aspects, such as er_at_10"
        )
    return (
        f"{applies}: expected labels to score against, got papers without any; "
        "'evidencebench view' and 'evidencebench report' show what the runs chose"
    )


def open_runs(
    paths: Sequence[Path], dataset: Dataset, tasks: Sequence[Task], names: Mapping[PathText, str] | None = None
) -> dict[str, RunFile]:
    runs = runs_by_label([open_run(path) for path in paths], names)
    for run in runs.values():
        check_belongs(run, dataset)
        for task in tasks:
            check_answers(run, task, dataset)
    return runs


def common_tasks(runs: Sequence[RunFile], dataset: Dataset) -> tuple[Task, ...]:
    by_run = [tasks_of(run, dataset) for run in runs]
    common = tuple(task for task in by_run[0] if all(task in tasks for tasks in by_run))
    if not common:
        names = (", ".join(task.name for task in tasks) for tasks in by_run)
        texts = "; ".join(f"{run.path}: {tasks}" for run, tasks in zip(runs, names, strict=True))
        raise TaskError(f"the runs answer no task in common ({texts}); name one with --task")
    return common


def _common_part(runs: Mapping[str, RunFile], dataset: Dataset, limit: int | None) -> tuple[Dataset, int]:
    """Return the data set or the subset that all runs were asked, and how many of its first instances count."""
    require_limit(limit)
    wanted, all_ids = dataset.ids[:limit], dataset.whole.ids
    parts = {label: tuple(filter(frozenset(run.asked(all_ids)).__contains__, wanted)) for label, run in runs.items()}
    common = tuple(filter(set(wanted).intersection(*parts.values()).__contains__, wanted))
    is_first = common == wanted[: len(common)]
    # Of chosen instances all must count: a run that was not asked one would leave it out unseen.
    if common and {*parts.values(), wanted if dataset.chosen_ids else common} == {common}:
        return (dataset if is_first else dataset.subset(common)), len(common)
    how = f"limit {len(common)}" if is_first else f"ids: {first_few(common)}"
    advice = f"grade what all have with --{how}" if common else "they have no instance in common"
    numbers = ", ".join(f"{label}: {len(part)}" for label, part in parts.items())
    raise RunMismatchError(f"the runs cover different parts of the {len(wanted):,} instances ({numbers}); {advice}")


def is_complete(scored: ScoredRuns) -> bool:
    counts = (task_scores.counts for by_task in scored.scores.values() for task_scores in by_task.values())
    return not any(count.failed or count.missing for count in counts)


# Whether runs use the hypothesis, for the report, the leaderboard and the table: each beside one of its system that was
# asked changed queries.


def asked_changed(header: RunHeader | None) -> tuple[SystemHeader, QueryControl] | None:
    """Return the system and the control of a run with changed queries, whatever its seed; None: it is not known."""
    if header is None or header.control is None:
        return None
    # Its checksum says which file it was, wherever it lay; one of a user's own is called by the file.
    path = header.control.path if header.control.name == "changed" else None
    return header.system, msgspec.structs.replace(header.control, path=path and Path(path).name)


def changed_partners(scored: ScoredRuns) -> dict[str, dict[QueryControl, str]]:
    """Return run -> control -> the run of the same system with queries so changed, if possible of the same seed."""
    partners: dict[str, dict[QueryControl, str]] = {}
    for label, run in scored.runs.items():
        alike: dict[QueryControl, list[tuple[bool, str]]] = {}
        for other, (changed, _) in scored.changed.items():
            asked = asked_changed(changed.header)
            if run.header is not None and changed.header is not None and asked and asked[0] == run.header.system:
                alike.setdefault(asked[1], []).append((changed.header.seed != run.header.seed, other))
        partners[label] = {control: min(labels)[1] for control, labels in alike.items()}
    return partners


def results_of_runs(
    scored: ScoredRuns,
    resampling: Resampling,
    names: Sequence[ControlName] = get_args(ControlName),
    measure: MeasureOrName = ASPECT_RECALL,
) -> tuple[ControlResult, ...]:
    """Compare each run with its partners on every task; p-values are adjusted over all that can differ."""
    partners = changed_partners(scored)
    words = _control_words({control for by_control in partners.values() for control in by_control})
    compared = [
        (label, words[control], scored.scores[label][task.name], scored.changed[partner][1][task.name])
        for name in names
        for label, by_control in partners.items()
        for control, partner in by_control.items()
        if control.name == name
        for task in scored.tasks
    ]
    reads = {label: reads_hypothesis(run) for label, run in scored.runs.items()}
    return control_results(compared, reads, resampling, measure)


def _control_words(controls: Collection[QueryControl]) -> dict[QueryControl, str]:
    """Return the words of each control; files of one name are told apart by their checksums."""
    n_alike = Counter(control.words for control in controls)
    digits = {control: f", sha256:{str(control.sha256)[:SHOWN_DIGITS]}" for control in controls}
    return {one: f"{one.words}{digits[one] if n_alike[one.words] > 1 else ''}" for one in controls}


def reads_hypothesis(run: RunFile) -> bool:
    return traits_of_run(run).reads_hypothesis
