"""The labels of what people are asked about, from the drafts of a work folder or from a data set."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from evidencebench.construction.draft import (
    DATASET_FOLDER,
    MANIFEST,
    STEP_FILES,
    DraftFile,
    judging_of,
    open_drafts,
    output_of,
)
from evidencebench.data.dataset import Dataset, open_dataset
from evidencebench.errors import DataError

VALIDATION_FOLDER = "validation"  # of a work folder: the tasks, and what people answered


class AspectLabels(NamedTuple):
    sources: frozenset[int]
    is_result: bool
    n_sentences: int
    doubted: frozenset[int] = frozenset()  # sentences that a vote took for sources, and the labels do not


Labelled = Mapping[tuple[str, str], AspectLabels]
"""The paper's id and the text of the aspect -> its labels; ids of instances change whenever drafts are added."""


def is_work_folder(path: Path) -> bool:
    return any((path / name).is_file() for name in STEP_FILES.values())


def validation_folder(source: str | Path) -> Path | None:
    """Where the tasks and answers of a work folder lie; None where a data set is given."""
    return Path(source, VALIDATION_FOLDER) if is_work_folder(Path(source)) else None


def newest_drafts(work: Path, first: str, last: str = "filter") -> DraftFile | None:
    """Return the drafts of the latest of some steps that has a file; None where none has."""
    steps = list(STEP_FILES)
    paths = (output_of(step, work) for step in reversed(steps[steps.index(first) : steps.index(last) + 1]))
    return next((open_drafts(path, must_be_finished=False) for path in paths if path.is_file()), None)


def datasets_of(source: str | Path) -> list[Dataset]:
    """Return the splits of a work folder, or the one data set that is named."""
    if not is_work_folder(Path(source)):
        return [open_dataset(str(source))]
    folder = Path(source, DATASET_FOLDER)
    if paths := sorted(path for path in folder.glob("*.json") if path.name != MANIFEST):
        return [open_dataset(path) for path in paths]
    raise DataError(f"{folder}: expected a data set, got none; 'evidencebench construct run' makes it of {source}")


def read_labels(source: str | Path) -> Labelled:
    drafts = newest_drafts(Path(source), "judge")
    return dict(_labels_of_data(datasets_of(source)) if drafts is None else _labels_of_drafts(drafts))


def _labels_of_drafts(drafts: DraftFile) -> Iterator[tuple[tuple[str, str], AspectLabels]]:
    for draft in drafts.drafts():
        judging = judging_of(draft)
        for number, (aspect, held) in enumerate(zip(draft.aspects, judging.sources, strict=True)):
            votes = (vote for judged in judging.rounds for vote in chain(*judged.votes[number : number + 1]))
            voted = frozenset(index for vote in votes for index in vote.sentences or ())
            sources, is_result = frozenset(held), number in (draft.results or ())
            yield (draft.paper_id, aspect), AspectLabels(sources, is_result, judging.n_sentences, voted - sources)


def _labels_of_data(datasets: list[Dataset]) -> Iterator[tuple[tuple[str, str], AspectLabels]]:
    for dataset in datasets:
        for instance in dataset:
            labels, n_sentences = instance.labels, len(instance.query.sentences)
            for aspect, text in labels.texts.items():
                sources = frozenset(labels.sources.get(aspect, ()))
                yield (instance.query.paper_id, text), AspectLabels(sources, aspect in labels.results, n_sentences)
