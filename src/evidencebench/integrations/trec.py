"""TREC: topics, qrels, runs, frames."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, get_args

import msgspec

from evidencebench.data.dataset import Dataset, instances_from
from evidencebench.data.instance import Instance, Labels
from evidencebench.data.tasks import Task, TaskOrName, task_from, task_named
from evidencebench.errors import AnswerError, DataError, RunError
from evidencebench.execution.compatibility import check_answers, check_belongs
from evidencebench.files.atomic import whole_file, whole_folder, write_whole
from evidencebench.files.disk import PathText, read_text
from evidencebench.provenance import require_extra
from evidencebench.query import AspectScope
from evidencebench.runs.formats import GivenAnswer, answers_in, open_run
from evidencebench.runs.run import Answer, RunFile
from evidencebench.scoring.selection import check_answer
from evidencebench.system import Ranking, index_in, require_scope
from evidencebench.version import __version__
from evidencebench.wording import check_type, counted, did_you_mean


def docno(instance_id: str, index: int) -> str:
    """Return the name of a sentence in the TREC tools, ``instance#00042``: one name space holds those of all papers."""
    return f"{instance_id}#{index:05d}"


def one_word(name: str) -> str:
    if name.split() != [name]:
        raise DataError(f"{name!r}: expected a name without white space, by which TREC files are split")
    return name


NO_SENTENCE = "none"  # in place of an index where an aspect has no source; no run can hold it

_Sources: TypeAlias = dict[str, dict[str, list[str]]]  # instance id -> aspect -> names of its sources


def _qrels(instance: Instance, scope: AspectScope) -> Iterator[tuple[str, str]]:
    """Yield (aspect, docno); an aspect without a source has a document in no paper, since tools would not count it."""
    for aspect in instance.labels.that_count(scope):
        sources = sorted(set(instance.labels.sources.get(aspect, ())))
        names = [docno(instance.id, index) for index in sources] or [f"{instance.id}#{NO_SENTENCE}"]
        yield from ((aspect, name) for name in names)


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
        counts = Counter(name for _, name in _qrels(instance, scope) if not name.endswith(NO_SENTENCE))
        if counts:
            qrels[instance.id] = dict(sorted(counts.items()))
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
    if not isinstance(qrels, Mapping):
        name, judged = _read(Path(qrels))
    elif not qrels:
        raise DataError("qrels: expected {instance id: {docno: relevance}}, got an empty dict")
    else:
        name = "qrels"
        judged = {
            qid: {str(document): [str(document)] for document, relevance in relevances.items() if relevance > 0}
            for qid, relevances in qrels.items()
        }
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
    sources: dict[str, tuple[int, ...]] = {}
    for aspect, documents in judged.items():
        indices = []
        for document in documents:
            if document == f"{instance.id}#{NO_SENTENCE}":
                continue
            try:
                indices.append(index_in(document, instance.id))
            except ValueError as error:
                raise DataError(f"{name}: {error}") from error
            if indices[-1] >= len(instance.query.sentences):
                raise DataError(
                    f"{name}: expected sentences 0..{len(instance.query.sentences) - 1} of the paper, got '{document}'"
                )
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


def _read(path: Path) -> tuple[str, _Sources]:
    judged: _Sources = {}
    for number, line in enumerate(read_text(path, at_most=2 << 30).splitlines(), 1):
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


def _scored(sentences: tuple[int, ...]) -> Iterator[tuple[int, float]]:
    """Yield each sentence with a score, its place from the end; tools decide ties of a system's own as they like."""
    sentences = tuple(dict.fromkeys(sentences))
    return ((index, float(len(sentences) - rank)) for rank, index in enumerate(sentences))


def run_dict(
    run: RunFile | PathText | Mapping[str, GivenAnswer], task: TaskOrName | None = None
) -> dict[str, dict[str, float]]:
    """Return a run as ranx and pytrec_eval take it: ``{instance id: {docno: score}}``.

    The scores are places, counted from the end: whole numbers, never equal, so that every tool sorts as the run does. A
    set of sentences stands in the order in which it was given. Answers that failed or select nothing have no entry,
    since these tools know none. The way back needs no function: `evaluate` takes such dicts as answers.

    Parameters
    ----------
    run
        A run, its path, or answers in a dict, as `evaluate` takes them.
    task
        Which answers to take, a task or its name, where the run has other answers for each task.

    Raises
    ------
    RunError
        If the run has other answers for each task, and none is named.

    Examples
    --------
    >>> run_dict({"a": [4, 2]})
    {'a': {'a#00004': 2.0, 'a#00002': 1.0}}
    """
    return {
        instance_id: {docno(instance_id, index): score for index, score in _scored(answer.sentences)}
        for instance_id, answer in _answers(run, task)
        if isinstance(answer, Ranking) and answer.sentences
    }


def _answers(
    run: RunFile | PathText | Mapping[str, GivenAnswer], task: TaskOrName | None
) -> Iterator[tuple[str, Answer]]:
    if isinstance(run, Mapping):
        yield from answers_in(run).items()
        return
    opened = open_run(run) if isinstance(run, str | PathLike) else run
    check_type(opened, RunFile, "a run, its path, or a dict of answers")
    name = None if task is None else task_from(task).name
    tasks = sorted({task_name for _, task_name in opened.done if task_name is not None})
    if name is None and tasks:
        raise RunError(f"{opened.path}: has other answers for each task: name one of {', '.join(tasks)}")
    for instance_id in sorted({name for name, _ in opened.done}):
        answer = opened.answer(instance_id, name)
        if answer is not None:
            yield instance_id, answer


MARKER = "evidencebench.json"
"""The file of such a folder that says what it was made of, and by which it is told from other folders."""

_SCOPES: tuple[AspectScope, ...] = get_args(AspectScope)


@dataclass(kw_only=True)
class WrittenRun:
    system: str  # as its signature has it
    task: str | None  # whose answers, where there are others for each task
    is_cut: bool  # to the task's budget
    n_answers: int = 0
    n_without: int = 0  # answers that failed or select nothing: they have no line
    n_sets: int = 0  # answers without an order, written in the order in which they name sentences
    n_cut_sets: int = 0  # of which a budget took the first


@dataclass(frozen=True, kw_only=True)
class TrecReport:
    evidencebench: str = __version__
    data: str
    data_sha256: str
    n_topics: int
    qrels: dict[str, int] = field(default_factory=dict)  # file -> its number of lines
    runs: dict[str, WrittenRun] = field(default_factory=dict)  # by file


def _run_lines(run: RunFile, task: Task | None, tag: str, written: WrittenRun, instance: Instance) -> Iterator[str]:
    """Yield the lines of an answer, and count it; ``task`` has the budget where answers are cut."""
    answer = run.answer(instance.id, written.task)
    cut_to = task if written.is_cut else None
    if answer is None or (cut_to is not None and not cut_to.applies_to(instance.labels)):
        return
    try:
        checked = check_answer(answer, len(instance.query.sentences)).ranking
    except AnswerError as error:
        raise AnswerError(f"{run.path}: {instance.id}: {error}; mend the answer, or take it out") from error
    sentences = checked.sentences
    written.n_answers += 1
    written.n_without += not sentences
    written.n_sets += bool(sentences) and not checked.ordered
    if cut_to is not None:
        budget = cut_to.budget_for(instance)
        written.n_cut_sets += budget is not None and len(sentences) > budget and not checked.ordered
        sentences = sentences[:budget]
    for rank, (index, score) in enumerate(_scored(sentences), 1):
        yield f"{instance.id} Q0 {docno(instance.id, index)} {rank} {score:.0f} {tag}\n"


def write_trec(
    folder: Path,
    dataset: Dataset,
    runs: Sequence[RunFile] = (),
    tasks: Sequence[Task] = (),
    *,
    overwrite: bool = False,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> TrecReport:
    """With tasks, a run has a file for each, cut to its budget; else one, or one a task where its answers differ."""
    for run in runs:
        check_belongs(run, dataset)
        for task in tasks:
            check_answers(run, task, dataset)
    files = _run_files(runs, tasks)
    n_lines = dict.fromkeys((f"qrels.{scope}.txt" for scope in _SCOPES), 0)
    with whole_folder(folder, marker=MARKER, overwrite=overwrite) as (made, _), ExitStack() as opened:
        if runs:
            (made / "runs").mkdir()
        names = ("topics.tsv", *n_lines, *files)
        outputs = {name: opened.enter_context(whole_file(made / name)) for name in names}
        for n_done, instance in enumerate(dataset, 1):
            qid, hypothesis = one_word(instance.id), " ".join(instance.query.hypothesis.split())
            outputs["topics.tsv"].write(f"{qid}\t{hypothesis}\n".encode())
            for scope, name in zip(_SCOPES, n_lines, strict=True):
                qrels = [f"{qid} {one_word(aspect)} {sentence} 1\n" for aspect, sentence in _qrels(instance, scope)]
                outputs[name].write("".join(qrels).encode())
                n_lines[name] += len(qrels)
            for name, (_, lines) in files.items():
                outputs[name].write("".join(lines(instance)).encode())
            on_progress(n_done, len(dataset))
        report = TrecReport(
            data=dataset.name,
            data_sha256=dataset.sha256,
            n_topics=len(dataset),
            qrels=n_lines,
            runs={name: written for name, (written, _) in files.items()},
        )
        write_whole(made / MARKER, msgspec.json.format(msgspec.json.encode(report), indent=2))
    return report


def _run_files(
    runs: Sequence[RunFile], tasks: Sequence[Task]
) -> dict[str, tuple[WrittenRun, Callable[[Instance], Iterator[str]]]]:
    files: dict[str, tuple[WrittenRun, Callable[[Instance], Iterator[str]]]] = {}
    for run in runs:
        differ = run.header is not None and run.header.per_task
        own = [task_named(name) for name in run.header.tasks] if run.header is not None and differ else [None]
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", run.path.name.removesuffix(".jsonl").removesuffix(".json")) or "run"
        for task in tasks or own:
            file = f"runs/{name}.{task.name}.run" if task is not None else f"runs/{name}.run"
            if file in files:
                raise DataError(f"{run.path}: another run would be written as '{file}' too; rename one of the two")
            task_name = None if task is None else task.name
            written = WrittenRun(system=run.signature, task=task_name, is_cut=bool(tasks))
            files[file] = written, partial(_run_lines, run, task, name, written)
    return files


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
    >>> import polars
    >>> answers_of_frame(polars.DataFrame({"qid": ["a", "a"], "docno": ["4", "2"], "score": [2.0, 1.0]}))
    {'a': {'4': 2.0, '2': 1.0}}
    """
    require_extra("answers_of_frame", "frames", "narwhals")
    import narwhals as nw  # noqa: PLC0415 - an extra

    columns = ["qid", "docno", "score"]
    try:
        read = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        hint = "; collect it first" if hasattr(frame, "collect") else ""
        raise AnswerError(f"frame: expected a pandas or polars data frame, got {type(frame).__name__}{hint}") from error
    if missing := [column for column in columns if column not in read.columns]:
        raise AnswerError(
            f"frame: expected the columns qid, docno and score, got {', '.join(read.columns)}; no '{missing[0]}'"
        )
    answers: dict[str, dict[str, float]] = {}
    for qid, document, score in read.select(columns).iter_rows():
        scores = answers.setdefault(str(qid), {})
        if str(document) in scores:
            raise AnswerError(f"frame: {qid}: '{document}' occurs twice; expected one score for each sentence")
        if not isinstance(score, int | float) or not math.isfinite(score):
            raise AnswerError(f"frame: {qid}: '{document}': expected a finite number as score, got {score!r}")
        scores[str(document)] = float(score)
    return answers
