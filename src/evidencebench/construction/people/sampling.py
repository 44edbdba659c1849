"""Draw what people are asked: papers with one aspect each, or pairs, aspects and passages, all equally likely."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

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


class _Place(NamedTuple):
    dataset: Dataset
    instance_id: str
    aspect: str = ""
    number: int | None = None


def draw_tasks(
    source: str | Path, *, sort: TaskSort = "sentences", n: int | None = None, seed: int = 0
) -> tuple[TasksHeader, tuple[AnnotationTask, ...]]:
    """Return at most ``n`` tasks in random order; of pairs and results half are labelled so, others are one a paper."""
    n, random = n or DEFAULT_TASKS[sort], Random(seed)  # noqa: S311 - a sample, not a secret
    criteria = CRITERIA.get(sort, ())
    if sort == "passages":
        source_sha256, tasks, population = _draw_passages(Path(source), n, random)
    else:
        datasets = datasets_of(source)
        drafts = newest_drafts(Path(source), "aspects") if sort == "aspects" else None
        summarised = drafts.drafts() if drafts else ()
        summaries = {(draft.paper_id, aspect): draft.summary for draft in summarised for aspect in draft.aspects}
        if not summaries:
            criteria = tuple(criterion for criterion in criteria if criterion.name != "faithful")
        places = _places(datasets, sort, read_labels(source) if sort == "pairs" else {})
        is_halved = sort in {"pairs", "results"}
        chosen, population = _reservoirs(places, n // 2 if is_halved else 1, random)
        if not is_halved:
            chosen, population = chosen[:n], {"papers": len(chosen)}
        tasks = [_task(place, sort, summaries) for place in chosen]
        digests = [dataset.sha256 for dataset in datasets]
        source_sha256 = digests[0] if len(digests) == 1 else sha256("".join(digests).encode()).hexdigest()
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
    for dataset in datasets:
        for instance in dataset:
            texts, paper = instance.labels.texts, instance.query.paper_id
            aspects = [aspect for aspect in instance.labels.aspects if texts.get(aspect, "").strip()]
            for aspect in [""] if sort == "hypotheses" else aspects:
                place = _Place(dataset, instance.id, aspect)
                if sort == "pairs":
                    known = labels.get((paper, texts[aspect]))
                    for group, number in _pairs(instance, aspect, known.doubted if known else ()):
                        yield group, place._replace(number=number)
                elif sort == "results":
                    yield LABELLED if aspect in instance.labels.results else UNLABELLED, place
                elif sort != "sentences" or instance.query.sentences:
                    yield paper, place


def _pairs(instance: Instance, aspect: str, doubted: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Yield the sources of an aspect, and what might be one: near one, voted for, or of another aspect."""
    last, all_sources = len(instance.query.sentences) - 1, instance.labels.sources
    sources = set(all_sources.get(aspect, ()))
    likely = {number + by for number in sources for by in range(-NEAR, NEAR + 1)}
    if not sources:
        likely = {number for held in all_sources.values() for number in held}
    yield from ((LABELLED, number) for number in sorted(sources))
    yield from ((UNLABELLED, number) for number in sorted(likely.union(doubted) - sources) if 0 <= number <= last)


def _reservoirs(items: Iterable[tuple[str, _Place]], n: int, random: Random) -> tuple[list[_Place], dict[str, int]]:
    """Return ``n`` items of each group, all equally likely, in random order, and how many there were."""
    counts: Counter[str] = Counter()
    drawn: dict[str, list[_Place]] = {}
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


def _task(place: _Place, sort: TaskSort, summaries: Mapping[tuple[str, str], str]) -> AnnotationTask:
    instance, number = place.dataset[place.instance_id], place.number
    query, text = instance.query, instance.labels.texts.get(place.aspect, "")
    task = AnnotationTask(
        id="",
        instance_id=instance.id,
        paper_id=query.paper_id,
        hypothesis=query.hypothesis,
        aspect_id=place.aspect,
        aspect=text,
        summary=summaries.get((query.paper_id, text), ""),
        number=number,
    )
    if sort in {"sentences", "hypotheses"}:
        return msgspec.structs.replace(task, sentences=query.sentences, kinds=query.kinds)
    if number is None:
        return task
    before, after = query.sentences[max(0, number - _AROUND) : number], query.sentences[number + 1 :][:_AROUND]
    return msgspec.structs.replace(task, text=query.sentences[number], before=" ".join(before), after=" ".join(after))


def _draw_passages(work: Path, n: int, random: Random) -> tuple[str, list[AnnotationTask], dict[str, int]]:
    drafts = newest_drafts(work, "harvest", "summaries")
    if drafts is None:
        raise DataError(f"{work}: expected the work folder of a construction, whose drafts hold the passages, got none")
    kept, tasks = sorted(drafts.going_on), []
    for draft in map(drafts.__getitem__, random.sample(kept, min(n, len(kept)))):
        before, found, after = draft.context.partition(draft.summary)
        before = before if found else ""  # a model has left out a sentence between two others
        task = AnnotationTask(
            id="",
            instance_id=draft.id,
            paper_id=draft.paper_id,
            text=draft.summary,
            before=before if len(before) <= _MOST_AROUND else f"…{before[-_MOST_AROUND:]}",
            after=after if len(after) <= _MOST_AROUND else f"{after[:_MOST_AROUND]}…",
            cited=", ".join(dict.fromkeys(draft.passage.marks)) if draft.passage else "",
        )
        tasks.append(task)
    return sha256(msgspec.json.encode(drafts.header)).hexdigest(), tasks, {"kept": len(kept)}
