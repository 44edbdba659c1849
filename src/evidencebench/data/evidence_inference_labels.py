"""Marked texts found in sentences; instances."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evidencebench.data.dataset import write_dataset
from evidencebench.data.evidence_inference import (
    INVALID_PROMPT,
    Annotation,
    PaperFormat,
    SplitName,
    TrialFolder,
    TrialPrompt,
    TrialText,
    annotations_of,
    find_folder,
    prompts_of,
    read_trial_text,
)
from evidencebench.data.instance import Instance, Labels, Origin
from evidencebench.data.json_format import encode_instance
from evidencebench.data.optima import derive_optima, with_optima
from evidencebench.errors import DataError, UnreadableError
from evidencebench.files.disk import read_text
from evidencebench.papers.paper import Paper
from evidencebench.papers.read import read_paper
from evidencebench.query import Query

# Find a marked text in a paper's sentences, however its white space and marks are written.

# Where a plain text lacks the break before a caption, a mark may end with the caption's label: "(Table 2).Table 2".
_LABELS_AT_END = re.compile(r"(?:[\s.,(\[]*+(?:Table|Fig(?:ure)?)s?+\.?\s*+\d+\w?[)\]\s.]*+)+$", re.IGNORECASE)
_LONGEST_LABELS = 60  # characters at the end in which they are looked for

# Of a text marked at offsets, this share of its letters and digits must stand in sentences.
_SHARE_IN_SENTENCES = 0.8
# A sentence of which less is marked than this many letters and digits, and less than half, is not meant: the mark went
# a little too far.
_FEWEST_LETTERS = 8


def letters_of(text: str) -> str:
    r"""Return the letters and digits of a text, case folded; characters such as a superscript 2 are plain ones.

    >>> letters_of("By 3\u202fmm\u00b2 (P < 0.05)")
    'by3mm2p005'
    """
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


class SearchedPaper:
    def __init__(self, sentences: Iterable[str]) -> None:
        letters = [letters_of(sentence) for sentence in sentences]
        self._letters = "".join(letters)
        self._starts = list(accumulate(map(len, letters), initial=0))

    def share_before(self, sentence: int) -> float:
        return self._starts[sentence] / max(1, len(self._letters))

    def places_of(self, text: str) -> list[tuple[int, ...]]:
        """Return the places where a text stands in the sentences: for each, the sentences that hold it."""
        wanted = letters_of(text)
        starts = occurrences(self._letters, wanted)
        if not starts:
            wanted = letters_of(text[:-_LONGEST_LABELS] + _LABELS_AT_END.sub("", text[-_LONGEST_LABELS:]))
            starts = occurrences(self._letters, wanted)
        places = []
        for start in starts:
            stop = start + len(wanted)
            first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop)
            bounds = {index: self._starts[index : index + 2] for index in range(first, last)}
            places.append(self.meant({i: min(stop, end) - max(start, begin) for i, (begin, end) in bounds.items()}))
        return places

    def meant(self, n_marked: Mapping[int, int]) -> tuple[int, ...]:
        """Return the sentences that are meant, given sentence -> how many of its letters and digits are marked."""
        sizes = {index: self._starts[index + 1] - self._starts[index] for index in n_marked}
        enough = [index for index, n in n_marked.items() if n >= min(_FEWEST_LETTERS, sizes[index] / 2) and n]
        return tuple(sorted(enough or [max(n_marked, key=lambda index: n_marked[index])]))


def occurrences(text: str, wanted: str) -> list[int]:
    """Return where a text begins in another, overlaps apart; nowhere if it is empty."""
    return [match.start() for match in re.finditer(re.escape(wanted), text)] if wanted else []


NOT_FOUND, AMBIGUOUS, NO_PAPER = "text not found", "text found in several places", "no paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What became of a valid annotation: its sentences or a reason; the plain text says what is running text."""

    sentences: tuple[int, ...] = ()
    reason: str | None = None
    in_running_text: bool | None = None


class PlacingPaper:
    """A paper in which marked texts are placed, and its plain text; None where it is missing or cannot be read."""

    def __init__(self, paper: Paper | None, plain: TrialText | None) -> None:
        self.paper = paper
        self._plain = plain
        self._searched = SearchedPaper(paper.sentences if paper is not None else ())

    def place(self, annotation: Annotation) -> Placement:
        span = None if self._plain is None else _span_in(self._plain.text, annotation)
        part = "running text" if self._plain is None or span is None else self._plain.part_of(*span)
        in_running_text = None if self._plain is None else part == "running text"
        placed = self._placed(annotation, span)
        if isinstance(placed, tuple):
            return Placement(sentences=placed, in_running_text=in_running_text)
        reason = placed if placed != NOT_FOUND or part == "running text" else f"in a {part}"
        return Placement(reason=reason, in_running_text=in_running_text)

    def _placed(self, annotation: Annotation, span: tuple[int, int] | None) -> tuple[int, ...] | str:
        """Return sentences, or a reason; in the plain text ``span`` says where, else which place of several."""
        if self.paper is None:
            return NO_PAPER
        if span is not None and self._plain is not None and self._plain.paper is self.paper:
            n_marked = self._plain.n_letters(*span)
            n_letters = sum(map(str.isalnum, annotation.text))
            is_inside = sum(n_marked.values()) >= _SHARE_IN_SENTENCES * n_letters
            return self._searched.meant(n_marked) if is_inside else NOT_FOUND
        places = self._searched.places_of(annotation.text)
        if len(set(places)) <= 1:
            return places[0] if places else NOT_FOUND
        if span is None or self._plain is None:
            return AMBIGUOUS
        share = span[0] / len(self._plain.text)
        return min(places, key=lambda place: abs(self._searched.share_before(place[0]) - share))


def reason_against(annotation: Annotation) -> str | None:
    """Return why an annotation does not count, before its text is looked for; None where it counts."""
    if not annotation.has_valid_label:
        return "invalid label"
    if not annotation.has_valid_reasoning:
        return "invalid reasoning"
    if annotation.label == INVALID_PROMPT:
        return INVALID_PROMPT
    if annotation.direction is None:
        return "unknown label"
    return None if annotation.text.strip() else "empty text"


def _span_in(text: str, annotation: Annotation) -> tuple[int, int] | None:
    """Return where the marked text stands in the plain text: at its offsets, or nearest to them; None if nowhere."""
    start, stop, wanted = annotation.start, annotation.stop, "".join(annotation.text.split())
    if start is not None and stop is not None and "".join(text[start:stop].split()) == wanted:
        return start, stop
    positions = [position for position, character in enumerate(text) if not character.isspace()]
    starts = occurrences("".join(text.split()), wanted)
    spans = [(positions[first], positions[first + len(wanted) - 1] + 1) for first in starts]
    if not spans or (start is None and len(spans) > 1):
        return None
    return min(spans, key=lambda span: abs(span[0] - (start or 0)))


# Write Evidence Inference in the published format: an instance a prompt, an aspect a distinct marked text.

_Read = TypeVar("_Read")


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
    unplaced: list[dict[str, Any]] = field(default_factory=list)  # prompt, paper, annotator, start in the text, reason

    def note_placement(self, prompt: TrialPrompt, annotation: Annotation, placement: Placement) -> None:
        reason = placement.reason
        self.n_valid += 1
        self.n_placed += reason is None
        if placement.in_running_text:
            self.n_in_running_text += 1
            self.n_placed_in_running_text += reason is None
        if reason is not None:
            self.annotations_left_out[reason] += 1
            where = {"prompt_id": prompt.id, "pmcid": prompt.pmcid, "annotator": annotation.annotator}
            self.unplaced.append({**where, "start": annotation.start, "reason": reason})


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
    for n_done, (pmcid, prompts_of_paper) in enumerate(by_paper.items(), 1):
        paper = _paper(folder, pmcid, report)
        converted = [_instance(prompt, by_prompt.get(prompt.id, []), paper, report) for prompt in prompts_of_paper]
        instances = [instance for instance in converted if instance is not None]
        report.n_papers += bool(instances)
        report.n_instances += len(instances)
        yield from instances
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
    return PlacingPaper(read_if_there("nxml", read_paper), plain)


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
        goal="answer",
    )
    labels = Labels(
        aspects=tuple(ids.values()),
        sources={aspect: sentences for (_, sentences), aspect in ids.items()},
        texts={aspect: text for (text, _), aspect in ids.items()},
    )
    instance = Instance(query=query, labels=labels)
    directions = Counter(annotation.direction for annotation, _ in annotations).most_common(2)
    is_undecided = len(directions) > 1 and directions[0][1] == directions[1][1]
    extras = {
        "intervention": prompt.intervention,
        "comparator": prompt.comparator,
        "outcome": prompt.outcome,
        "direction": None if is_undecided else directions[0][0],
        "annotations": notes,
    }
    # Keys that the published format does not have are kept when the instance is written.
    instance = with_optima(instance, derive_optima(instance))
    fields: dict[str, Any] = msgspec.json.decode(encode_instance(instance), type=dict[str, msgspec.Raw])
    return replace(instance, origin=Origin(raw=msgspec.json.encode(fields | extras)))
