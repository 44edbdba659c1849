"""Answers as scores of documents, which every tool of information retrieval sorts by."""

from collections.abc import Iterator, Mapping
from os import PathLike

from evidencebench.data.tasks import TaskOrName, task_from
from evidencebench.errors import RunError
from evidencebench.integrations.trec.document_names import docno
from evidencebench.runs.answer_line import Answer
from evidencebench.runs.formats import open_run
from evidencebench.runs.given_answers import GivenAnswer, answers_in
from evidencebench.runs.run_file import RunFile
from evidencebench.storage.reading import PathText
from evidencebench.system import Ranking


def scored(sentences: tuple[int, ...]) -> Iterator[tuple[int, float]]:
    """Yield each sentence with a score: as many as stand behind it, and 1."""
    # A system's scores may be equal, or nearer than single precision holds, and tools decide such ties as they like.
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
        instance_id: {docno(instance_id, index): score for index, score in scored(answer.sentences)}
        for instance_id, answer in answers_for(run, task)
        if isinstance(answer, Ranking) and answer.sentences
    }


def answers_for(
    run: RunFile | PathText | Mapping[str, GivenAnswer], task: TaskOrName | None
) -> Iterator[tuple[str, Answer]]:
    """Yield (instance id, answer) of a run, its path, or a dict of answers; raises as `run_dict`."""
    if isinstance(run, Mapping):
        yield from answers_in(run).items()
        return
    opened = open_run(run) if isinstance(run, str | PathLike) else run
    name = None if task is None else task_from(task).name
    keys = opened.done
    if name is None and any(task_name is not None for _, task_name in keys):
        tasks = sorted({task_name for _, task_name in keys if task_name is not None})
        raise RunError(f"{opened.path}: has other answers for each task: name one of {', '.join(tasks)}")
    for instance_id in sorted({name for name, _ in keys}):
        answer = opened.answer(instance_id, name)
        if answer is not None:
            yield instance_id, answer
