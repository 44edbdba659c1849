"""Write Evidence Inference in the published format: an instance a prompt, an aspect a distinct marked text."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evidencebench.data.dataset import write_dataset
from evidencebench.data.evidence_inference.folder import (
    PaperFormat,
    SplitName,
    TrialFolder,
    annotations_of,
    find_folder,
    prompts_of,
)
from evidencebench.data.evidence_inference.placement import NO_PAPER, Placement, PlacingPaper, reason_against
from evidencebench.data.evidence_inference.plain_text import read_trial_text
from evidencebench.data.evidence_inference.records import Annotation, Direction, TrialPrompt
from evidencebench.data.formats.json_instance import encode_instance
from evidencebench.data.instance import Instance, Labels, Origin
from evidencebench.data.optima import derive_optima, with_optima
from evidencebench.errors import DataError, UnreadableError
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read
from evidencebench.query import Query
from evidencebench.storage.text_file import read_text

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnplacedAnnotation:
    """An annotation that became no part of an aspect, and why."""

    prompt_id: str
    pmcid: str
    annotator: str
    start: int | None  # in the plain text
    reason: str


@dataclass(slots=True, kw_only=True)
class ConversionReport:
    """What became of the prompts and annotations; valid is what the data set's verifier accepted."""

    read_from: PaperFormat
    n_prompts: int = 0
    n_instances: int = 0
    n_papers: int = 0
    n_annotations: int = 0
    n_valid: int = 0
    n_placed: int = 0
    n_in_running_text: int = 0  # not in a table or caption, as the data set's plain text has it
    n_placed_in_running_text: int = 0
    prompts_left_out: Counter[str] = field(default_factory=Counter)
    annotations_left_out: Counter[str] = field(default_factory=Counter)
    unreadable_papers: dict[str, str] = field(default_factory=dict)
    unplaced: list[UnplacedAnnotation] = field(default_factory=list)

    def note_placement(self, prompt: TrialPrompt, annotation: Annotation, placement: Placement) -> None:
        """Count a valid annotation."""
        reason = placement.reason
        self.n_valid += 1
        self.n_placed += reason is None
        if placement.in_running_text:
            self.n_in_running_text += 1
            self.n_placed_in_running_text += reason is None
        if reason is not None:
            self.annotations_left_out[reason] += 1
            where = {"prompt_id": prompt.id, "pmcid": prompt.pmcid, "annotator": annotation.annotator}
            self.unplaced.append(UnplacedAnnotation(**where, start=annotation.start, reason=reason))


def convert_folder(
    path: Path,
    output: Path,
    *,
    read_from: PaperFormat | None = None,
    split: SplitName | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> ConversionReport:
    """Write the prompts of a folder of Evidence Inference as instances; raises `DataError` where none can be placed."""
    folder = find_folder(path)
    read_from = read_from or next(iter(folder.papers))
    if read_from not in folder.papers:
        raise UnreadableError(f"{path}: expected papers as {read_from}, got only {', '.join(folder.papers)}")
    report = ConversionReport(read_from=read_from)
    write_dataset(output, _instances(folder, prompts_of(folder, split), report, on_progress or (lambda *_: None)))
    return report


def _instances(
    folder: TrialFolder,
    prompts: Sequence[TrialPrompt],
    report: ConversionReport,
    on_progress: Callable[[int, int], None],
) -> Iterator[Instance]:
    by_prompt = annotations_of(folder)
    by_paper: dict[str, list[TrialPrompt]] = {}
    for prompt in prompts:
        by_paper.setdefault(prompt.pmcid, []).append(prompt)
    report.n_prompts = len(prompts)
    for n_done, (pmcid, asked) in enumerate(by_paper.items(), 1):
        paper = _paper(folder, pmcid, report)
        made = [_instance(prompt, by_prompt.get(prompt.id, []), paper, report) for prompt in asked]
        kept = [instance for instance in made if instance is not None]
        report.n_papers += bool(kept)
        report.n_instances += len(kept)
        yield from kept
        on_progress(n_done, len(by_paper))
    if not report.n_instances:
        reasons = ", ".join(f"{reason} ({n})" for reason, n in report.prompts_left_out.most_common())
        raise DataError(f"{folder.path}: expected prompts with an annotation that can be placed, got none: {reasons}")


def _paper(folder: TrialFolder, pmcid: str, report: ConversionReport) -> PlacingPaper:
    """Return a paper with its plain text, and note in the report what cannot be read."""

    def read_if_there(paper_format: PaperFormat, read_one: Callable[[Path], _Read]) -> _Read | None:
        path = folder.paper(pmcid, paper_format)
        try:
            return None if path is None else read_one(path)
        except UnreadableError as error:
            report.unreadable_papers[f"PMC{pmcid}.{paper_format}"] = str(error)
            return None

    plain = read_if_there("txt", lambda path: read_trial_text(read_text(path), str(path)))
    if report.read_from == "txt":
        return PlacingPaper(None if plain is None else plain.paper, plain)
    return PlacingPaper(read_if_there("nxml", read), plain)


def _instance(
    prompt: TrialPrompt, annotations: Sequence[Annotation], paper: PlacingPaper, report: ConversionReport
) -> Instance | None:
    """Return the instance of a prompt; None, and a note in the report, where no annotation has a sentence."""
    report.n_annotations += len(annotations)
    report.annotations_left_out["repeated row"] += len(annotations) - len(set(annotations))
    placed: list[tuple[Annotation, Placement]] = []
    for annotation in dict.fromkeys(annotations):
        reason = reason_against(annotation)
        if reason is not None:
            report.annotations_left_out[reason] += 1
        else:
            placement = paper.place(annotation)
            report.note_placement(prompt, annotation, placement)
            placed.append((annotation, placement))
    if paper.paper is None or not any(placement.sentences for _, placement in placed):
        why = "no annotation placed" if placed else "no valid annotation" if annotations else "no annotation"
        report.prompts_left_out[NO_PAPER if paper.paper is None else why] += 1
        return None
    return _labelled(prompt, placed, paper.paper)


def _labelled(prompt: TrialPrompt, annotations: Sequence[tuple[Annotation, Placement]], paper: Paper) -> Instance:
    """Return the instance of a prompt with its valid annotations: an aspect for each text in other sentences."""
    instance_id = f"evidence_inference_{prompt.id}"
    ids: dict[tuple[str, tuple[int, ...]], str] = {}
    notes: list[dict[str, Any]] = []
    for annotation, placement in annotations:
        key = (" ".join(annotation.text.split()), placement.sentences)
        aspect = ids.setdefault(key, f"{instance_id}_aspect_{len(ids)}") if placement.sentences else None
        notes.append({"annotator": annotation.annotator, "direction": annotation.direction, "aspect": aspect})
    query = Query(
        instance_id=instance_id,
        paper_id=f"pmc_{prompt.pmcid}",
        hypothesis=prompt.hypothesis,
        sentences=paper.sentences,
        kinds=paper.kinds,
        wish="answer",
    )
    labels = Labels(
        aspects=tuple(ids.values()),
        sources={aspect: sentences for (_, sentences), aspect in ids.items()},
        texts={aspect: text for (text, _), aspect in ids.items()},
    )
    instance = Instance(query=query, labels=labels)
    extras = {
        "intervention": prompt.intervention,
        "comparator": prompt.comparator,
        "outcome": prompt.outcome,
        "direction": _most_often(annotation.direction for annotation, _ in annotations),
        "annotations": notes,
    }
    # Keys that the published format does not have are kept when the instance is written.
    instance = with_optima(instance, derive_optima(instance))
    fields: dict[str, Any] = msgspec.json.decode(encode_instance(instance), type=dict[str, msgspec.Raw])
    return replace(instance, origin=Origin(raw=msgspec.json.encode(fields | extras)))


def _most_often(directions: Iterator[Direction | None]) -> Direction | None:
    """Return the direction that more annotations have than any other; None where two have as many."""
    most_common = Counter(directions).most_common(2)
    return most_common[0][0] if len(most_common) == 1 or most_common[0][1] > most_common[1][1] else None
