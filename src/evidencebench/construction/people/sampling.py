"""Draw what people are asked: papers with one aspect each, or pairs, aspects and passages, all equally likely."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.construction.people.labels import Labelled, datasets_of, newest_drafts, read_labels
from evidencebench.construction.people.tasks import CRITERIA, AnnotationTask, FileDigest, TasksHeader, TaskSort
from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError

DEFAULT_TASKS = {"sentences": 50, "pairs": 100, "results": 100, "passages": 50, "hypotheses": 50, "aspects": 50}
LABELLED, UNLABELLED = "labelled", "not labelled"
NEAR = 2  # how many sentences an unlabelled one may be from a source to be asked about
_AROUND = 3  # sentences that are shown on each side of a pair's
_MOST_AROUND = 500  # characters that are shown on each side of a passage

Item = TypeVar("Item")


class _Place(NamedTuple):
    dataset: int
    instance_id: str
    aspect: str = ""
    number: int | None = None


def draw_tasks(
    source: str | Path, *, sort: TaskSort = "sentences", n: int | None = None, seed: int = 0
) -> tuple[TasksHeader, tuple[AnnotationTask, ...]]:
    """Return at most ``n`` tasks of a work folder or a data set, in random order.

    Of ``pairs`` and ``results``, half are labelled as sources or results and half are not; of ``passages``, all are
    kept ones; of the others, each is of another paper.
    """
    n, random = n or DEFAULT_TASKS[sort], Random(seed)  # noqa: S311 - a sample, not a secret
    criteria = CRITERIA.get(sort, ())
    if sort == "passages":
        source_sha256, tasks, population = _draw_passages(Path(source), n, random)
    else:
        datasets = datasets_of(source)
        labels = read_labels(source) if sort == "pairs" else {}
        summaries = _summaries(source) if sort == "aspects" else {}
        if not summaries:
            criteria = tuple(criterion for criterion in criteria if criterion.name != "faithful")
        places = _places(datasets, sort, labels)
        is_halved = sort in {"pairs", "results"}
        chosen, population = _reservoirs(places, n // 2 if is_halved else 1, random)
        if not is_halved:
            chosen, population = chosen[:n], {"papers": len(chosen)}
        tasks = [_task(datasets[place.dataset][place.instance_id], place, sort, summaries) for place in chosen]
        digests = [dataset.sha256 for dataset in datasets]
        source_sha256 = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    if not tasks:
        texts = "" if sort in {"hypotheses", "passages"} else " with the texts of its aspects"
        raise DataError(f"{source}: expected a data set{texts} to draw '{sort}' from, got nothing that fits")
    data = FileDigest(name=Path(source).name, sha256=source_sha256)
    width = len(str(len(tasks)))
    return TasksHeader(sort=sort, seed=seed, data=data, criteria=criteria, population=population), tuple(
        msgspec.structs.replace(task, id=f"task_{number:0{width}}") for number, task in enumerate(tasks, 1)
    )


def _places(datasets: list[Dataset], sort: TaskSort, labels: Labelled) -> Iterator[tuple[str, _Place]]:
    """Yield what can be drawn, each with its group: a paper, or what the labels say."""
    for position, dataset in enumerate(datasets):
        for instance in dataset:
            texts, paper = instance.labels.texts, instance.query.paper_id
            aspects = [aspect for aspect in instance.labels.aspects if texts.get(aspect, "").strip()]
            if sort == "hypotheses":
                yield paper, _Place(position, instance.id)
                continue
            for aspect in aspects:
                if sort == "pairs":
                    known = labels.get((paper, texts[aspect]))
                    for group, number in _pairs(instance, aspect, known.doubted if known else ()):
                        yield group, _Place(position, instance.id, aspect, number)
                elif sort == "results":
                    is_result = aspect in instance.labels.results
                    yield LABELLED if is_result else UNLABELLED, _Place(position, instance.id, aspect)
                elif sort == "aspects" or instance.query.sentences:
                    yield paper, _Place(position, instance.id, aspect)


def _pairs(instance: Instance, aspect: str, doubted: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Yield the sources of an aspect, and what might be one: near one, voted for, or of another aspect."""
    last, all_sources = len(instance.query.sentences) - 1, instance.labels.sources
    sources = set(all_sources.get(aspect, ()))
    likely = {number + by for number in sources for by in range(-NEAR, NEAR + 1)}.union(doubted)
    if not sources:
        likely = {number for held in all_sources.values() for number in held}.union(doubted)
    yield from ((LABELLED, number) for number in sorted(sources))
    yield from ((UNLABELLED, number) for number in sorted(likely - sources) if 0 <= number <= last)


def _reservoirs(items: Iterable[tuple[str, Item]], n: int, random: Random) -> tuple[list[Item], dict[str, int]]:
    """Return ``n`` items of each group, all equally likely, in random order, and how many there were."""
    counts: Counter[str] = Counter()
    drawn: dict[str, list[Item]] = {}
    for group, item in items:
        counts[group] += 1
        chosen = drawn.setdefault(group, [])
        if len(chosen) < n:
            chosen.append(item)
        elif (place := random.randrange(counts[group])) < n:
            chosen[place] = item
    together = [item for group in sorted(drawn) for item in drawn[group]]
    random.shuffle(together)
    return together, dict(sorted(counts.items()))


def _task(instance: Instance, place: _Place, sort: TaskSort, summaries: dict[tuple[str, str], str]) -> AnnotationTask:
    query, text = instance.query, instance.labels.texts.get(place.aspect, "") if place.aspect else ""
    task = AnnotationTask(
        id="",
        instance_id=instance.id,
        paper_id=query.paper_id,
        hypothesis=query.hypothesis,
        aspect_id=place.aspect,
        aspect=text,
        summary=summaries.get((query.paper_id, text), ""),
    )
    if sort in {"sentences", "hypotheses"}:
        return msgspec.structs.replace(task, sentences=query.sentences, kinds=query.kinds)
    if place.number is None:
        return task
    before, after = max(0, place.number - _AROUND), place.number + 1
    return msgspec.structs.replace(
        task,
        number=place.number,
        text=query.sentences[place.number],
        before=" ".join(query.sentences[before : place.number]),
        after=" ".join(query.sentences[after : after + _AROUND]),
    )


def _summaries(source: str | Path) -> dict[tuple[str, str], str]:
    drafts = newest_drafts(Path(source), "aspects")
    return (
        {}
        if drafts is None
        else {(draft.paper_id, aspect): draft.summary for draft in drafts.drafts() for aspect in draft.aspects}
    )


def _draw_passages(work: Path, n: int, random: Random) -> tuple[str, list[AnnotationTask], dict[str, int]]:
    drafts = newest_drafts(work, "harvest", "summaries")
    if drafts is None:
        raise DataError(f"{work}: expected the work folder of a construction, whose drafts hold the passages, got none")

    def task(draft: Draft) -> AnnotationTask:
        before, found, after = draft.context.partition(draft.summary)
        before = before if found else ""  # a model has left out a sentence between two others
        return AnnotationTask(
            id="",
            instance_id=draft.id,
            paper_id=draft.paper_id,
            text=draft.summary,
            before="…" * (len(before) > _MOST_AROUND) + before[-_MOST_AROUND:],
            after=after[:_MOST_AROUND] + "…" * (len(after) > _MOST_AROUND),
            cited=", ".join(dict.fromkeys(draft.passage.marks)) if draft.passage else "",
        )

    ids, counts = _reservoirs((("kept", draft_id) for draft_id in sorted(drafts.going_on)), n, random)
    digest = sha256(msgspec.json.encode(drafts.header)).hexdigest()
    return digest, [task(drafts[draft_id]) for draft_id in ids], counts
