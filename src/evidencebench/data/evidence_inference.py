"""Evidence Inference 2.0: its files and plain texts."""

import csv
import html
import io
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from evidencebench.errors import DataError, FormatError, UnreadableError
from evidencebench.files.disk import read_text
from evidencebench.papers.blocks import Block, paper_of
from evidencebench.papers.paper import Paper, SourceSpan, TextWriter
from evidencebench.query import Kind

Direction = Literal["significantly increased", "significantly decreased", "no significant difference"]
"""What a trial found of an outcome, under the intervention as compared with the comparator."""

INVALID_PROMPT = "invalid prompt"

# Directions in the data set's own spellings, some of which are mistakes.
_DIRECTIONS: dict[str, Direction] = {
    **{direction: direction for direction in get_args(Direction)},
    "significantly increase": "significantly increased",
    "significantly decrease": "significantly decreased",
}
_MOST_CELL_CHARACTERS = 10_000_000  # Python's own limit is 131,072
_DIGITS = re.compile(r"(?:PMC)?(\d{1,12})(?:\.0)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPrompt:
    """A question about a paper: whether the intervention, compared with the comparator, changes the outcome."""

    id: str
    pmcid: str  # digits only
    intervention: str
    comparator: str
    outcome: str

    @property
    def hypothesis(self) -> str:
        return f"{self.intervention}, compared with {self.comparator}, changes {self.outcome}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A doctor's answer to a prompt, with the text that shows it."""

    annotator: str
    prompt_id: str
    label: str
    has_valid_label: bool
    has_valid_reasoning: bool
    text: str
    start: int | None  # in the data set's plain text; None where the file says -1
    stop: int | None

    @property
    def direction(self) -> Direction | None:
        return _DIRECTIONS.get(self.label)


def read_prompts(path: Path) -> list[TrialPrompt]:
    return [
        TrialPrompt(
            id=_words(row["PromptID"]),
            pmcid=_pmcid(row["PMCID"], where),
            intervention=_words(row["Intervention"]),
            comparator=_words(row["Comparator"]),
            outcome=_words(row["Outcome"]),
        )
        for where, row in _rows(path, "PromptID", "PMCID", "Outcome", "Intervention", "Comparator")
    ]


def read_annotations(path: Path) -> list[Annotation]:
    columns = ("UserID", "PromptID", "Valid Label", "Valid Reasoning", "Label", "Annotations")
    return [
        Annotation(
            annotator=row["UserID"],
            prompt_id=_words(row["PromptID"]),
            label=_words(row["Label"]).lower(),
            has_valid_label=_is_true(row["Valid Label"]),
            has_valid_reasoning=_is_true(row["Valid Reasoning"]),
            text=row["Annotations"],
            start=_offset(row["Evidence Start"], where),
            stop=_offset(row["Evidence End"], where),
        )
        for where, row in _rows(path, *columns, "Evidence Start", "Evidence End")
    ]


def _rows(path: Path, *columns: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of each row, for messages, and its cells by column; cells may hold line breaks."""
    text = read_text(path)
    former_limit = csv.field_size_limit(_MOST_CELL_CHARACTERS)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""))
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise FormatError(f"{path}: expected the columns {', '.join(columns)}; got none named {missing[0]}")
        for row in reader:
            where = f"{path}: line {reader.line_num}"
            if any(row[column] is None for column in columns):
                raise FormatError(f"{where}: expected {len(columns)} cells or more, got a shorter row")
            yield where, row
    except csv.Error as error:
        raise FormatError(f"{path}: line {reader.line_num + 1}: expected CSV: {error}") from error
    finally:
        csv.field_size_limit(former_limit)


def _words(cell: str) -> str:
    """Return a cell's words with one space between them; some cells hold references of HTML, such as ``&nbsp;``."""
    return " ".join(html.unescape(cell).split())


def _is_true(cell: str) -> bool:
    return cell.strip().lower() in {"true", "1", "1.0"}


def _pmcid(cell: str, where: str) -> str:
    match = _DIGITS.fullmatch(cell.strip())
    if match is None:
        raise FormatError(f"{where}: PMCID: expected digits, as in 2206488, got '{cell[:40]}'")
    return match[1]


def _offset(cell: str, where: str) -> int | None:
    try:
        number = float(cell or -1)
        return int(number) if number >= 0 else None
    except (ValueError, OverflowError) as error:
        raise FormatError(f"{where}: expected an offset in characters or -1, got '{cell[:40]}'") from error


# Where the files of Evidence Inference lie: in its published folder, or in one with shorter names.

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
        folder = self.papers.get(paper_format)
        path = None if folder is None else folder / f"PMC{pmcid}.{paper_format}"
        return path if path is not None and path.is_file() else None


def is_trial_folder(path: Path) -> bool:
    return any(_those_there(folder, _PROMPTS) for folder in (path, path / "annotations"))


def find_folder(path: Path) -> TrialFolder:
    for folder in (path, path / "annotations"):
        prompts = _those_there(folder, _PROMPTS)
        annotations = _those_there(folder, _ANNOTATIONS)
        folders_by_format = {paper_format: _those_there(folder, names) for paper_format, names in _PAPERS.items()}
        papers = {paper_format: folders[0] for paper_format, folders in folders_by_format.items() if folders}
        if prompts and annotations and papers:
            return TrialFolder(path=path, prompts=prompts[0], annotations=tuple(annotations), papers=papers)
    papers_in = [name for names in _PAPERS.values() for name in names]
    missing = next(names for names in (_PROMPTS, _ANNOTATIONS, papers_in) if not _those_there(path, names))
    raise UnreadableError(
        f"{path}: expected a data file, or the folder of Evidence Inference 2.0 with prompts, annotations and papers; "
        f"got a folder without {' or '.join(missing)}"
    )


def prompts_of(folder: TrialFolder, split: SplitName | None) -> list[TrialPrompt]:
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


# The plain text of a paper, as Evidence Inference has it: its sentences, and where its running text lies.

TextPart = Literal["running text", "heading", "caption", "table"]

_HEADING = re.compile(r"[\d.]{0,12}+(?P<part>TITLE|ABSTRACT|BODY)(?:\.(?P<title>\S.*?))?:+(?P<rest>[^:\n]*)$")
# Repeats are possessive, so that "Table 12 shows" is not read as "Table 1" with a caption behind it.
_LABEL = r"(?:Supplementary |Online )?+(?:Figure|Fig|Table|Box|Scheme|Chart)s?+\.?+\s{0,3}+(?:S?+\d{1,3}+|[IVX]{1,5}+)"
# "Table 2Ages", "Table 2. Ages" and "Table 2" are captions; "Table 2 shows", "Figure 2B shows" are not.
_CAPTION = re.compile(rf"\s*+{_LABEL}(?:[A-Z](?![a-z])|\([a-z]\))?+[.:|\s]*+(?![a-z(,;])")
# A caption behind a paragraph, on its line: "(Table 2).Table 2Ages".
_GLUED = re.compile(rf"(?<=[.)\]\d]){_LABEL}(?=[A-Z]|\.?\s?[A-Z]|\s*$)")
_LONGEST_HEADING = 1000
_CLOSING = "\"'\u2019\u201d)\\]"
# "fell.", "fell.)", "fell.[3]" and "fell.3,4", with sources cited behind the stop.
_CITED = r"[^\d\s.]\.\d{1,3}(?:[,\u2013-]\d{1,3})*"
_ENDED = re.compile(rf"(?:[.!?:;][{_CLOSING}]*(?:\s*\[[\d,\s\u2013-]+\])?|{_CITED})\s*$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_CAPITALIZED = re.compile(r"\s*[^\W\d_a-z][^\W\d_A-Z]{2}")
_LEADER = re.compile(r"\.{4,}")  # dots between the cells of a row
_FEWEST_WORDS_ENDED, _FEWEST_WORDS = 5, 9  # of a line of running text: one that ends as sentences do, and any other


@dataclass(frozen=True, slots=True, kw_only=True)
class _TextPiece:
    """A line or a part of one: characters start..stop-1."""

    start: int
    stop: int
    part: TextPart
    continues: bool = False  # whether it goes on from the piece before it


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialText:
    """A paper's plain text with its sentences; the spans of ``paper`` count its characters."""

    text: str
    paper: Paper
    pieces: tuple[_TextPiece, ...]

    def part_of(self, start: int, stop: int) -> TextPart:
        """Return the part that holds most letters and digits of the characters start..stop-1."""
        n_letters: Counter[TextPart] = Counter()
        for index, n in _letters_within(self.text, self.pieces, start, stop).items():
            n_letters[self.pieces[index].part] += n
        return max(n_letters, key=lambda part: n_letters[part], default="running text")

    def n_letters(self, start: int, stop: int) -> dict[int, int]:
        """Return sentence -> how many letters and digits of the characters start..stop-1 it has."""
        within = _letters_within(self.text, self.paper.spans, start, stop)
        return {index: n for index, n in within.items() if n}


def _letters_within(text: str, spans: Sequence[SourceSpan | _TextPiece], start: int, stop: int) -> dict[int, int]:
    """Return the index of each span that the characters start..stop-1 touch, with their letters and digits in it."""
    n_letters = {}
    for index in range(max(0, bisect_right(spans, start, key=lambda span: span.start) - 1), len(spans)):
        if spans[index].start >= stop:
            break
        inside = text[max(start, spans[index].start) : min(stop, spans[index].stop)]
        n_letters[index] = sum(map(str.isalnum, inside))
    return n_letters


def read_trial_text(text: str, name: str) -> TrialText:
    r"""Return the sentences of a plain text of Evidence Inference, and which of its lines are running text.

    Raises `UnreadableError` where there is no sentence.

    >>> lines = ["BODY.RESULTS:", "Pressure fell by 3 mmHg with tea (Table 1).Table 1Ages", "", "Age", "54 (3.1)"]
    >>> trial = read_trial_text("\n".join(lines), "tea.txt")
    >>> trial.paper.sentences
    ('RESULTS', 'Pressure fell by 3 mmHg with tea (Table 1).')
    >>> [piece.part for piece in trial.pieces]
    ['heading', 'running text', 'caption', 'table', 'table']
    """
    pieces = tuple(_pieces(text))
    blocks = list(_blocks(text, pieces))
    has_title = text.startswith("TITLE") and blocks and blocks[0].kind is Kind.HEADING
    title = blocks[0].text.text if has_title else ""
    paper = paper_of(blocks, name=name, file_format="text of Evidence Inference", title=title)
    return TrialText(text=text, paper=paper, pieces=pieces)


def _pieces(text: str) -> Iterator[_TextPiece]:
    start, in_title = 0, False
    goes_on = False  # whether the line before is running text that has not ended
    lines = text.splitlines(keepends=True)
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        stop, begins = start + len(line), start
        start = stop
        if not line.strip():
            goes_on = False
            continue
        heading = _HEADING.match(line.rstrip()) if len(line) < _LONGEST_HEADING else None
        if heading is not None or in_title:
            in_title = heading is not None and heading["part"] == "TITLE"
            goes_on = False
            yield _TextPiece(start=begins, stop=stop, part="heading")
            continue
        glued = _GLUED.search(line)
        cut = begins + glued.start() if glued is not None else stop
        body = text[begins:cut]
        continues = goes_on and not _is_cell(body)
        part = _part_of_line(body, after, continues=continues)
        yield _TextPiece(start=begins, stop=cut, part=part, continues=continues)
        if cut < stop:
            yield _TextPiece(start=cut, stop=stop, part="caption")
        goes_on = part == "running text" and cut == stop and not _ENDED.search(body)


def _part_of_line(line: str, after: str, *, continues: bool) -> TextPart:
    if _CAPTION.match(line):
        return "caption"
    # The source's line ends are kept in some texts.
    is_sentence = _ENDED.search(line) is not None or after[:1].islower()
    n_words = 0 if _LEADER.search(line) else len(_WORD.findall(line))
    fewest = _FEWEST_WORDS_ENDED if is_sentence else _FEWEST_WORDS
    return "running text" if continues or n_words >= fewest else "table"


def _is_cell(line: str) -> bool:
    """Say whether a line is a table cell: a number of two characters or more, or a few words and a capital."""
    words = _WORD.findall(line)
    is_number = not words and any(map(str.isdigit, line)) and len(line.strip()) > 1
    is_name = _CAPITALIZED.match(line) is not None and len(words) < _FEWEST_WORDS_ENDED
    return (is_number or is_name) and _ENDED.search(line) is None


def _blocks(text: str, pieces: tuple[_TextPiece, ...]) -> Iterator[Block]:
    """Yield headings and paragraphs; captions and tables are left out."""
    labels = [_HEADING.match(text[piece.start : piece.stop].rstrip()) for piece in pieces]
    # Some texts say ABSTRACT of the whole paper; then the body begins with the introduction.
    has_body = any(label is not None and label["part"] == "BODY" for label in labels)
    kind, section = Kind.BODY, tuple[str, ...]()
    in_body = False
    writer: TextWriter | None = None
    for piece, label in zip(pieces, labels, strict=True):
        if writer is not None and not (piece.continues and piece.part == "running text"):
            yield Block(text=writer.finish(), kind=kind, section=section)
            writer = None
        if piece.part == "running text":
            writer = writer or TextWriter()
            writer.add(text[piece.start : piece.stop], start=piece.start)
        elif piece.part == "heading":
            begin, title = piece.start, text[piece.start : piece.stop]
            if label is not None:
                in_body = label["part"] == "BODY" or (not has_body and (in_body or label["title"] == "INTRODUCTION"))
                kind = Kind.BODY if in_body else Kind.ABSTRACT
                section = (label["title"],) if label["title"] else ()
                begin += label.start("title") if label["title"] else len(title)
                title = text[begin : piece.stop].rstrip().rstrip(":")
            if title.strip():
                heading = TextWriter()
                heading.add(title, start=begin)
                yield Block(text=heading.finish(), kind=Kind.HEADING)
    if writer is not None:
        yield Block(text=writer.finish(), kind=kind, section=section)
