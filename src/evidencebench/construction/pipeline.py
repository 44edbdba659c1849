"""All steps of a construction, one after the other, each gone on with where it was stopped; and its status."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec

from evidencebench.construction.assemble import AssemblyReport, OnProgress, assemble, progress_of
from evidencebench.construction.config import Config, read_config
from evidencebench.construction.draft import (
    DATASET_FOLDER,
    MANIFEST,
    MODEL_STEPS,
    STEP_FILES,
    Draft,
    dropped,
    files_in,
    input_of,
    open_drafts,
    output_of,
)
from evidencebench.construction.edits import read_edits, require_known, sums_after
from evidencebench.construction.harvest.harvest import HarvestReport, HarvestRules, harvest
from evidencebench.construction.harvest.papers import PaperFolder, PapersAtHand, papers_in
from evidencebench.construction.harvest.references import ALLOWED
from evidencebench.construction.harvest.table import harvest_table
from evidencebench.construction.judge import judge_step
from evidencebench.construction.leakage import Met, papers_elsewhere
from evidencebench.construction.losses import StepLosses, explained, filter_drafts
from evidencebench.construction.noise import LabelNoise, estimate_noise
from evidencebench.construction.people.labels import newest_drafts
from evidencebench.construction.people.marks import marked_aspects
from evidencebench.construction.recheck import asks_again, lead_in, recheck_step
from evidencebench.construction.step import ModelStep, StepReport, run_step, step_asker
from evidencebench.construction.writing import ASPECTS, LABEL_RESULTS, SUMMARIES, hypotheses_step
from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.engine.protocol import Engine
from evidencebench.errors import NothingKeptError, UnreadableError
from evidencebench.execution.asking import Waiting
from evidencebench.files.atomic import require_replaceable_folder
from evidencebench.files.disk import PathText
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.providers import key_for, place_of_key, server_of
from evidencebench.systems.llm.asking import Asker


@dataclass(frozen=True, slots=True, kw_only=True)
class Constructed:
    steps: tuple[StepReport, ...]  # of those that ask a model
    unreadable: tuple[str, ...] = ()  # why reviews could not be read
    unreadable_papers: Mapping[str, str] = field(default_factory=dict)  # file, relative to their folder -> why
    dataset: AssemblyReport | None = None  # None where drafts are to be asked for again, or after a pilot
    explained: tuple[str, ...] = ()  # step by step, why nothing is kept; empty where something is
    noise: LabelNoise | None = None  # of the labels; None where nothing is judged yet

    @property
    def n_failures(self) -> int:
        return sum(len(step.failures) for step in self.steps)


def steps_of(config: Config) -> tuple[str, ...]:
    return MODEL_STEPS[1 if config.file.table else 0 :]


def configured_step(config: Config, name: str, client: ChatClient, more: int = 0) -> tuple[ModelStep, str]:
    """Return a step as it was last run, `recheck` with so many ``more`` votes of lead, and the model that it asks."""
    judge, papers = config.file.judge, PaperFolder(config.papers)
    if name not in ("judge", "recheck"):
        steps = (SUMMARIES, hypotheses_step(papers), ASPECTS, LABEL_RESULTS)
        return next(step for step in steps if step.name == name), config.file.model
    step = judge_step(judge, papers)
    if name == "recheck":
        second = None if judge.second_model is None else step_asker(judge.second_model, client=client)
        step = recheck_step(judge, papers, lead=lead_in(output_of(name, config.work)) + more, second=second)
    return step, judge.model or config.file.model


def construct(
    config: Config | PathText,
    *,
    client: ChatClient,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    today: date | None = None,
    limit: int | None = None,
    until: str | None = None,
    partial: bool = False,
    overwrite: bool = False,
    drops_failed: bool = False,
    jobs: int = 1,
    engine: Engine | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> Constructed:
    """Make a benchmark of papers and reviews, step by step; what is done already is not done again.

    A draft that was edited, or of which what it was made of has changed, is made again from there on, alone.

    Parameters
    ----------
    config
        The configuration, or its file: papers, folder, model and settings of the steps.
    client
        What asks the language model, as `make_client` makes it.
    waiting
        How many requests wait at once.
    today
        The day that stands in the data; None: today's.
    limit
        How many drafts each step that asks a model is given, as a pilot, which makes no data set. None: all.
    until
        The step behind which it ends; None: the last.
    partial
        Whether to make a data set of the drafts that came through all steps, though others wait: those of the pilot, or
        without ``limit`` those that are done, so that nothing is asked. Datasheet and manifest call it partial.
    overwrite
        Whether to do steps again whose settings or prompts changed.
    drops_failed
        Whether a draft that fails is dropped; else the run ends behind the step.
    jobs, engine
        As in `execute`.
    on_progress
        Called with (done, in all, the step).

    Raises
    ------
    DataError
        If an input lacks or is damaged.
    RunError
        If a step's file or ``edits.jsonl`` is damaged, or was made with other settings.
    StopError
        If no more requests may be sent; the replies so far are in the cache.
    """
    config = config if isinstance(config, Config) else read_config(Path(config))
    if partial and limit is None:
        limit = 0
    against = _require_all(config, client, asks=limit != 0)
    edits = read_edits(config.work)
    unreadable = harvest_inputs(config, on_progress=on_progress).unreadable
    names, reports, noise = steps_of(config), list[StepReport](), None
    target = input_of(names[0], config.work)
    require_known(edits, harvested := open_drafts(target), names)
    for name in () if until == "harvest" else names:
        step, model = configured_step(config, name, client)
        source = open_drafts(input_of(name, config.work), must_be_finished=limit is None)
        target = output_of(name, config.work)
        if against and name == names[0]:
            is_done = limit == 0 or (target.is_file() and open_drafts(target, must_be_finished=False).is_finished)
            compared = progress_of(on_progress, "comparing")
            met = {} if is_done else papers_elsewhere(source, config.papers, against, compared)
            step = _without(step, met, against)
        run = functools.partial(
            run_step,
            source=source,
            target=target,
            asker=step_asker(model, client=client),
            edits=edits,
            waiting=waiting,
            limit=limit,
            drops_failed=drops_failed,
            on_progress=progress_of(on_progress, name),
        )
        report = run(step, overwrite=overwrite)
        while name == "recheck":
            noise = noise_in(config.work)
            if report.failures or limit == 0 or not asks_again(noise, lead_in(target), config.file.judge.precision):
                break
            report = run(configured_step(config, name, client, more=1)[0], overwrite=True)
        reports.append(report)
        if report.failures or name == until:
            break
    made = Constructed(
        steps=tuple(reports),
        unreadable=unreadable,
        unreadable_papers=harvested.header.unreadable_papers,
        explained=explained(open_drafts(target, must_be_finished=False)),
        noise=noise or noise_in(config.work),
    )
    if made.n_failures or until in ("harvest", *MODEL_STEPS):
        return made
    filtered = filter_drafts(
        open_drafts(input_of("filter", config.work), must_be_finished=limit is None),
        output_of("filter", config.work),
        least_covered=config.file.filter.least_covered,
        on_progress=progress_of(on_progress, "filter"),
    )
    made = replace(made, explained=explained(filtered))
    if made.explained or until == "filter" or not (limit is None or partial):
        return made
    settings = config.file.assemble
    try:
        dataset = assemble(
            filtered,
            config.papers,
            config.work / DATASET_FOLDER,
            config.file.name,
            msgspec.structs.replace(settings, made_on=settings.made_on or today or datetime.now(UTC).date()),
            against=against,
            overwrite=True,
            jobs=jobs,
            engine=engine,
            on_progress=on_progress,
        )
    except NothingKeptError as error:
        return replace(made, explained=error.explained)
    return replace(made, dataset=dataset)


def _require_all(config: Config, client: ChatClient, *, asks: bool) -> list[Dataset]:
    """Return the data sets whose papers are left out; raise what a later step would, while nothing is paid yet."""
    dataset, judge = config.work / DATASET_FOLDER, config.file.judge
    if dataset.exists():
        require_replaceable_folder(dataset, marker=MANIFEST, overwrite=True)
    models = (config.file.model, judge.model, judge.second_model)
    servers = [server_of(step_asker(model, client=client).chat) for model in models if model is not None]
    keyless = [server for server in servers if server.key_env and place_of_key(server.key_env) is None]
    # Without any key, the first request says so, unless all replies are stored.
    if asks and len(keyless) < len(servers):
        for server in keyless:
            key_for(server)
    paths = [(config.folder / name, name) for name in config.file.assemble.against]
    return [open_dataset(str(path) if path.exists() else name) for path, name in paths]  # a file, or a known name


def _without(step: ModelStep, met: Mapping[str, Met], against: Sequence[Dataset]) -> ModelStep:
    def work(asker: Asker, draft: Draft) -> Draft:
        return dropped(draft, *met[draft.id]) if draft.id in met else step.work(asker, draft)

    return replace(step, work=work, settings={**step.settings, "against": [dataset.sha256[:12] for dataset in against]})


def harvest_inputs(config: Config, *, on_progress: OnProgress) -> HarvestReport:
    try:
        papers = papers_in(config.papers, on_paper=progress_of(on_progress, "papers"))
    except UnreadableError:  # none is at hand yet
        papers = PapersAtHand((), {})
    rules = HarvestRules(licences=frozenset(config.file.licences or ALLOWED), papers=papers)
    if config.file.table:
        return harvest_table(config.folder / config.file.table, config.work, rules=rules)
    reviews: list[Path] = []
    for path in (config.folder / name for name in config.file.reviews):
        if not path.exists():
            raise UnreadableError(f"{path}: expected a review or a folder of reviews, got none")
        within = sorted(path.iterdir()) if path.is_dir() else [path]
        reviews += [file for file in within if file == path or (file.is_file() and not file.name.startswith("."))]
    on_review = progress_of(on_progress, "harvest")
    return harvest(reviews, config.work, rules=rules, on_review=on_review)


def noise_in(work: Path) -> LabelNoise | None:
    """Return the noise of the labels in a work folder; None where nothing is judged yet."""
    judged = newest_drafts(work, "judge", "recheck")
    return None if judged is None else estimate_noise(judged, marked_aspects(work))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStatus(StepLosses):
    n_given: int | None  # drafts; None: not known
    is_finished: bool
    n_edited: int  # by people, what this step makes
    n_stale: int  # that are made again, since they were edited, or what they were made of was changed


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstructionStatus:
    steps: tuple[StepStatus, ...]
    has_dataset: bool
    next_step: str | None  # that is to be run, or gone on with; None: all is done
    explained: tuple[str, ...]  # step by step, why nothing is kept; empty where something is
    unreadable_papers: Mapping[str, str]  # file, relative to their folder -> why


def construction_status(work: Path) -> ConstructionStatus:
    steps, edits, files = list[StepStatus](), read_edits(work), files_in(work)
    stale = set[str]()  # also of the steps before, since what is behind them is made again with them
    for before, (name, file) in zip([None, *files.values()], files.items(), strict=False):
        if before is not None:
            stale = (stale & {*file.marks}).union(file.stale(sums_after(edits, name, before.sums)))
        n_given = len(before.going_on) if before is not None and before.is_finished else None
        steps.append(
            StepStatus(
                *(name, len(file.marks), len(file.going_on), file.dropped),
                n_given=len(file.marks) if file.is_finished else n_given,
                is_finished=file.is_finished,
                n_edited=sum(step == name for _, step in edits),
                n_stale=len(stale),
            )
        )
    names = [*STEP_FILES, "assemble"]
    has_dataset = (work / DATASET_FOLDER / MANIFEST).is_file()
    unfinished = [step.step for step in steps if step.n_stale or not step.is_finished]
    behind = names[names.index(steps[-1].step) + 1 : -1 if has_dataset else None] if steps else names
    return ConstructionStatus(
        steps=tuple(steps),
        has_dataset=has_dataset,
        next_step=next(iter([*unfinished, *behind]), None),
        explained=explained([*files.values()][-1]) if files else (),
        unreadable_papers=next(iter(files.values())).header.unreadable_papers if files else {},
    )
