"""The prompts and annotations of Evidence Inference, as its CSV files have them."""

import csv
import html
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from evidencebench.errors import FormatError
from evidencebench.storage.text_file import read_text

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
        """The question as a hypothesis, in one sentence."""
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
        """The label where it is a direction."""
        return _DIRECTIONS.get(self.label)


def read_prompts(path: Path) -> list[TrialPrompt]:
    """Return the prompts of a CSV file; raises `UnreadableError`, or `FormatError` with the line."""
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
    """Return the annotations of a CSV file; raises `UnreadableError`, or `FormatError` with the line."""
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
    before = csv.field_size_limit(_MOST_CELL_CHARACTERS)
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
        csv.field_size_limit(before)


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
