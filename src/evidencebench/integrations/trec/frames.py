"""Candidates, runs and qrels as pandas data frames with the columns of PyTerrier, and frames as answers."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from evidencebench.data.dataset import Dataset, instances_from
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import TaskOrName
from evidencebench.errors import AnswerError, MissingExtraError
from evidencebench.extras import require_extra
from evidencebench.integrations.trec.document_names import docno
from evidencebench.integrations.trec.qrels import qrels_of
from evidencebench.integrations.trec.run_scores import answers_for, scored
from evidencebench.query import AspectScope
from evidencebench.runs.given_answers import GivenAnswer
from evidencebench.runs.run_file import RunFile
from evidencebench.storage.reading import PathText
from evidencebench.system import Ranking, require_scope

if TYPE_CHECKING:
    import pandas as pd


def candidates_frame(dataset: Dataset | PathText | Iterable[Instance]) -> "pd.DataFrame":
    """Return every sentence of every paper, as what a reranker of PyTerrier is given.

    The columns are ``qid, query, docno, text``: instance id, hypothesis, ``instance#00042`` and the sentence. The first
    two of them, each once, are the topics.

    Parameters
    ----------
    dataset
        The data: a data set, its path or catalogue name, or instances.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.

    Examples
    --------
    >>> from evidencebench import load_sample
    >>> candidates = candidates_frame(load_sample()[:2])
    >>> topics = candidates[["qid", "query"]].drop_duplicates()
    >>> len(topics)
    2
    """
    rows = (
        (instance.id, instance.query.hypothesis, docno(instance.id, index), sentence)
        for instance in instances_from(dataset)
        for index, sentence in enumerate(instance.query.sentences)
    )
    return _frame(rows, ["qid", "query", "docno", "text"])


def run_frame(run: RunFile | PathText | Mapping[str, GivenAnswer], task: TaskOrName | None = None) -> "pd.DataFrame":
    """Return a run as PyTerrier has results: ``qid, docno, rank, score``, the best sentence at rank 0.

    Scores are as in `run_dict`; so are the parameters.

    Raises
    ------
    RunError
        If the run has other answers for each task, and none is named.
    MissingExtraError
        If pandas is not installed.

    Examples
    --------
    >>> run_frame({"a": [4, 2]}).values.tolist()
    [['a', 'a#00004', 0, 2.0], ['a', 'a#00002', 1, 1.0]]
    """
    rows = (
        (instance_id, docno(instance_id, index), rank, score)
        for instance_id, answer in answers_for(run, task)
        if isinstance(answer, Ranking)
        for rank, (index, score) in enumerate(scored(answer.sentences))
    )
    return _frame(rows, ["qid", "docno", "rank", "score"])


def qrels_frame(dataset: Dataset | PathText | Iterable[Instance], scope: AspectScope = "all") -> "pd.DataFrame":
    """Return the labels as PyTerrier has qrels: ``qid, docno, label, iteration``, where the iteration is the aspect.

    So the diversity measures of ir_measures work in ``pt.Experiment``. An aspect without a source has a row whose
    document is in no paper, so that it counts; parameters are as in `qrels_dict`.

    Raises
    ------
    ValueError
        If the scope is neither ``"all"`` nor ``"results"``.
    MissingExtraError
        If pandas is not installed.

    Examples
    --------
    >>> from evidencebench import load_sample
    >>> qrels_frame(load_sample()[:1]).columns.tolist()
    ['qid', 'docno', 'label', 'iteration']
    """
    require_scope(scope)
    qrels = (qrel for instance in instances_from(dataset) for qrel in qrels_of(instance, scope))
    rows = ((qrel.qid, qrel.docno, qrel.relevance, qrel.aspect) for qrel in qrels)
    return _frame(rows, ["qid", "docno", "label", "iteration"])


def answers_of_frame(frame: Any) -> dict[str, dict[str, float]]:
    """Return the results of PyTerrier, or another frame of ``qid, docno, score``, as answers that `evaluate` takes.

    Parameters
    ----------
    frame
        A pandas or polars data frame; its other columns are not read.

    Raises
    ------
    AnswerError
        If a column is missing, or a sentence of an instance stands twice.
    MissingExtraError
        If narwhals is not installed.

    Examples
    --------
    >>> answers_of_frame(run_frame({"a": [4, 2]}))
    {'a': {'a#00004': 2.0, 'a#00002': 1.0}}
    """
    require_extra("answers_of_frame", "frames", "narwhals")
    import narwhals as nw  # noqa: PLC0415 - an extra

    columns = ["qid", "docno", "score"]
    read = nw.from_native(frame, eager_only=True)
    if missing := [column for column in columns if column not in read.columns]:
        raise AnswerError(
            f"frame: expected the columns qid, docno and score, got {', '.join(read.columns)}; no '{missing[0]}'"
        )
    answers: dict[str, dict[str, float]] = {}
    for qid, document, score in read.select(columns).iter_rows():
        scores = answers.setdefault(str(qid), {})
        if str(document) in scores:
            raise AnswerError(f"frame: {qid}: '{document}' stands twice; a sentence has one score")
        scores[str(document)] = float(score)
    return answers


def _frame(rows: Iterable[tuple[Any, ...]], columns: list[str]) -> "pd.DataFrame":
    if find_spec("pandas") is None:
        raise MissingExtraError("frames of PyTerrier: need pandas, which is not installed: pip install pandas")
    import pandas as pd  # noqa: PLC0415 - no dependency of this package

    return pd.DataFrame(list(rows), columns=columns)
