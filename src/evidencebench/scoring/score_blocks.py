"""Score runs on an engine: each worker scores blocks of instances, and the blocks are joined in their order."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from evidencebench.data.dataset import Dataset, reopen_dataset
from evidencebench.data.formats.table import DataFile
from evidencebench.data.tasks import Task
from evidencebench.engine.protocol import Engine
from evidencebench.engine.results import outcomes_in_order
from evidencebench.errors import WorkerError
from evidencebench.runs.formats import open_run
from evidencebench.runs.run_file import RunFile
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.evaluate import Answering, answer_functions, evaluate_sources
from evidencebench.scoring.run_labels import runs_by_label
from evidencebench.scoring.selection import Rules
from evidencebench.scoring.task_scores import Counts, TaskScores

Scores = dict[str, dict[str, TaskScores]]
"""Source name -> task name -> scores."""

_BLOCK_SIZE = 32


def score_blocks(
    engine: Engine,
    dataset: Dataset,
    paths: Sequence[Path],
    asked: Sequence[Task],
    *,
    rules: Rules,
    with_controls: bool,
    with_selections: bool,
    n_instances: int,
    on_progress: Callable[[int, int], None] | None = None,
) -> Scores:
    """Return the scores of `sources_of` on the first ``n_instances``, the same as `evaluate` returns."""
    _ = dataset.sha256  # other machines know the file by it
    ids = dataset.ids[:n_instances]
    blocks = [tuple(ids[start : start + _BLOCK_SIZE]) for start in range(0, n_instances, _BLOCK_SIZE)]
    setup = partial(_block_scorer, rules=rules, with_controls=with_controls, with_selections=with_selections)
    arguments = (dataset.file, tuple(paths), tuple(asked))
    found: list[Scores] = []
    n_done = 0
    for outcome in outcomes_in_order(engine, setup, arguments, blocks):
        if isinstance(outcome.error, WorkerError):
            first, last = outcome.item[0], outcome.item[-1]
            raise WorkerError(f"scoring {first} to {last}: {outcome.error}") from outcome.error
        found.append(outcome.value)
        n_done += len(outcome.item)
        if on_progress is not None:
            on_progress(n_done, n_instances)
    return {
        name: {task.name: _joined([scores[name][task.name] for scores in found]) for task in asked} for name in found[0]
    }


def sources_of(runs: Mapping[str, RunFile], *, with_controls: bool) -> dict[str, Answering]:
    """Return the runs and the controls, with a prefix, since a run may have a control's name."""
    sources: dict[str, Answering] = {f"run {label}": run for label, run in runs.items()}
    if with_controls:
        sources |= {f"control {name}": control.named for name, control in CONTROLS.items()}
    return sources


def rules_of(runs: Mapping[str, RunFile], rules: Rules) -> dict[str, Rules]:
    """Return the rules by source: answers of controls are read by the default rules."""
    return {f"run {label}": rules for label in runs}


def _block_scorer(
    data: DataFile,
    paths: Sequence[Path],
    asked: Sequence[Task],
    *,
    rules: Rules,
    with_controls: bool,
    with_selections: bool,
) -> Callable[[Sequence[str]], Scores]:
    dataset = reopen_dataset(data)
    runs = runs_by_label([open_run(path) for path in paths])
    answers, strangers = answer_functions(sources_of(runs, with_controls=with_controls), dataset)

    def score(ids: Sequence[str]) -> Scores:
        return evaluate_sources(
            answers,
            [dataset[instance_id] for instance_id in ids],
            asked,
            strangers,
            rules=rules_of(runs, rules),
            with_selections=with_selections,
        )

    return score


def _joined(parts: Sequence[TaskScores]) -> TaskScores:
    """Return the scores of several blocks as those of all their instances."""
    notes: Counter[str] = Counter()
    for part in parts:
        notes.update(part.notes)
    counts = [asdict(part.counts) for part in parts]
    return TaskScores(
        task=parts[0].task,
        ids=tuple(chain.from_iterable(part.ids for part in parts)),
        clusters=tuple(chain.from_iterable(part.clusters for part in parts)),
        scores={key: np.concatenate([part.scores[key] for part in parts]) for key in parts[0].scores},
        selections=tuple(chain.from_iterable(part.selections for part in parts)),
        counts=Counts(**{name: sum(of_part[name] for of_part in counts) for name in counts[0]}),
        notes=dict(sorted(notes.items())),
        over_length=tuple(chain.from_iterable(part.over_length for part in parts)),
        n_sentences=tuple(chain.from_iterable(part.n_sentences for part in parts)),
        errors={name: error for part in parts for name, error in part.errors.items()},
        cut_short=tuple(chain.from_iterable(part.cut_short for part in parts)),
        answer_keys=tuple(chain.from_iterable(part.answer_keys for part in parts)),
    )
