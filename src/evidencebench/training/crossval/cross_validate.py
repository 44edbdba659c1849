"""Cross-validate systems by paper; a journal holds the finished splits, from which an interrupted call goes on."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import asdict

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.engine.processes import engine_of
from evidencebench.engine.protocol import Engine
from evidencebench.engine.results import results
from evidencebench.errors import WorkerError
from evidencebench.execution.asking import Waiting
from evidencebench.models.llm.client import ChatClient
from evidencebench.provenance import differences
from evidencebench.storage.reading import PathText
from evidencebench.storage.records import RecordFormat
from evidencebench.training.crossval.figures import SystemFigures, figures_of
from evidencebench.training.crossval.out_of_fold import require_replaceable, write_out_of_fold_run
from evidencebench.training.crossval.plan import CrossValidation, Plan, Split, make_plan, splits_of
from evidencebench.training.crossval.splits import AnsweredSplit, gather_splits, split_worker


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
    what: CrossValidation,
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

    ``jobs`` is the number of processes; ``engine`` says where the work runs instead. The ``journal`` holds finished
    splits, so that the same call goes on after an interruption; ``overwrite`` starts it over. ``run`` is where the
    first system's answers under the first seed are written in the end, as a run. ``client`` and ``waiting`` are for
    systems that ask a language model. ``on_progress`` is called with (splits done, splits in all).
    It raises `RunFormatError` for a damaged journal, `RunMismatchError` for that or for a run of another one,
    `StopError` if no more requests may be sent, `WorkerError` once all other splits are done where one took its worker
    with it twice, and before any work what `make_plan` raises.
    """
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
                lost.append(f"{split.words}: {error}")  # raised when the other splits are kept

            for answered in results(engine, split_worker, (dataset.file, plan), computed, on_error=note_lost):
                keep(answered)
            if lost:
                raise WorkerError(
                    f"{path}: {len(lost)} of {len(computed)} splits failed, the first: {lost[0]}; the others are "
                    "kept, and the next call tries these again"
                )
            if run is not None:
                write_out_of_fold_run(Path(run), plan, dataset, tasks, [finished[split] for split in splits])
    return figures_of(plan, dataset, tasks, [finished[split] for split in splits], what.resampling)


def journal_beside(run: Path) -> Path:
    """Return where the finished splits are kept while a run is made: beside it, under its name and ``.splits``."""
    return run.with_name(f"{run.name}.splits")


def is_journal(path: Path) -> bool:
    """Say whether a file is a journal of a cross-validation, as earlier versions wrote it in place of a run."""
    return path.is_file() and _JOURNALS.is_at(path)


def _differing(before: _Header, now: _Header) -> str:
    begun, plan = asdict(before.plan), asdict(now.plan)
    versions = differences(begun.pop("versions"), plan.pop("versions"))
    return "; ".join(filter(None, (differences(begun, plan), versions)))
