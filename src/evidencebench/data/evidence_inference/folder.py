"""Where the files of Evidence Inference lie: in its published folder, or in one with shorter names."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evidencebench.data.evidence_inference.records import (
    Annotation,
    TrialPrompt,
    read_annotations,
    read_prompts,
)
from evidencebench.errors import DataError, UnreadableError
from evidencebench.storage.text_file import read_text

PaperFormat = Literal["nxml", "txt"]
SplitName = Literal["train", "validation", "test"]

_PROMPTS = ("prompts_merged.csv", "prompts.csv")
_ANNOTATIONS = ("annotations_merged.csv", "v2_annotations.csv", "annotations.csv")
_PAPERS: dict[PaperFormat, tuple[str, ...]] = {"nxml": ("xml_files", "xml"), "txt": ("txt_files", "txt")}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFolder:
    """The folder that was found; ``papers`` has the folders of papers that are there, by format."""

    path: Path
    prompts: Path
    annotations: tuple[Path, ...]
    papers: dict[PaperFormat, Path]

    def paper(self, pmcid: str, paper_format: PaperFormat) -> Path | None:
        """Return the file of a paper in a format; None where there is none."""
        folder = self.papers.get(paper_format)
        path = None if folder is None else folder / f"PMC{pmcid}.{paper_format}"
        return path if path is not None and path.is_file() else None


def is_trial_folder(path: Path) -> bool:
    """Say whether a path is a folder with prompts of Evidence Inference, directly in it or in its ``annotations``."""
    return any(_those_there(folder, _PROMPTS) for folder in (path, path / "annotations"))


def find_folder(path: Path) -> TrialFolder:
    """Return what lies in a folder of Evidence Inference or its ``annotations``; raises `UnreadableError`."""
    for folder in (path, path / "annotations"):
        prompts = _those_there(folder, _PROMPTS)
        annotations = _those_there(folder, _ANNOTATIONS)
        papers = {
            paper_format: folders[0]
            for paper_format, names in _PAPERS.items()
            if (folders := _those_there(folder, names))
        }
        if prompts and annotations and papers:
            return TrialFolder(path=path, prompts=prompts[0], annotations=tuple(annotations), papers=papers)
    papers_in = [name for names in _PAPERS.values() for name in names]
    missing = next(names for names in (_PROMPTS, _ANNOTATIONS, papers_in) if not _those_there(path, names))
    raise UnreadableError(
        f"{path}: expected a data file, or the folder of Evidence Inference 2.0 with prompts, annotations and papers; "
        f"got a folder without {' or '.join(missing)}"
    )


def prompts_of(folder: TrialFolder, split: SplitName | None) -> list[TrialPrompt]:
    """Return the prompts, all or those of a split; raises `DataError`."""
    prompts = read_prompts(folder.prompts)
    if split is None:
        return prompts
    path = folder.prompts.parent / "splits" / f"ev2_{split}_article_ids.txt"
    try:
        articles = {word.removeprefix("PMC") for word in read_text(path).split()}
    except UnreadableError as error:
        raise UnreadableError(f"{error}; leave --split out, or put the published split there") from error
    chosen = [prompt for prompt in prompts if prompt.pmcid in articles]
    if not chosen:
        raise DataError(f"{path}: expected ids of papers that have prompts, got {len(articles)} ids and none of them")
    return chosen


def annotations_of(folder: TrialFolder) -> dict[str, list[Annotation]]:
    """Return prompt id -> its annotations in file order; those in several files as often as they are there."""
    by_prompt: dict[str, list[Annotation]] = {}
    for annotation in (annotation for path in folder.annotations for annotation in read_annotations(path)):
        by_prompt.setdefault(annotation.prompt_id, []).append(annotation)
    return by_prompt


def _those_there(folder: Path, names: Iterable[str]) -> list[Path]:
    return [folder / name for name in names if (folder / name).exists()]
