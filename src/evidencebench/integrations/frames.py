"""Data, scores, comparisons and ranks as data frames of pandas, polars or pyarrow.

Shares and scores are in 0..1, not in percent. A value that is undefined is null (NaN in pandas).
"""

import importlib.util
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from evidencebench.data.dataset import Dataset, instances_from
from evidencebench.data.instance import Instance
from evidencebench.errors import MissingExtraError
from evidencebench.files.disk import PathText
from evidencebench.provenance import require_extra
from evidencebench.scoring.compare import compare_pairs, mean_recalls
from evidencebench.scoring.measures import MEASURES
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling, standard_error
from evidencebench.scoring.significance import ranges_from
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.wording import check_type

BACKENDS = ("pandas", "polars", "pyarrow")  # in the order in which one is chosen
Scores = Mapping[str, Mapping[str, TaskScores]]  # source name -> task name -> scores
_Row = Sequence[str | int | float | None]


def instances_frame(dataset: Dataset | PathText | Iterable[Instance], *, backend: str | None = None) -> Any:
    """Return a data frame with a row for each instance.

    Columns: ``id``, ``paper_id``, ``review_id`` (null where the data does not say), ``hypothesis``; ``n_sentences`` of
    the paper, ``n_aspects``, ``n_result_aspects``, ``n_coverable_aspects`` (with at least one source sentence) and
    ``n_source_sentences``.

    Parameters
    ----------
    dataset
        A data set, its path or catalogue name, or instances, such as ``dataset[:100]``.
    backend
        The library of the frame: ``"pandas"``, ``"polars"`` or ``"pyarrow"``; None: the first of these that is
        installed.

    Raises
    ------
    MissingExtraError
        If narwhals (extra ``frames``) or the library is not installed.
    ValueError
        If there is no such library.

    Examples
    --------
    >>> from evidencebench import load_sample
    >>> frame = instances_frame(load_sample(), backend="polars")
    >>> frame.shape, frame["n_aspects"][0]
    ((10, 9), 9)
    """
    words = ("id", "paper_id", "review_id", "hypothesis")
    numbers = ("n_sentences", "n_aspects", "n_result_aspects", "n_coverable_aspects", "n_source_sentences")
    return _frame(words, numbers, (), map(_instance_row, instances_from(dataset)), backend)


def sentences_frame(dataset: Dataset | PathText | Iterable[Instance], *, backend: str | None = None) -> Any:
    """Return a data frame with a row for each sentence of each instance: labels included, so no system may read it.

    Columns: ``id`` of the instance, ``kind`` (heading, abstract or body), ``text``, ``sentence`` (its 0-based index),
    ``n_aspects`` that it is a source of, and ``n_result_aspects`` among them.

    Parameters and errors are as in `instances_frame`.

    Examples
    --------
    >>> from evidencebench import load_sample
    >>> frame = sentences_frame(load_sample()[:1], backend="polars")
    >>> frame.shape, int((frame["n_aspects"] > 0).sum())
    ((66, 6), 16)
    """
    rows = (row for instance in instances_from(dataset) for row in _sentence_rows(instance))
    return _frame(("id", "kind", "text"), ("sentence", "n_aspects", "n_result_aspects"), (), rows, backend)


def scores_frame(scores: Scores, *, backend: str | None = None) -> Any:
    """Return a data frame with a row for each system, task and instance.

    Columns: ``system``, ``task``, ``id``, ``cluster`` (the review or paper that scores are resampled by), and one for
    each measure, in 0..1: ``aspect_recall`` and the others of ``docs/tasks-and-measures.md``, null where undefined.

    ``scores`` is what `evaluate` returns; ``backend`` and the errors are as in `instances_frame`.

    Examples
    --------
    >>> from evidencebench import BM25, evaluate, load_sample
    >>> frame = scores_frame(evaluate({"bm25": BM25()}, load_sample(), "er_at_10"), backend="polars")
    >>> round(frame["aspect_recall"].mean(), 3)
    0.37
    """
    check_type(scores, Mapping, "what evaluate returns")
    keys = tuple(next((scored.scores for by_task in scores.values() for scored in by_task.values()), MEASURES))
    rows = (
        (system, task, instance_id, cluster, *(None if math.isnan(value) else value for value in values))
        for system, by_task in scores.items()
        for task, scored in by_task.items()
        for instance_id, cluster, *values in zip(
            scored.ids, scored.clusters, *(scored.scores[key].tolist() for key in keys), strict=True
        )
    )
    return _frame(("system", "task", "id", "cluster"), (), keys, rows, backend)


def standings_frame(scores: Scores, *, resampling: Resampling = DEFAULT_RESAMPLING, backend: str | None = None) -> Any:
    """Return a data frame with a row for each task and system, the best first, as ``evidencebench leaderboard`` ranks.

    Columns: ``task``, ``system``; the ranks that it can claim, from ``rank_best`` to ``rank_worst``; ``n`` instances,
    ``n_clusters`` (papers or reviews), ``failed``, ``empty`` and ``missing`` answers; ``mean`` aspect recall, the ends
    ``low`` and ``high`` of its interval, and ``standard_error``, all in 0..1 and the last three null for one cluster.
    Every source is ranked, also one that knows the labels.

    Parameters
    ----------
    scores
        What `evaluate` returns, all on the same instances; else `RunMismatchError` is raised.
    resampling
        How the intervals and the tests are drawn.
    backend
        As in `instances_frame`, and so are the other errors.

    Examples
    --------
    >>> from evidencebench import BM25, evaluate, load_sample, make_system
    >>> scores = evaluate({"bm25": BM25(), "cues": make_system("cues")}, load_sample(), "er_at_10")
    >>> standings_frame(scores, backend="polars")["system"].to_list()
    ['cues', 'bm25']
    """
    counts = ("rank_best", "rank_worst", "n", "n_clusters", "failed", "empty", "missing")
    shares = ("mean", "low", "high", "standard_error")
    rows = (row for task in _tasks(scores) for row in _standing_rows(task, scores, resampling))
    return _frame(("task", "system"), counts, shares, rows, backend)


def comparisons_frame(
    scores: Scores, *, resampling: Resampling = DEFAULT_RESAMPLING, backend: str | None = None
) -> Any:
    """Return a data frame with a row for each task and pair of systems, as ``evidencebench compare`` compares them.

    Columns: ``task``, ``first``, ``second``; ``n`` instances, of which the first is ``better``, ``equal`` or ``worse``;
    the mean aspect recalls ``mean_first`` and ``mean_second``, their ``difference`` with the ends ``low`` and ``high``
    of its interval, all in 0..1; ``p``, and ``p_holm``, adjusted over the pairs of the task that differ in an answer;
    the ``detectable`` difference (with 80 % power), null where the differences have no spread.

    Parameters and errors are as in `standings_frame`.

    Examples
    --------
    >>> from evidencebench import BM25, evaluate, load_sample, make_system
    >>> scores = evaluate({"bm25": BM25(), "cues": make_system("cues")}, load_sample(), "er_at_10")
    >>> comparisons_frame(scores, backend="polars")["better"].to_list()
    [0]
    """
    tasks, pairs = _tasks(scores), list(combinations(scores, 2))
    comparisons = (
        pair
        for task in tasks
        for pair in compare_pairs(
            {name: scores[name][task] for name in scores}, pairs, resampling=resampling, with_overlaps=False
        )
    )
    rows = (
        (
            *(pair.comparison.task.name, pair.first, pair.second),
            *(test.difference.n, test.n_better, test.n_equal, test.n_worse),
            *(pair.comparison.first.mean, pair.comparison.second.mean),
            *(test.difference.mean, test.difference.low, test.difference.high),
            *(test.p_value, pair.p_value, test.minimum_detectable),
        )
        for pair in comparisons
        for test in (pair.comparison.test,)
    )
    counts = ("n", "better", "equal", "worse")
    shares = ("mean_first", "mean_second", "difference", "low", "high", "p", "p_holm", "detectable")
    return _frame(("task", "first", "second"), counts, shares, rows, backend)


def _frame(
    words: Sequence[str], counts: Sequence[str], shares: Sequence[str], rows: Iterable[_Row], backend: str | None
) -> Any:
    """Return a data frame: columns of text, then of whole numbers, then of numbers, as the cells of a row stand."""
    require_extra("data frames", "frames", "narwhals")
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend: expected {', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}, got {backend!r}")
    wanted = BACKENDS if backend is None else (backend,)
    chosen: Any = next(filter(importlib.util.find_spec, wanted), None)
    if chosen is None:
        raise MissingExtraError(
            f"data frames: need {' or '.join(wanted)}, which is not installed: pip install {wanted[0]}"
        )
    import narwhals as nw  # noqa: PLC0415 - an optional package

    kinds = (*[nw.String()] * len(words), *[nw.Int64()] * len(counts), *[nw.Float64()] * len(shares))
    names = (*words, *counts, *shares)
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    data = {name: list(column) for name, column in zip(names, columns, strict=True)}
    return nw.from_dict(data, schema=dict(zip(names, kinds, strict=True)), backend=chosen).to_native()


def _instance_row(instance: Instance) -> _Row:
    query, labels = instance.query, instance.labels
    sources = [labels.sources.get(aspect, ()) for aspect in labels.aspects]
    n_sources = len({index for indices in sources for index in indices})
    names = (instance.id, query.paper_id, labels.review_id, query.hypothesis)
    counts = (len(query.sentences), len(labels.aspects), len(labels.results), sum(map(bool, sources)), n_sources)
    return (*names, *counts)


def _sentence_rows(instance: Instance) -> Iterator[_Row]:
    query, labels = instance.query, instance.labels
    n_stated, n_results = [0] * len(query.sentences), [0] * len(query.sentences)
    for aspect in labels.aspects:
        for index in set(labels.sources.get(aspect, ())):
            n_stated[index] += 1
            n_results[index] += aspect in labels.results
    for index, (kind, text) in enumerate(zip(query.kinds, query.sentences, strict=True)):
        yield (instance.id, kind.name.lower(), text, index, n_stated[index], n_results[index])


def _standing_rows(task: str, scores: Scores, resampling: Resampling) -> list[_Row]:
    columns = {name: by_task[task] for name, by_task in scores.items()}
    means = dict(zip(columns, mean_recalls(list(columns.values()), resampling), strict=True))
    pairs = compare_pairs(columns, list(combinations(columns, 2)), resampling=resampling, with_overlaps=False)
    p_values = {(pair.first, pair.second): pair.p_value for pair in pairs}
    ranks = ranges_from({name: mean.mean for name, mean in means.items()}, p_values)
    return [
        (
            *(task, name, *ranks[name], mean.n, mean.n_clusters),
            *(columns[name].counts.failed, columns[name].counts.empty, columns[name].counts.missing),
            *(mean.mean, mean.low, mean.high, standard_error(columns[name].recalls, columns[name].clusters)),
        )
        for name, mean in sorted(means.items(), key=lambda item: -item[1].mean)
    ]


def _tasks(scores: Scores) -> list[str]:
    check_type(scores, Mapping, "what evaluate returns")
    return [name for name, scored in next(iter(scores.values()), {}).items() if scored.ids]
