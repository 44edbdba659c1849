"""Marked texts found in sentences; instances."""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evidencebench.data.dataset import write_dataset
from evidencebench.data.evidence_inference import (
    INVALID_PROMPT,
    Annotation,
    Direction,
    PaperFormat,
    SplitName,
    TextPart,
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
from evidencebench.papers.read import read
from evidencebench.query import Query

# Find a marked text in a paper's sentences, however its white space, marks and citations are written.


_NO_LETTER = re.compile(r"[\W_]+")
_WORD = re.compile(r"[^\W_]+")

# A text is taken for found where this share of its letters and digits stands in a stretch of the paper, in order, and
# this many words of it stand there in one piece.
SHARE_FOUND = 0.8
_FEWEST_IN_ONE_PIECE = 4
# The stretch may be longer than the text by a quarter and this many words.
_MORE_WORDS = 12
# Longer texts, and those of which too many pairs of words are alike, are found only where they stand letter by letter:
# the time of an alignment grows with these.
_MOST_WORDS = 400
_MOST_PAIRS = 20_000_000

# A sentence of which less is marked than this many letters and digits, and less than half, is not meant: the mark went
# a little too far.
_FEWEST_LETTERS = 8


def letters_of(text: str) -> str:
    r"""Return the letters and digits of a text, case folded; characters such as a superscript 2 are plain ones.

    >>> letters_of("By 3\u202fmm\u00b2 (P < 0.05)")
    'by3mm2p005'
    """
    return _NO_LETTER.sub("", unicodedata.normalize("NFKC", text).casefold())


@dataclass(frozen=True)
class SearchedPaper:
    """Sentences, joined in two ways to be searched: all but white space, and letters and digits alone."""

    sentences: Sequence[str]

    @cached_property
    def _exact(self) -> "_Joined":
        return _joined("".join(sentence.split()) for sentence in self.sentences)

    @cached_property
    def _letters(self) -> "_Joined":
        return _joined(map(letters_of, self.sentences))

    @cached_property
    def _words(self) -> tuple[list[str], list[int]]:
        """The words, and the sentence of each."""
        words, owners = list[str](), list[int]()
        for index, sentence in enumerate(self.sentences):
            sentence_words = _words_of(sentence)
            words += sentence_words
            owners += [index] * len(sentence_words)
        return words, owners

    @cached_property
    def _n_of_word(self) -> Counter[str]:
        return Counter(self._words[0])

    def share_before(self, sentence: int) -> float:
        """Return which share of the paper's letters stands before a sentence, in 0..1."""
        return self._letters.starts[sentence] / max(1, len(self._letters.text))

    def places_of(self, text: str) -> list[tuple[int, ...]]:
        """Return the places where a text stands in the sentences: for each, the sentences that hold it.

        It is looked for letter by letter; where it stands nowhere, by its letters and digits alone; and then by its
        words, some of which may be missing or others between them, as citations are.
        """
        for joined, wanted in ((self._exact, "".join(text.split())), (self._letters, letters_of(text))):
            starts = occurrences(joined.text, wanted)
            if starts:
                return [self.meant(joined.overlaps(start, start + len(wanted))) for start in starts]
        aligned = self._aligned(_words_of(text))
        return [aligned] if aligned else []

    def meant(self, n_marked: dict[int, int]) -> tuple[int, ...]:
        """Return the sentences that are meant, given sentence -> how many of its letters and digits are marked."""
        sizes = {index: len(letters_of(self.sentences[index])) for index in n_marked}
        enough = [index for index, n in n_marked.items() if n >= min(_FEWEST_LETTERS, sizes[index] / 2) and n]
        return tuple(sorted(enough or [max(n_marked, key=lambda index: n_marked[index])]))

    def _aligned(self, wanted: list[str]) -> tuple[int, ...]:
        """Return the sentences of the stretch that has most of the words in order; empty where none has enough."""
        words, owners = self._words
        n_pairs = sum(self._n_of_word[word] for word in wanted)
        if not 0 < len(wanted) <= _MOST_WORDS or n_pairs > _MOST_PAIRS:
            return ()
        matcher = SequenceMatcher(None, words, wanted, autojunk=False)
        longest = matcher.find_longest_match()
        if longest.size < min(_FEWEST_IN_ONE_PIECE, len(wanted)):
            return ()
        slack = len(wanted) // 4 + _MORE_WORDS
        begin = max(0, longest.a - longest.b - slack)
        stretch = words[begin : longest.a - longest.b + len(wanted) + slack]
        matcher.set_seq1(stretch)
        n_marked: Counter[int] = Counter()
        for block in matcher.get_matching_blocks():
            for place in range(block.a, block.a + block.size):
                n_marked[owners[begin + place]] += len(stretch[place])
        if n_marked.total() < SHARE_FOUND * sum(map(len, wanted)):
            return ()
        return self.meant(n_marked)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joined:
    text: str
    starts: tuple[int, ...]  # where each sentence begins, and where the last one ends

    def overlaps(self, start: int, stop: int) -> dict[int, int]:
        """Return sentence -> how many of the characters start..stop-1, which are at least one, are its own letters."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, stop - 1) - 1
        return {
            index: len(letters_of(self.text[max(start, self.starts[index]) : min(stop, self.starts[index + 1])]))
            for index in range(first, last + 1)
        }


def _joined(texts: Iterable[str]) -> _Joined:
    parts = list(texts)
    return _Joined(text="".join(parts), starts=tuple(accumulate(map(len, parts), initial=0)))


def _words_of(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def occurrences(text: str, wanted: str) -> list[int]:
    """Return where a text begins in another, overlaps apart; nowhere if it is empty."""
    starts: list[int] = []
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        starts.append(start)
        start = text.find(wanted, start + len(wanted))
    return starts


# The sentences of each annotation's marked text, or why it has none.


NOT_FOUND, AMBIGUOUS, NO_PAPER = "text not found", "text found in several places", "no paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What became of a valid annotation: its sentences or a reason; the plain text says what is running text."""

    sentences: tuple[int, ...] = ()
    reason: str | None = None
    in_running_text: bool | None = None


@dataclass(frozen=True)
class PlacingPaper:
    """A paper in which marked texts are placed, and its plain text; None where it is missing or cannot be read."""

    paper: Paper | None
    plain: TrialText | None

    @cached_property
    def _searched(self) -> SearchedPaper:
        return SearchedPaper(self.paper.sentences if self.paper is not None else ())

    @cached_property
    def _plain_searched(self) -> SearchedPaper:
        return SearchedPaper(self.plain.paper.sentences if self.plain is not None else ())

    def place(self, annotation: Annotation) -> Placement:
        """Return the sentences that a valid annotation's marked text stands in, or why there are none."""
        span = None if self.plain is None else _span_in(self.plain.text, annotation)
        part: TextPart | None = None if self.plain is None or span is None else self.plain.part_of(*span)
        in_running_text = None if self.plain is None else part in {None, "running text"}
        placed = self._placed(annotation, span)
        if isinstance(placed, tuple):
            return Placement(sentences=placed, in_running_text=in_running_text)
        reason = f"in a {part}" if placed == NOT_FOUND and part not in {None, "running text"} else placed
        return Placement(reason=reason, in_running_text=in_running_text)

    def _placed(self, annotation: Annotation, span: tuple[int, int] | None) -> tuple[int, ...] | str:
        if self.paper is None:
            return NO_PAPER
        if self.plain is not None and self.plain.paper is self.paper and span is not None:
            n_marked = self._marked_in_plain(*span)
            n_letters = sum(map(str.isalnum, annotation.text))
            return self._searched.meant(n_marked) if sum(n_marked.values()) >= SHARE_FOUND * n_letters else NOT_FOUND
        places = self._searched.places_of(annotation.text)
        if not places:
            return NOT_FOUND
        if len(set(places)) == 1:
            return places[0]
        if span is None:
            return AMBIGUOUS
        share = self._share_in_plain(span[0])
        return min(places, key=lambda place: abs(self._searched.share_before(place[0]) - share))

    def _marked_in_plain(self, start: int, stop: int) -> dict[int, int]:
        """Return sentence of the plain text -> letters and digits of it in the characters start..stop-1."""
        assert self.plain is not None
        spans = self.plain.paper.spans
        first = max(0, bisect_right(spans, start, key=lambda span: span.start) - 1)
        n_marked: dict[int, int] = {}
        for index in range(first, len(spans)):
            if spans[index].start >= stop:
                break
            inside = self.plain.text[max(start, spans[index].start) : min(stop, spans[index].stop)]
            n_letters = sum(map(str.isalnum, inside))
            if n_letters:
                n_marked[index] = n_letters
        return n_marked

    def _share_in_plain(self, start: int) -> float:
        """Return which share of the plain text's running text stands before a character of it, in 0..1."""
        assert self.plain is not None
        spans = self.plain.paper.spans
        return self._plain_searched.share_before(max(0, bisect_right(spans, start, key=lambda span: span.start) - 1))


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
    places = [place for place, character in enumerate(text) if not character.isspace()]
    starts = occurrences("".join(text.split()), wanted)
    spans = [(places[first], places[first + len(wanted) - 1] + 1) for first in starts]
    if not spans or (start is None and len(spans) > 1):
        return None
    return min(spans, key=lambda span: abs(span[0] - (start or 0)))


# Write Evidence Inference in the published format: an instance a prompt, an aspect a distinct marked text.


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
