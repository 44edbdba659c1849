"""Labels as diversity qrels, ``qid subtopic docno rel``: the subtopics are aspects, the documents sentences."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from evidencebench.data.dataset import Dataset, instances_from
from evidencebench.data.instance import Instance, Labels
from evidencebench.errors import DataError
from evidencebench.integrations.trec.document_names import docno, index_in, one_word
from evidencebench.query import AspectScope
from evidencebench.storage.reading import PathText
from evidencebench.storage.text_file import read_text
from evidencebench.system import require_scope
from evidencebench.wording import counted, did_you_mean

NO_SENTENCE = "none"
"""What stands in place of an index where an aspect has no source; no run can hold it."""

_MOST_QRELS_BYTES = 2 << 30

_Sources: TypeAlias = dict[str, dict[str, list[str]]]  # instance id -> aspect -> names of its sources


class Qrel(NamedTuple):
    """A line of qrels: a sentence is a source of an aspect, if the relevance is over 0."""

    qid: str
    aspect: str
    docno: str
    relevance: int


def qrels_of(instance: Instance, scope: AspectScope) -> Iterator[Qrel]:
    """Yield the qrels of the aspects that count, in their order.

    An aspect without a source has a line too, whose document is in no paper: without it, the tools would not count the
    aspect, and their subtopic recall would be over coverable aspects only.
    """
    for aspect in instance.labels.that_count(scope):
        sources = sorted(set(instance.labels.sources.get(aspect, ())))
        names = [docno(instance.id, index) for index in sources] or [f"{instance.id}#{NO_SENTENCE}"]
        yield from (Qrel(instance.id, aspect, name, 1) for name in names)


def qrels_lines(instance: Instance, scope: AspectScope) -> Iterator[str]:
    """Yield the lines of qrels of an instance; raises `DataError` where a name holds white space."""
    for qrel in qrels_of(instance, scope):
        yield f"{one_word(qrel.qid)} {one_word(qrel.aspect)} {qrel.docno} {qrel.relevance}\n"


def qrels_dict(
    dataset: Dataset | PathText | Iterable[Instance], scope: AspectScope = "all"
) -> dict[str, dict[str, int]]:
    """Return the labels as ranx and pytrec_eval take qrels: ``{instance id: {docno: relevance}}``.

    A sentence's relevance is the number of aspects that it is a source of; sentences that are no source are absent, and
    so are instances without any source. Such qrels know no aspects: for subtopic recall, write diversity qrels with
    ``evidencebench export trec``.

    Parameters
    ----------
    dataset
        The data: a data set, its path or catalogue name, or instances.
    scope
        Which aspects count: ``"all"`` or ``"results"``.

    Raises
    ------
    ValueError
        If the scope is neither.

    Examples
    --------
    >>> from evidencebench import load_sample
    >>> qrels = qrels_dict(load_sample())
    >>> list(qrels["evidencebench_sample_id_1"].items())[:2]
    [('evidencebench_sample_id_1#00000', 1), ('evidencebench_sample_id_1#00002', 3)]
    """
    require_scope(scope)
    qrels: dict[str, dict[str, int]] = {}
    for instance in instances_from(dataset):
        counts: dict[int, int] = {}
        for aspect in instance.labels.that_count(scope):
            for index in set(instance.labels.sources.get(aspect, ())):
                counts[index] = counts.get(index, 0) + 1
        if counts:
            qrels[instance.id] = {docno(instance.id, index): counts[index] for index in sorted(counts)}
    return qrels


def with_qrels(
    dataset: Dataset | PathText | Iterable[Instance], qrels: PathText | Mapping[str, Mapping[str, int]]
) -> Iterator[Instance]:
    """Return the instances that qrels judge, with the labels of the qrels in place of their own.

    `write_dataset` makes a data file of them, which every command takes.

    Parameters
    ----------
    dataset
        The data that the sentences are of: a data set, its path or catalogue name, or instances.
    qrels
        A file of diversity qrels, ``qid subtopic docno rel``, in which the subtopics are the aspects. Or a dict
        ``{instance id: {docno: relevance}}``, which knows no aspects: each relevant sentence then is an aspect of its
        own, so that aspect recall is the share of relevant sentences that are found. A docno is ``instance#00042`` or
        the index alone. An aspect keeps its text and its label as Results where the data has an aspect of its name.

    Raises
    ------
    DataError
        If the qrels cannot be read, judge an instance or a sentence that the data lacks; the message says where.

    Examples
    --------
    >>> from evidencebench import load_sample
    >>> qrels = {"evidencebench_sample_id_1": {"evidencebench_sample_id_1#00004": 1, "5": 2, "6": 0}}
    >>> [instance] = with_qrels(load_sample(), qrels)
    >>> instance.labels.sources
    {'evidencebench_sample_id_1#00004': (4,), '5': (5,)}
    """
    name, judged = ("qrels", _of_dict(qrels)) if isinstance(qrels, Mapping) else _read(Path(qrels))
    instances = instances_from(dataset)
    ids = instances.ids if isinstance(instances, Dataset) else [instance.id for instance in instances]
    unknown = sorted(judged.keys() - set(ids))
    if unknown:
        more = f" and {counted(len(unknown) - 1, 'instance')} more" if unknown[1:] else ""
        raise DataError(
            f"{name}: judges '{unknown[0]}'{did_you_mean(unknown[0], ids)}{more}, which the data does not hold"
        )
    return (_relabelled(instance, judged[instance.id], name) for instance in instances if instance.id in judged)


def _relabelled(instance: Instance, judged: Mapping[str, list[str]], name: str) -> Instance:
    """Return an instance with other labels: aspect -> names of its sources."""
    sources: dict[str, tuple[int, ...]] = {}
    for aspect, documents in judged.items():
        indices = []
        for document in documents:
            if document == f"{instance.id}#{NO_SENTENCE}":
                continue
            try:
                index = index_in(document, instance.id)
            except DataError as error:
                raise DataError(f"{name}: {error}") from error
            if index >= len(instance.query.sentences):
                raise DataError(
                    f"{name}: '{document}' is no sentence: the paper has 0..{len(instance.query.sentences) - 1}"
                )
            indices.append(index)
        sources[aspect] = tuple(dict.fromkeys(indices))
    old = instance.labels
    labels = Labels(
        aspects=tuple(sources),
        results=tuple(aspect for aspect in sources if aspect in set(old.results)),
        sources=sources,
        texts={aspect: old.texts[aspect] for aspect in sources if aspect in old.texts},
        review_id=old.review_id,
    )
    return Instance(query=instance.query, labels=labels)


def _of_dict(qrels: Mapping[str, Mapping[str, int]]) -> _Sources:
    """Take each relevant sentence for an aspect, named as the sentence."""
    if not qrels:
        raise DataError("qrels: expected {instance id: {docno: relevance}}, got an empty dict")
    return {
        qid: {str(document): [str(document)] for document, relevance in judged.items() if relevance > 0}
        for qid, judged in qrels.items()
    }


def _read(path: Path) -> tuple[str, _Sources]:
    judged: _Sources = {}
    for number, line in enumerate(read_text(path, at_most=_MOST_QRELS_BYTES).splitlines(), 1):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != 4:  # noqa: PLR2004 - as the message says
            raise DataError(f"{path}: line {number}: expected 4 columns (qid subtopic docno rel), got {len(columns)}")
        if not columns[3].lstrip("-").isdecimal():
            raise DataError(f"{path}: line {number}: expected a whole number as relevance, got '{columns[3]}'")
        qid, aspect, document, relevance = columns
        sources = judged.setdefault(qid, {}).setdefault(aspect, [])
        if int(relevance) > 0:
            sources.append(document)
    if not judged:
        raise DataError(f"{path}: holds no qrels; expected lines of 'qid subtopic docno rel'")
    return str(path), judged
