"""A data set and a task as an object of mteb: reranking the sentences of each paper, scored by aspect recall."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.errors import TaskError
from evidencebench.files.disk import PathText
from evidencebench.integrations.hugging_face import CITATION, PAPER_URL, known_entry
from evidencebench.integrations.trec import NO_SENTENCE, docno, qrels_dict
from evidencebench.provenance import require_extra
from evidencebench.scoring.evaluate import evaluate
from evidencebench.scoring.measures import ASPECT_RECALL

if TYPE_CHECKING:
    from mteb import AbsTask


PUBLISHED_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")

# How mteb spells licences, by ours.
_LICENCES = {"CC-BY-4.0": "cc-by-4.0", "CC-BY-NC-4.0": "cc-by-nc-4.0"}


def mteb_tasks(
    dataset: Dataset | PathText, tasks: TaskOrName | Iterable[TaskOrName] = PUBLISHED_TASKS
) -> list["AbsTask"]:
    """Return task objects of mteb, for ``mteb.evaluate(model, tasks)``.

    A query is a hypothesis, and the documents to rerank are the sentences of its paper. The main score is aspect
    recall, as `evaluate` computes it: by score, then by place in the paper. Nothing is fetched from a hub.

    Parameters
    ----------
    dataset
        The data: a data set, its path or catalogue name.
    tasks
        Tasks with a budget, or their names, or a single one; by default the four published ones.

    Returns
    -------
    list of mteb.AbsTask
        One for each task, named by task and data, such as ``EvidenceBench-er_at_10-dev``. Its revision is the checksum
        of the data, so that mteb's cache keeps results on other data apart.

    Raises
    ------
    MissingExtraError
        If mteb is not installed.
    TaskError
        If a task has no budget, since a reranker does not end its answers, or applies to no instance.

    Examples
    --------
    >>> import mteb  # doctest: +SKIP
    >>> tasks = mteb_tasks("sample", "er_at_10")  # doctest: +SKIP
    >>> mteb.evaluate(mteb.get_model("my/model"), tasks)  # doctest: +SKIP
    """
    require_extra("mteb_tasks", "mteb", "mteb")
    data, chosen = dataset_from(dataset), tasks_from(tasks)
    for task in chosen:
        if task.budget is None:
            raise TaskError(f"task '{task.name}' has no budget, and models of mteb rank all sentences; name another")
    return [_task_object(data, task) for task in chosen]


def _task_object(data: Dataset, task: Task) -> Any:
    """Return a task object. Its class is made here, when mteb is there, with what unloading must not lose."""
    import datasets  # noqa: PLC0415 - an extra
    from mteb.abstasks.retrieval import AbsTaskRetrieval  # noqa: PLC0415 - an extra

    class EvidenceReranking(AbsTaskRetrieval):  # type: ignore[misc] # mteb is not there when types are checked
        metadata = _metadata(data, task)
        data_loaded: bool = False

        def load_data(self, *_: Any, **__: Any) -> None:
            if self.data_loaded:
                return
            queries: list[dict[str, str]] = []
            corpus: list[dict[str, str]] = []
            candidates: dict[str, list[str]] = {}
            applicable = []
            for instance in data:
                if not task.applies_to(instance.labels):
                    continue
                applicable.append(instance)
                queries.append({"id": instance.id, "text": instance.query.hypothesis})
                names = [docno(instance.id, index) for index in range(len(instance.query.sentences))]
                corpus += [
                    {"id": name, "text": text} for name, text in zip(names, instance.query.sentences, strict=True)
                ]
                candidates[instance.id] = names
            if not queries:
                raise TaskError(f"{data.path}: task '{task.name}' applies to none of the instances")
            qrels = qrels_dict(applicable, task.scope)
            # mteb leaves out queries without a relevant document; here they count, with recall 0.
            relevant = {name: qrels.get(name, {f"{name}#{NO_SENTENCE}": 1}) for name in candidates}
            part = {
                "queries": datasets.Dataset.from_list(queries),
                "corpus": datasets.Dataset.from_list(corpus),
                "relevant_docs": relevant,
                "top_ranked": candidates,
            }
            self._applicable = applicable
            self.dataset = {"default": {"test": part}}
            self.data_loaded = True

        def task_specific_scores(
            self,
            scores: Any,  # noqa: ARG002 - mteb's signature
            qrels: Any,  # noqa: ARG002 - as above
            results: Mapping[str, Mapping[str, float]],
            *_: Any,
            **__: Any,
        ) -> dict[str, float]:
            scored = evaluate({"model": results}, self._applicable, task, with_selections=False)
            return {ASPECT_RECALL.key: scored["model"][task.name].mean_recall}

    return EvidenceReranking()


def _metadata(data: Dataset, task: Task) -> Any:
    from mteb.abstasks.task_metadata import TaskMetadata  # noqa: PLC0415 - an extra

    entry = known_entry(data)
    name = entry.name if entry is not None else data.name.partition(".")[0]
    scope = "labelled as results " if task.scope == "results" else ""
    budget = "as many sentences as cover all of them" if task.budget == "optimal" else task.words
    return TaskMetadata(
        name=f"EvidenceBench-{task.name}-{re.sub('[^A-Za-z0-9_-]', '_', name)}",
        description="Find the sentences of a biomedical paper that are evidence for or against a hypothesis: the share "
        f"of study aspects {scope}that {budget} cover.",
        reference=PAPER_URL,
        dataset={"path": data.name, "revision": data.sha256},
        type="Reranking",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score=ASPECT_RECALL.key,
        domains=["Academic", "Medical", "Written"],
        task_subtypes=["Scientific Reranking"],
        license=_LICENCES.get(entry.licence, "not specified") if entry is not None else "not specified",
        bibtex_citation=CITATION,
    )
