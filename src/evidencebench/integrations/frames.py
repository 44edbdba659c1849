"""Data and scores as data frames of pandas, polars or pyarrow.

Shares and scores are in 0..1, not in percent. A value that is undefined is null (NaN in pandas).
"""

import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from evidencebench.data.dataset import Dataset, instances_from
from evidencebench.data.instance import Instance
from evidencebench.errors import MissingExtraError
from evidencebench.files.disk import PathText
from evidencebench.provenance import require_extra
from evidencebench.scoring.output import SCORE_NAMES, score_rows
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.tables import Cell, Table
from evidencebench.wording import check_type

BACKENDS = ("pandas", "polars", "pyarrow")  # in the order in which one is chosen
Scores = Mapping[str, Mapping[str, TaskScores]]  # source name -> task name -> scores


class Frame(Protocol):
    """A data frame of pandas, polars or pyarrow, whichever is chosen; it has all that the frames of that library have.

    The names below are those that all three have.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns it has."""
        ...

    def __len__(self) -> int: ...  # the number of rows

    def __getitem__(self, key: Any) -> Any: ...  # by the name of a column: the column

    def __getattr__(self, name: str) -> Any: ...  # whatever else the library has


def instances_frame(dataset: Dataset | PathText | Iterable[Instance], *, backend: str | None = None) -> Frame:
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
    counts = ("n_sentences", "n_aspects", "n_result_aspects", "n_coverable_aspects", "n_source_sentences")
    kinds = _kinds(("id", "paper_id", "review_id", "hypothesis"), counts)
    return _frame(kinds, map(_instance_row, instances_from(dataset)), backend)


def sentences_frame(dataset: Dataset | PathText | Iterable[Instance], *, backend: str | None = None) -> Frame:
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
    return _frame(_kinds(("id", "kind", "text"), ("sentence", "n_aspects", "n_result_aspects")), rows, backend)


def scores_frame(scores: Scores, *, backend: str | None = None) -> Frame:
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
    keys, rows = score_rows(scores)
    return _frame(_kinds(SCORE_NAMES, shares=keys), rows, backend)


def frame_of(table: Table, backend: str | None = None) -> Frame:
    """Return a table of figures as a data frame; a column of numbers or truths that has gaps is one of floats."""
    types = [set(map(type, (row[place] for row in table.rows))) for place in range(len(table.columns))]
    kinds = [
        "String" if str in of else "Boolean" if of == {bool} else "Int64" if of == {int} else "Float64" for of in types
    ]
    return _frame(dict(zip(table.columns, kinds, strict=True)), table.rows, backend)


def _kinds(words: Sequence[str], counts: Sequence[str] = (), shares: Sequence[str] = ()) -> dict[str, str]:
    return dict.fromkeys(words, "String") | dict.fromkeys(counts, "Int64") | dict.fromkeys(shares, "Float64")


def _frame(kinds: Mapping[str, str], rows: Iterable[Sequence[Cell]], backend: str | None) -> Frame:
    """Return a data frame of columns, name -> kind, in which the cells of a row stand."""
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

    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    data = {name: list(column) for name, column in zip(kinds, columns, strict=True)}
    schema = {name: getattr(nw, kind)() for name, kind in kinds.items()}
    frame: Frame = nw.from_dict(data, schema=schema, backend=chosen).to_native()
    return frame


def _instance_row(instance: Instance) -> Sequence[Cell]:
    query, labels = instance.query, instance.labels
    sources = [labels.sources.get(aspect, ()) for aspect in labels.aspects]
    n_sources = len({index for indices in sources for index in indices})
    names = (instance.id, query.paper_id, labels.review_id, query.hypothesis)
    counts = (len(query.sentences), len(labels.aspects), len(labels.results), sum(map(bool, sources)), n_sources)
    return (*names, *counts)


def _sentence_rows(instance: Instance) -> Iterator[Sequence[Cell]]:
    query, labels = instance.query, instance.labels
    n_stated, n_results = [0] * len(query.sentences), [0] * len(query.sentences)
    for aspect in labels.aspects:
        for index in set(labels.sources.get(aspect, ())):
            n_stated[index] += 1
            n_results[index] += aspect in labels.results
    for index, (kind, text) in enumerate(zip(query.kinds, query.sentences, strict=True)):
        yield (instance.id, kind.name.lower(), text, index, n_stated[index], n_results[index])
