"""Cross-validate systems by paper."""

import tempfile
from pathlib import Path

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.engine.processes import engine_of
from evidencebench.engine.protocol import Engine
from evidencebench.execution.asking import Waiting
from evidencebench.models.llm.client import ChatClient
from evidencebench.storage.reading import PathText
from evidencebench.training.crossval.figures import SystemFigures, figures_of
from evidencebench.training.crossval.journal import open_split_journal
from evidencebench.training.crossval.plan import CrossValidation, planned, splits_of
from evidencebench.training.crossval.splits import AnsweredSplit, split_worker
from evidencebench.training.crossval.waiting import gathered_splits
from evidencebench.training.selector import Progress


def cross_validate(
    what: CrossValidation,
    dataset: Dataset | PathText,
    *,
    jobs: int = 1,
    engine: Engine | None = None,
    journal: PathText | None = None,
    overwrite: bool = False,
    client: ChatClient | None = None,
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    on_progress: Progress | None = None,
) -> list[SystemFigures]:
    """Return the figures of each system, every instance answered by models that saw nothing of its paper.

    ``jobs`` is how many processes compute, ``engine`` where the work runs instead. The ``journal`` keeps what is
    finished, so that the same call goes on after an interruption; ``overwrite`` starts it over. ``client`` and
    ``waiting`` say how systems that ask a language model are asked, and ``on_progress`` is called with (splits done,
    splits in all). It raises `RunFormatError` and `RunMismatchError` for a journal that is damaged or another's,
    `StopError` if no more requests may be sent, and what `planned` raises, before any work.

    Examples
    --------
    >>> what = CrossValidation(systems=("lead",), tasks=("er_at_10",), n_folds=3, n_seeds=1)
    >>> (found,) = cross_validate(what, "sample")
    >>> round(found.tasks["er_at_10"].recall.mean, 2)
    0.6
    """
    dataset = dataset_from(dataset)
    plan, tasks = planned(what, dataset), what.asked
    splits = list(splits_of(plan))
    with (
        tempfile.TemporaryDirectory() as scratch,
        open_split_journal(Path(journal or Path(scratch) / "splits.jsonl"), plan, overwrite=overwrite) as kept,
    ):
        todo = [split for split in splits if split not in kept.finished]
        waits = {split for split in todo if split.waits}
        computed = [split for split in todo if split not in waits]

        def keep(one: AnsweredSplit) -> None:
            kept.keep(one)
            if on_progress is not None:
                on_progress(len(kept.finished), len(splits))

        # Those that wait for a server come first, since they may be stopped at once by what only it can say.
        asked = [split for split in todo if split in waits]
        for one in gathered_splits(asked, dataset, tasks, client=client, waiting=waiting):
            keep(one)
        engine = engine or engine_of(min(jobs, len(computed)))
        for one in engine.results(split_worker, (dataset.file, plan), computed):
            keep(one)
        finished = [kept.finished[split] for split in splits]
    return figures_of(plan, dataset, tasks, finished, what.resampling)
