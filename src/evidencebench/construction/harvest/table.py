"""Summaries that a user has already, in a table, become ``summaries.jsonl``: CSV, TSV, or JSON Lines."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec

from evidencebench.construction.checks import NO_WORDS
from evidencebench.construction.draft import Draft, output_of
from evidencebench.construction.harvest.harvest import HarvestReport, HarvestRules, write_passages
from evidencebench.construction.harvest.papers import PaperAtHand, PapersAtHand
from evidencebench.construction.harvest.references import paper_id_of
from evidencebench.errors import DataError, UnreadableError
from evidencebench.files.disk import BROKEN_JSON, file_sha256, read_text
from evidencebench.papers.ids import public_id
from evidencebench.papers.language import has_words
from evidencebench.tables import shortened
from evidencebench.wording import counted

COLUMNS = ("summary", "paper", "review_id")  # and "id" and "context", if one likes

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".jsonl": "", ".ndjson": ""}

_Row = tuple[int, Mapping[str, str]]  # its line, and its cells by column


def harvest_table(path: Path, folder: Path, *, rules: HarvestRules) -> HarvestReport:
    """Write the summaries of a table into ``summaries.jsonl`` in a folder; nothing where a row is wrong."""
    suffix = path.suffix.lower()
    if suffix not in _DELIMITERS:
        raise UnreadableError(
            f"{path}: expected a table in .csv, .tsv or .jsonl, got '{suffix}'; save it as one of these"
        )
    text, delimiter = read_text(path), _DELIMITERS[suffix]
    try:
        drafts = list(_drafts(_lines_of_csv(text, delimiter) if delimiter else _lines_of_json(text), rules))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    settings = {"table": file_sha256(path)[:12]}
    return write_passages(output_of("summaries", folder), drafts, settings=settings, rules=rules)


def _lines_of_csv(text: str, delimiter: str) -> Iterator[_Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        columns = [name.strip().lower() for name in next(reader, [])]
        _require_columns("line 1", columns)
        begins = reader.line_num + 1
        for cells in reader:
            if any(map(str.strip, cells)):
                if len(cells) != len(columns):
                    got = f"got {len(cells)}; quote cells that hold {delimiter!r} or a line end"
                    raise DataError(f"line {begins}: expected {counted(len(columns), 'cell')}, {got}")
                yield begins, dict(zip(columns, cells, strict=True))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"line {reader.line_num}: expected a table, got: {error}; save it as UTF-8 CSV") from error


def _lines_of_json(text: str) -> Iterator[_Row]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=dict[str, str | None])
        except BROKEN_JSON as error:
            raise DataError(f"line {number}: expected an object of texts: {error}") from error
        _require_columns(f"line {number}", row)
        yield number, {key: value or "" for key, value in row.items()}


def _require_columns(where: str, columns: Sequence[str] | Mapping[str, object]) -> None:
    if missing := [name for name in COLUMNS if name not in columns]:
        raise DataError(
            f"{where}: expected the columns {', '.join(COLUMNS)}, and id and context if you like; got no "
            f"{' and no '.join(missing)}"
        )
    if len(set(columns)) < len(columns):
        raise DataError(f"{where}: expected each column once, got {', '.join(columns)}")


def _drafts(rows: Iterator[_Row], rules: HarvestRules) -> Iterator[Draft]:
    lines, numbers = dict[str, int](), Counter[str]()
    for line, row in rows:
        where = f"line {line}"
        for column in COLUMNS:
            if not row[column].strip():
                raise DataError(f"{where}: expected a text in '{column}', got an empty cell")
        review = row["review_id"].strip()
        numbers[review] += 1
        draft_id = row.get("id", "").strip() or f"{review}:{numbers[review]}"
        if (first := lines.setdefault(draft_id, line)) != line:
            raise DataError(f"{where}: expected another id, got '{shortened(draft_id, 60)}' of line {first} again")
        named = row["paper"].strip()
        paper, ids = _paper(named, rules)
        summary = " ".join(row["summary"].split())
        yield Draft(
            id=draft_id,
            review_id=review,
            paper_id=paper_id_of(ids) or (str(PurePosixPath(paper.file).with_suffix("")) if paper else named),
            paper_file=paper.file if paper else "",
            paper_ids=ids,
            summary=summary,
            context=row.get("context", "").strip(),
            dropped=rules.reason_against(paper) if has_words(summary) else NO_WORDS,
        )
    if not lines:
        raise DataError("expected rows with summaries, got none")


def _paper(named: str, rules: HarvestRules) -> tuple[PaperAtHand | None, Mapping[str, str]]:
    """Return the paper that a row names by its file or an id, None where it is not at hand, and its ids."""
    papers, ids = rules.papers or PapersAtHand((), {}), dict[str, str]()
    if (paper := papers.papers.get(named)) is None:
        with suppress(DataError):  # a file that is not there
            paper_id = public_id(named)
            ids = {paper_id.scheme.name.lower(): paper_id.value}
        paper = papers.find(ids)
    return paper, {**(paper.ids if paper else {}), **ids}
