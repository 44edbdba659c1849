"""Cross_validate(): figures, and the out-of-fold run."""

import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import asdict

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task
from evidencebench.engine.local import engine_of
from evidencebench.engine.protocol import Engine, results
from evidencebench.errors import RunError, RunFormatError, WorkerError
from evidencebench.execution.asking import Waiting
from evidencebench.execution.compatibility import data_header
from evidencebench.execution.making import all_options, make_system
from evidencebench.files.atomic import write_whole
from evidencebench.files.disk import PathText
from evidencebench.files.records import RecordFormat, require_same
from evidencebench.models.llm.client import ChatClient
from evidencebench.provenance import differences
from evidencebench.runs.answers import ANSWERS, header_of
from evidencebench.runs.header import CrossvalHeader, RunHeader, SystemHeader, differing_runs
from evidencebench.runs.run import Answer, encode_answer, read_run
from evidencebench.scoring.compare import distractor_shares, overlaps
from evidencebench.scoring.evaluate import AnswerSource, evaluate_sources
from evidencebench.scoring.resampling import Estimate, Floats, Resampling, bootstrap, bootstrap_defined
from evidencebench.scoring.significance import PairedTest, paired_test
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.training.crossval_splits import (
    AnsweredSplit,
    CrossValidation,
    Picks,
    Plan,
    Split,
    changes_of_seed,
    gather_splits,
    make_plan,
    split_worker,
    splits_of,
    versions_before_training,
)
from evidencebench.training.trainings import trainable
from evidencebench.wording import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """The scores of one system on one task; each instance counts with its mean over the seeds."""

    recall: Estimate  # aspect recall, each paper asked with its own hypothesis
    seed_spread: float  # standard deviation, between seeds, of the mean recall; 0 with one seed
    wrong: Estimate  # recall when asked the changed queries, by default with another paper's hypothesis
    drop: PairedTest  # recall - wrong, paired: what the change costs
    overlap: Estimate | None  # Jaccard index of the selections for both queries; None if nothing is selected
    distractor: Estimate | None  # of two papers: the share of the selected sentences that are the other one's
    blind: Estimate | None  # recall when trained and asked without the hypothesis; None if the system cannot be
    gain: PairedTest | None  # recall - blind, paired
    per_instance: Mapping[str, float]  # instance id -> its mean aspect recall over the seeds

    def __repr__(self) -> str:
        return one_line(self, f"aspect recall {self.recall.mean:.3f}", f"n={self.recall.n}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFigures:
    system: str  # its specification
    tasks: Mapping[str, TaskFigures]
    lead: Mapping[str, PairedTest]  # task -> the first system's recall - this one's, paired; empty for the first system
    fit_seconds: float | None  # median time to train one model; None if nothing is trained
    answer_seconds: float  # median time to answer all tasks on one paper; a fold's first paper includes loading
    n_failed: int  # failed answers, to the own, the changed or no hypothesis; they score 0
    n_tried: int  # configurations that were compared within each training set; never on a scored paper

    def __repr__(self) -> str:
        recalls = ", ".join(f"{task} {figures.recall.mean:.3f}" for task, figures in self.tasks.items())
        return one_line(self, repr(self.system), recalls)


def figures_of(
    plan: Plan, dataset: Dataset, tasks: Sequence[Task], finished: Sequence[AnsweredSplit], resampling: Resampling
) -> list[SystemFigures]:
    distractors = {
        _key(system, seed, "wrong"): change.distractors
        for seed in plan.seeds
        for change in [changes_of_seed(plan, dataset, seed)]
        for system in plan.systems
        if change is not None and change.distractors is not None
    }
    scores = evaluate_sources(_sources(finished), dataset, tasks, distractors)

    def of(system: str, variant: str, task: Task) -> list[TaskScores]:
        keys = [_key(system, seed, variant) for seed in plan.seeds]
        return [scores[key][task.name] for key in keys if key in scores]

    first = plan.systems[0]
    applicable = [task for task in tasks if of(first, "own", task)[0].ids]
    of_systems = []
    for system in plan.systems:
        answered = [split for split in finished if system in split.split.systems]
        fits = [split.fit_seconds for split in answered if split.split.fold is not None]
        seconds = [seconds for split in answered for seconds in split.answer_seconds[system].values()]
        training = trainable(system)
        figures, lead = {}, {}
        for task in applicable:
            own, wrong, blind = (of(system, variant, task) for variant in ("own", "wrong", "blind"))
            figures[task.name] = _task_figures(own, wrong, blind, resampling)
            if system != first:
                means = _mean_over_seeds(of(first, "own", task)), _mean_over_seeds(own)
                lead[task.name] = paired_test(*means, own[0].clusters, resampling)
        of_systems.append(
            SystemFigures(
                system=system,
                tasks=figures,
                lead=lead,
                fit_seconds=statistics.median(fits) if fits else None,
                answer_seconds=statistics.median(seconds),
                n_failed=sum(split.n_failed(system) for split in answered),
                n_tried=0 if training is None else int(getattr(training.training, "n_tried", 1)),
            )
        )
    return of_systems


def _sources(finished: Sequence[AnsweredSplit]) -> dict[str, AnswerSource]:
    picks: dict[str, Picks] = {}
    for answers in finished:
        variants = {"blind": answers.own} if answers.split.blind else {"own": answers.own, "wrong": answers.wrong}
        for variant, by_system in variants.items():
            for system, system_picks in by_system.items():
                picks.setdefault(_key(system, answers.split.seed, variant), {}).update(system_picks)
    return {key: partial(_answer, picks_of_key) for key, picks_of_key in picks.items()}


def _answer(picks: Picks, instance: Instance, task: Task) -> Answer | None:
    counted = picks.get(instance.id, {}).get(task.name)
    return None if counted is None else counted.answer


def _key(system: str, seed: int, variant: str) -> str:
    return f"{variant} {seed} {system}"


def _task_figures(
    own: Sequence[TaskScores], wrong: Sequence[TaskScores], blind: Sequence[TaskScores], resampling: Resampling
) -> TaskFigures:
    means, clusters = [scores.mean_recall for scores in own], own[0].clusters
    recalls, when_changed = _mean_over_seeds(own), _mean_over_seeds(wrong)

    def share(of_seed: Callable[[TaskScores, TaskScores], Floats]) -> Estimate | None:
        shares = np.mean([of_seed(*pair) for pair in zip(own, wrong, strict=True)], axis=0)
        return bootstrap_defined(shares[:, None], clusters, resampling)[0]

    return TaskFigures(
        recall=bootstrap(recalls, clusters, resampling),
        seed_spread=statistics.stdev(means) if len(means) > 1 else 0.0,
        wrong=bootstrap(when_changed, clusters, resampling),
        drop=paired_test(recalls, when_changed, clusters, resampling),
        overlap=share(overlaps),
        distractor=share(distractor_shares) if own[0].n_sentences != wrong[0].n_sentences else None,
        blind=bootstrap(_mean_over_seeds(blind), clusters, resampling) if blind else None,
        gain=paired_test(recalls, _mean_over_seeds(blind), clusters, resampling) if blind else None,
        per_instance=dict(zip(own[0].ids, recalls.tolist(), strict=True)),
    )


def _mean_over_seeds(scores: Sequence[TaskScores]) -> Floats:
    means: Floats = np.mean([of_seed.recalls for of_seed in scores], axis=0)
    return means


def require_replaceable(path: Path, plan: Plan, dataset: Dataset, *, is_known: bool) -> None:
    if not path.parent.is_dir():
        raise RunError(f"{path}: cannot be written: there is no folder '{path.parent}'; make it first")
    if not path.exists():
        return
    if not path.is_file():
        raise RunError(f"{path}: expected a regular file, got a folder, a pipe or a device; choose another name")
    try:
        header = read_run(path).header if ANSWERS.is_at(path) else None
    except RunFormatError:
        header = None
    if header is None or header.crossval is None:
        raise RunError(f"{path}: holds something else, which would be lost; choose another name")
    if not is_known:
        require_same(path, differing_runs(header, _header(plan, dataset, ())))


def run_lines(
    plan: Plan, dataset: Dataset, tasks: Sequence[Task], finished: Sequence[AnsweredSplit]
) -> Iterator[bytes]:
    """Yield the answers of a plan's first system under its first seed as a run, the same bytes for the same splits."""
    system, seed = plan.systems[0], plan.seeds[0]
    mine = [each for each in finished if each.split.seed == seed and not each.split.blind and system in each.own]
    yield msgspec.json.encode(header_of(_header(plan, dataset, mine))) + b"\n"
    answered = {instance_id: picks for answers in mine for instance_id, picks in answers.own[system].items()}
    for instance_id in dataset.ids:
        for task in tasks:
            counted = answered[instance_id].get(task.name)
            if counted is not None:  # else the task does not apply to the instance
                yield encode_answer(instance_id, task.name, counted.answer) + b"\n"


def _header(plan: Plan, dataset: Dataset, mine: Sequence[AnsweredSplit]) -> RunHeader:
    system, seed = plan.systems[0], plan.seeds[0]
    trained_on: tuple[str, ...] | None = None
    if None not in (known := [answers.trained_on for answers in mine]):
        trained_on = tuple(sorted(set().union(*((by_system or {}).get(system, ()) for by_system in known))))
    training = trainable(system)
    if training is None:
        named = make_system(system, seed=seed)
        name, options = named.name, dict(named.options)
    else:  # under the training's name, with the options of both
        of_training = all_options((training.without("figures") or training).training, {})
        name, options = training.name, {**of_training, **training.options}
    return RunHeader(
        system=SystemHeader(name=name, options=options),
        data=data_header(dataset),
        tasks=plan.tasks,
        per_task=True,
        seed=seed,
        crossval=CrossvalHeader() if training is None else CrossvalHeader(folds=plan.n_folds, splitter=plan.splitter),
        versions={"evidencebench": plan.evidencebench, **versions_before_training([system])},
        trained_on=trained_on,
    )


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    evidencebench_crossval: int = 1
    plan: Plan


_JOURNALS = RecordFormat(
    header=_Header,
    record=AnsweredSplit,
    begins=b'{"evidencebench_crossval":',
    what="a cross-validation's journal",
    a_record="a finished split",
    made_by="evidencebench crossval",
    version_field="evidencebench_crossval",
    remedy="start over with --overwrite",
)


def cross_validate(
    what: CrossValidation | str | Sequence[str],
    dataset: Dataset | PathText,
    *,
    jobs: int = 1,
    engine: Engine | None = None,
    journal: PathText | None = None,
    run: PathText | None = None,
    overwrite: bool = False,
    client: ChatClient | None = None,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    on_progress: Callable[[int, int], None] | None = None,
) -> list[SystemFigures]:
    """Return the figures of each system; every instance is answered by models that were not trained on its paper.

    Parameters
    ----------
    what
        A specification or several, or a `CrossValidation`, which says on which tasks, in how many folds and so on.
    dataset
        The data set, its path or its catalogue name.
    jobs, engine
        How many processes; or where the work runs instead.
    journal
        The file of finished splits, so that the same call goes on after an interruption; None: none.
    run
        Where the first system's answers under the first seed are written in the end, as a run; None: nowhere.
    overwrite
        Whether to start a journal over.
    client, waiting
        For systems that ask a language model.
    on_progress
        Called with (splits done, splits in all).

    Raises
    ------
    RunFormatError
        If the journal is damaged.
    RunMismatchError
        If the journal or the run is of another cross-validation.
    StopError
        If no more requests may be sent.
    WorkerError
        Once all other splits are done, where one took its worker with it twice.
    SystemSpecError, TaskError, UndefinedScoreError
        Before any work: what `make_plan` raises.

    Examples
    --------
    >>> from evidencebench import CrossValidation
    >>> what = CrossValidation(systems="bm25", tasks="er_at_10", n_folds=2, n_seeds=1, with_blind=False)
    >>> round(cross_validate(what, "sample")[0].tasks["er_at_10"].recall.mean, 3)
    0.37
    """
    what = what if isinstance(what, CrossValidation) else CrossValidation(systems=what)
    dataset = dataset_from(dataset)
    plan, tasks = make_plan(what, dataset), what.asked
    splits = list(splits_of(plan))
    if run is not None:
        # What splits a journal holds is compared with the plan when it is opened.
        is_known = overwrite or (journal is not None and is_journal(Path(journal)))
        require_replaceable(Path(run), plan, dataset, is_known=is_known)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(journal or Path(scratch) / "splits.jsonl")
        with _JOURNALS.append(path, _Header(plan=plan), overwrite=overwrite, differing=_differing) as file:
            finished = {line.record.split: line.record for line in _JOURNALS.scan(path)[1]}

            def keep(answered: AnsweredSplit) -> None:
                file.append(msgspec.json.encode(answered))
                finished[answered.split] = answered
                if on_progress is not None:
                    on_progress(len(finished), len(splits))

            todo = [split for split in splits if split not in finished]
            waits = {split for split in todo if split.waits}
            # Splits that wait for a server come first: an error of the server, such as a wrong key, then shows at once.
            asked = [split for split in todo if split in waits]
            for answered in gather_splits(asked, plan, dataset, tasks, client=client, waiting=waiting):
                keep(answered)
            computed = [split for split in todo if split not in waits]
            engine = engine_of(engine, jobs, at_most=len(computed))
            lost: list[str] = []

            def note_lost(split: Split, error: Exception) -> None:
                if not isinstance(error, WorkerError) or journal is None:
                    raise error
                fold = "" if split.fold is None else f", fold {split.fold}{', blind' if split.blind else ''}"
                # Raised when the other splits are kept.
                lost.append(f"{' and '.join(split.systems)}, seed {split.seed}{fold}: {error}")

            for answered in results(engine, split_worker, (dataset.file, plan), computed, on_error=note_lost):
                keep(answered)
            if lost:
                raise WorkerError(
                    f"{path}: {len(lost)} of {len(computed)} splits failed, the first: {lost[0]}; the others are "
                    "kept, and the next call tries these again"
                )
            if run is not None:
                write_whole(Path(run), run_lines(plan, dataset, tasks, [finished[split] for split in splits]))
    return figures_of(plan, dataset, tasks, [finished[split] for split in splits], what.resampling)


def is_journal(path: Path) -> bool:
    """Say whether a file is a journal of a cross-validation, as earlier versions wrote it in place of a run."""
    return path.is_file() and _JOURNALS.is_at(path)


def _differing(before: _Header, now: _Header) -> str:
    begun, plan = ({**asdict(header.plan), "folds": hash(header.plan.folds)} for header in (before, now))
    versions = differences(begun.pop("versions"), plan.pop("versions"))
    return "; ".join(filter(None, (differences(begun, plan), versions)))
