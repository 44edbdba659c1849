"""All steps of a construction, one after the other, each gone on with where it was stopped; and its status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

from evidencebench.construction.assemble import AssemblyReport, OnProgress, assemble, progress_of
from evidencebench.construction.config import Config, JudgeTable, read_config
from evidencebench.construction.draft import (
    DATASET_FOLDER,
    MANIFEST,
    STEP_FILES,
    Draft,
    DraftFile,
    dropped,
    input_of,
    open_drafts,
    output_of,
)
from evidencebench.construction.harvest.harvest import HarvestRules, harvest
from evidencebench.construction.harvest.papers import PaperFolder, papers_in
from evidencebench.construction.harvest.references import ALLOWED
from evidencebench.construction.harvest.table import harvest_table
from evidencebench.construction.judge import judge_step
from evidencebench.construction.leakage import Met, papers_elsewhere
from evidencebench.construction.losses import filter_drafts
from evidencebench.construction.step import ModelStep, StepReport, run_step, step_asker
from evidencebench.construction.writing import ASPECTS, HYPOTHESES, LABEL_RESULTS, SUMMARIES
from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.engine.protocol import Engine
from evidencebench.errors import UnreadableError
from evidencebench.execution.asking import Waiting
from evidencebench.files.atomic import require_replaceable_folder
from evidencebench.files.disk import PathText
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.providers import key_for, place_of_key, server_of
from evidencebench.systems.llm.asking import Asker

MODEL_STEPS = ("summaries", "hypotheses", "aspects", "judge", "label-results")  # that ask a model, in their order


@dataclass(frozen=True, slots=True, kw_only=True)
class Constructed:
    steps: tuple[StepReport, ...]  # of those that ask a model
    unreadable: tuple[str, ...] = ()  # why reviews could not be read
    dataset: AssemblyReport | None = None  # None where drafts are to be asked for again, or after a pilot

    @property
    def n_failures(self) -> int:
        return sum(len(step.failures) for step in self.steps)


def steps_of(config: Config) -> tuple[str, ...]:
    return MODEL_STEPS[1 if config.file.table else 0 :]


def model_step(name: str, judge: JudgeTable, papers: Path, client: ChatClient | None) -> ModelStep:
    if name != "judge":
        return next(step for step in (SUMMARIES, HYPOTHESES, ASPECTS, LABEL_RESULTS) if step.name == name)
    second = None if judge.second_model is None else step_asker(judge.second_model, client=client)
    return judge_step(judge, PaperFolder(papers), second=second)


def configured_step(config: Config, name: str, client: ChatClient) -> tuple[ModelStep, str]:
    """Return a step, and the model that it asks."""
    judge = config.file.judge
    own_model = judge.model if name == "judge" else None
    return model_step(name, judge, config.papers, client), own_model or config.file.model


def construct(
    config: Config | PathText,
    *,
    client: ChatClient,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    today: date | None = None,
    limit: int | None = None,
    until: str | None = None,
    overwrite: bool = False,
    drops_failed: bool = False,
    jobs: int = 1,
    engine: Engine | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> Constructed:
    """Make a benchmark of papers and reviews, step by step; what is done already is not done again.

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
        How many drafts each step that asks a model is given, as a pilot: the run then ends before the first step that
        asks none. None: all.
    until
        The step behind which it ends; None: the last.
    overwrite
        Whether to do again what is stale.
    drops_failed
        Whether a draft that fails is dropped; else the run ends behind the step.
    jobs, engine
        As in `execute`.
    on_progress
        Called with (done, in all, the step).

    Raises
    ------
    DataError
        If an input lacks or is damaged, or a draft was made with other settings.
    StopError
        If no more requests may be sent; the replies so far are in the cache.
    """
    config = config if isinstance(config, Config) else read_config(Path(config))
    today = today or datetime.now(UTC).date()
    against = _require_all(config, client)
    unreadable = harvest_inputs(config, overwrite=overwrite, on_progress=on_progress)
    reports: list[StepReport] = []
    for name in steps_of(config):
        step, model = configured_step(config, name, client)
        source = open_drafts(input_of(name, config.work), must_be_finished=limit is None)
        target = output_of(name, config.work)
        if against and name == steps_of(config)[0]:
            is_done = target.is_file() and open_drafts(target, must_be_finished=False).is_finished
            on_paper = progress_of(on_progress, "comparing")
            met = {} if is_done else papers_elsewhere(source, config.papers, against, on_paper)
            step = _without(step, met, against)
        report = run_step(
            step,
            source,
            target,
            asker=step_asker(model, client=client),
            waiting=waiting,
            overwrite=overwrite,
            limit=limit,
            drops_failed=drops_failed,
            on_progress=progress_of(on_progress, name),
        )
        reports.append(report)
        if report.failures or name == until:
            break
    if limit is not None or report.failures or name == until:
        return Constructed(steps=tuple(reports), unreadable=unreadable)
    filtered = filter_drafts(
        open_drafts(input_of("filter", config.work)),
        output_of("filter", config.work),
        least_covered=config.file.filter.least_covered,
        overwrite=overwrite,
        on_progress=progress_of(on_progress, "filter"),
    )
    dataset = assemble(
        filtered,
        config.papers,
        config.work / DATASET_FOLDER,
        config.assembly_settings(today),
        against=against,
        overwrite=True,
        jobs=jobs,
        engine=engine,
        on_progress=on_progress,
    )
    return Constructed(steps=tuple(reports), unreadable=unreadable, dataset=dataset)


def _require_all(config: Config, client: ChatClient) -> list[Dataset]:
    """Return the data sets whose papers are left out; raise what a later step would, while nothing is paid yet."""
    dataset, judge = config.work / DATASET_FOLDER, config.file.judge
    if dataset.exists():
        require_replaceable_folder(dataset, marker=MANIFEST, overwrite=True)
    models = (config.file.model, judge.model, judge.second_model)
    servers = [server_of(step_asker(model, client=client).chat) for model in models if model is not None]
    keyless = [server for server in servers if server.key_env and place_of_key(server.key_env) is None]
    if len(keyless) < len(servers):  # without any key, the first request says so, unless all replies are stored
        for server in keyless:
            key_for(server)
    paths = [(config.folder / name, name) for name in config.file.assemble.against]
    return [open_dataset(str(path) if path.exists() else name) for path, name in paths]  # a file, or a known name


def _without(step: ModelStep, met: Mapping[str, Met], against: Sequence[Dataset]) -> ModelStep:
    def work(asker: Asker, draft: Draft) -> Draft:
        why = met.get(draft.id)
        return step.work(asker, draft) if why is None else dropped(draft, why.reason, why.detail)

    return replace(step, work=work, settings={**step.settings, "against": [dataset.sha256[:12] for dataset in against]})


def harvest_inputs(config: Config, *, overwrite: bool, on_progress: OnProgress) -> tuple[str, ...]:
    """Find the passages of the reviews, or the summaries of the table, and return why reviews could not be read."""
    rules = HarvestRules(
        licences=frozenset(config.file.licences or ALLOWED),
        papers=papers_in(config.papers, on_paper=progress_of(on_progress, "papers")),
    )
    if config.file.table:
        table = config.folder / config.file.table
        return harvest_table(table, config.work, rules=rules, overwrite=overwrite).unreadable
    reviews: list[Path] = []
    for path in (config.folder / name for name in config.file.reviews):
        if path.is_dir():
            reviews += sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        elif path.is_file():
            reviews.append(path)
        else:
            raise UnreadableError(f"{path}: expected a review or a folder of reviews, got none")
    on_review = progress_of(on_progress, "harvest")
    return harvest(reviews, config.work, rules=rules, overwrite=overwrite, on_review=on_review).unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStatus:
    step: str
    n_drafts: int | None  # that were given to it; None: not known
    n_done: int  # that have a line
    n_kept: int
    dropped: Mapping[str, int]
    is_finished: bool
    n_edited: int  # by hand
    stale: str  # why it is to be made again; empty where it is not


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstructionStatus:
    steps: tuple[StepStatus, ...]
    has_dataset: bool
    next_step: str | None  # that is to be run, or gone on with; None: all is done


def construction_status(work: Path) -> ConstructionStatus:
    steps: list[StepStatus] = []
    before: DraftFile | None = None
    for name in STEP_FILES:
        path = output_of(name, work)
        if not path.is_file():
            continue
        file = open_drafts(path, must_be_finished=False)
        n_given = len(before.going_on) if before is not None and before.is_finished else None
        stale = ""
        if before is not None and file.header.source_sha256 != before.sha256:
            stale = f"made from another {before.path.name}"
        elif before is not None and (n_behind := file.n_behind(before)):
            stale = f"{n_behind:,} of {before.path.name} changed since"
        steps.append(
            StepStatus(
                step=name,
                n_drafts=len(file.offsets) if file.is_finished else n_given,
                n_done=len(file.offsets),
                n_kept=len(file.going_on),
                dropped=file.dropped,
                is_finished=file.is_finished,
                n_edited=file.n_edited,
                stale=stale or (f"behind {steps[-1].step}" if steps and steps[-1].stale else ""),
            )
        )
        before = file
    names = [*STEP_FILES, "assemble"]
    has_dataset = (work / DATASET_FOLDER / MANIFEST).is_file()
    unfinished = [step.step for step in steps if step.stale or not step.is_finished]
    behind = names[names.index(steps[-1].step) + 1 : -1 if has_dataset else None] if steps else names
    return ConstructionStatus(
        steps=tuple(steps), has_dataset=has_dataset, next_step=next(iter([*unfinished, *behind]), None)
    )
