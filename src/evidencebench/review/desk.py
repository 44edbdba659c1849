"""The desk: papers, questions and the table between them, filled in the background; goes on after a stop."""

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from evidencebench.decoding import prepared
from evidencebench.engine.protocol import Engine
from evidencebench.errors import DataError, EvidenceBenchError, RunError, UnreadableError
from evidencebench.execution.making import system_from
from evidencebench.files.atomic import write_whole
from evidencebench.files.disk import BROKEN_JSON, file_sha256, read_bytes, read_text
from evidencebench.files.places import hold, lock_of
from evidencebench.files.records import Journal, RecordFormat
from evidencebench.papers.fetching import DESK_NAME
from evidencebench.papers.paper import PageBox, Paper, Place, SourceSpan, Unit
from evidencebench.papers.pdf.pictures import PageShape, page_shapes
from evidencebench.papers.pdf.reader import is_pdf
from evidencebench.papers.read import read_content
from evidencebench.query import Kind
from evidencebench.review.found import (
    EvidenceAnswer,
    SystemAnswer,
    cell_key,
    found_in,
    open_found,
    read_found,
)
from evidencebench.review.questions import AnswerKind, ReviewQuestion, as_lines, read_questions, with_kind
from evidencebench.runs.answers import FailureAnswer, encoded
from evidencebench.runs.people import utc_now
from evidencebench.system import NamedSystem

_DIGITS = 24  # of a digest that stands for a text

_log = logging.getLogger(__name__)


class DeskHeader(msgspec.Struct, frozen=True, kw_only=True):
    format: Literal["evidencebench desk"] = "evidencebench desk"
    version: int = 1
    of: Literal["papers"] = "papers"


class PaperOnDesk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was read of a file in one of its states: its text's digest, or why it cannot be read."""

    file: str  # within the folder
    state: tuple[int, int]  # bytes, and when it was changed, in nanoseconds
    sha256: str = ""  # of the file
    text: str = ""  # empty where it cannot be read
    title: str = ""
    n_sentences: int = 0
    n_units: int = 0  # numbered behind the sentences
    ids: dict[str, str] = {}
    year: int | None = None
    about: dict[str, tuple[str, ...]] = {}
    is_pdf: bool = False
    error: str = ""

    @property
    def kept(self) -> str:
        """The name under which the text is kept; files of the same text have places of their own."""
        return f"{self.text}-{self.sha256[:12]}"


_PAPERS: RecordFormat[DeskHeader, PaperOnDesk] = RecordFormat(
    header=DeskHeader,
    record=PaperOnDesk,
    begins=b'{"format":"evidencebench desk"',
    what="a journal of a desk",
    a_record="what was read",
    made_by="evidencebench review",
    remedy="move it away to have all papers read anew; what people decided lies in other files",
)


# The text of a paper as it was read, so that it opens at once.


class PaperText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a `Paper` that the desk needs, and of a PDF the shapes of its pages."""

    name: str
    format: str
    title: str
    sentences: tuple[str, ...]
    kinds: tuple[Kind, ...]
    places: tuple[Place, ...]
    spans: tuple[SourceSpan, ...]
    boxes: tuple[tuple[PageBox, ...], ...] = ()
    units: tuple[Unit, ...] = ()
    ids: dict[str, str] = {}
    year: int | None = None
    about: dict[str, tuple[str, ...]] = {}
    warnings: tuple[str, ...] = ()
    pages: tuple[PageShape, ...] = ()

    @property
    def paper(self) -> Paper:
        fields = msgspec.structs.asdict(self)
        del fields["pages"]
        return Paper(**fields)


def _text_of(paper: Paper, pages: Sequence[PageShape]) -> PaperText:
    own = {name: getattr(paper, name) for name in PaperText.__struct_fields__ if name != "pages"}
    return PaperText(**{**own, "ids": dict(paper.ids), "about": dict(paper.about)}, pages=tuple(pages))


def digest_of_text(sentences: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sentences).encode(errors="replace")).hexdigest()[:_DIGITS]


def _path_of_text(folder: Path, kept: str) -> Path:
    return folder / "texts" / f"{kept}.json"


@lru_cache(maxsize=64)
def read_text_of(folder: Path, kept: str) -> PaperText:
    """Return the text of a paper that was read; raises `UnreadableError`."""
    path = _path_of_text(folder, kept)
    try:
        return msgspec.json.decode(read_bytes(path), type=prepared(PaperText))
    except BROKEN_JSON as error:
        raise UnreadableError(f"{path}: expected the text of a paper: {error}; remove it") from error


# What is done for a paper, in a process of its own: read it where it is new, ask the questions that are open.


class PaperWork(msgspec.Struct, frozen=True, kw_only=True):
    position: int
    path: Path
    file: str
    title: str = ""
    ids: dict[str, str] = {}
    problem: str = ""  # why it cannot be read, where that is known
    known: PaperOnDesk | None = None
    answered: frozenset[str] = frozenset()  # cells
    questions: tuple[str, ...] = ()


def state_of(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _is_as_read(path: Path, read: PaperOnDesk) -> bool:
    """Say whether a file is what was read; one that was only copied or touched is."""
    state = state_of(path)
    return state == read.state or (state[0] == read.state[0] and file_sha256(path) == read.sha256)


def read_work(folder: Path, work: PaperWork) -> PaperOnDesk:
    """Read a paper, and keep its text."""
    state, content = state_of(work.path), b""
    try:
        if work.problem:
            raise UnreadableError(work.problem)
        content = read_bytes(work.path)
        paper = read_content(content, name=work.file)
        pages = page_shapes(content, work.file) if is_pdf(content) else ()
    except (DataError, OSError) as error:
        words = str(error).replace(str(work.path), work.file).removeprefix(f"{work.file}: ")
        digest = hashlib.sha256(content).hexdigest() if content else ""
        return PaperOnDesk(
            file=work.file, state=state, sha256=digest, title=work.title, error=words or "cannot be read"
        )
    listed = dict(work.ids)
    year = int(listed.pop("year", 0)) or None
    paper_ids, title = {**listed, **paper.ids}, work.title or paper.title
    text = digest_of_text(paper.sentences)
    saved = msgspec.structs.replace(_text_of(paper, pages), title=title, ids=paper_ids, year=paper.year or year)
    read = PaperOnDesk(
        file=work.file,
        state=state,
        sha256=hashlib.sha256(content).hexdigest(),
        text=text,
        title=title,
        n_sentences=len(paper.sentences),
        n_units=len(paper.units),
        ids=paper_ids,
        year=saved.year,
        about=dict(paper.about),
        is_pdf=bool(pages),
    )
    write_whole(_path_of_text(folder, read.kept), msgspec.json.encode(saved))
    return read


def worker(
    folder: Path, system: str | NamedSystem, seed: int
) -> Callable[[PaperWork], tuple[PaperWork, PaperOnDesk, list[SystemAnswer]]]:
    """Return what reads a paper and asks its open questions."""
    if isinstance(system, str):  # in a process of its own, which leaves the processor to others
        with suppress(OSError):
            os.nice(10)
    asked = system_from(system, seed=seed)

    def work(item: PaperWork) -> tuple[PaperWork, PaperOnDesk, list[SystemAnswer]]:
        read = item.known or read_work(folder, item)
        if not read.text:
            return item, read, []
        paper, at = read_text_of(folder, read.kept).paper, utc_now().isoformat(timespec="milliseconds")
        open_questions = [one for one in item.questions if cell_key(read.text, one) not in item.answered]
        return item, read, [found_in(paper, read.text, question, asked, at=at) for question in open_questions]

    return work


@dataclass(kw_only=True)
class DeskPaper:
    """A row: a file, what a list of papers says of it, and what was read of it in its present state."""

    path: Path
    file: str
    title: str = ""
    ids: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # authors and more, of a list
    problem: str = ""
    read: PaperOnDesk | None = None


def content_as_read(paper: DeskPaper) -> bytes:
    """Return the bytes of a paper's file; raises `UnreadableError` where they are not those that were read."""
    content = read_bytes(paper.path)
    if paper.read is None or hashlib.sha256(content).hexdigest() != paper.read.sha256:
        raise UnreadableError(f"{paper.file}: has changed since it was read; start the desk again")
    return content


# What was exported into the folder of papers, where it is none.


def exported_names(own: Path) -> frozenset[str]:
    """Return what was exported into the folder above a desk's own, as paths within it."""
    path = own / "exports.txt"
    return frozenset(read_text(path).splitlines()) if path.exists() else frozenset()


def note_export(own: Path, file: Path) -> None:
    """Note a file that is to be written, where it lies among the papers; raises `DataError` where it is one of them."""
    folder, target = own.parent.resolve(), file.resolve()
    if not target.is_relative_to(folder) or target.is_relative_to(own.resolve()):
        return
    known, name = exported_names(own), target.relative_to(folder).as_posix()
    if name in known:
        return
    if target.exists():
        raise DataError(f"{file}: is among the papers, and no export: it would be lost; choose another name")
    write_whole(own / "exports.txt", "".join(f"{line}\n" for line in sorted({*known, name})))


class FoundCell(NamedTuple):
    """What the desk's system found in a cell, and what another one had found before; why the first failed."""

    found: EvidenceAnswer | None
    before: EvidenceAnswer | None
    error: str = ""


class Desk:
    """Papers x questions, what was found, and a count of changes; threads may share it, a second process may not."""

    def __init__(
        self, folder: Path, papers: Sequence[DeskPaper], questions: Sequence[ReviewQuestion], system: str
    ) -> None:
        self.folder = folder
        self.papers: list[DeskPaper] = list(papers)
        self.questions: list[ReviewQuestion] = list(questions)
        self.system = system
        self.stamp: int = 1  # counts the changes
        self.changed: list[list[int]] = [[1] * len(self.questions) for _ in self.papers]
        self.is_running: bool = False
        self._lock = threading.RLock()
        self._found: dict[str, SystemAnswer] = {}  # by this system; of files no failure, so that it is asked again
        self._before: dict[str, EvidenceAnswer] = {}  # by another one, the last
        self._rows: dict[str, list[int]] = {}  # text -> the papers that have it
        self._is_ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._open = ExitStack()
        self._papers_journal: Journal | None = None
        self._load()

    def _load(self) -> None:
        known: dict[str, PaperOnDesk] = {}
        if (path := self.folder / "papers.jsonl").exists():
            known = {line.record.file: line.record for line in _PAPERS.scan(path)[1]}
        for position, paper in enumerate(self.papers):
            read = known.get(paper.file)
            has_text = read is not None and _path_of_text(self.folder, read.kept).exists()
            if read is not None and (has_text or read.error) and not paper.problem and _is_as_read(paper.path, read):
                self._set_read(position, read)
        for system, found in read_found(self.folder):
            if system == self.system:
                self._found[found.id] = found
            elif found.id not in self._before or self._before[found.id].at <= found.at:
                self._before[found.id] = found

    def _set_read(self, position: int, read: PaperOnDesk) -> None:
        self.papers[position].read = read
        if read.text and position not in self._rows.setdefault(read.text, []):
            self._rows[read.text].append(position)

    def found(self, position: int, question: int) -> FoundCell:
        """Return what systems found in a cell."""
        read = self.papers[position].read
        key = cell_key(read.text, self.questions[question].text) if read and read.text else ""
        answer = self._found.get(key)
        if isinstance(answer, FailureAnswer):
            return FoundCell(None, self._before.get(key), answer.error)
        return FoundCell(answer, self._before.get(key))

    def touch(self, text: str, question: str) -> None:
        """Count a change of the cells of a text and question."""
        with self._lock:
            self.stamp += 1
            texts = [one.text for one in self.questions]
            if question in texts:
                column = texts.index(question)
                for position in self._rows.get(text, ()):
                    self.changed[position][column] = self.stamp

    def set_kind(self, question: int, kind: AnswerKind) -> None:
        """Say what an answer to a question is, here and in the file of questions; raises `UnreadableError`."""
        with self._lock:
            self.questions[question] = with_kind(self.questions[question], kind)
            write_whole(self.folder / "questions.txt", as_lines(self.questions))
            self.stamp += 1
            for row in self.changed:
                row[question] = self.stamp

    def has_text(self, text: str) -> bool:
        """Whether any paper of the folder has a text."""
        return text in self._rows

    def text(self, position: int) -> PaperText:
        """Return a paper's text, read now if it was not; raises `UnreadableError`."""
        read = self.papers[position].read
        if read is None:
            read = read_work(self.folder, self._work(position))
            self._keep_read(position, read)
        if not read.text:
            raise UnreadableError(f"{read.file}: {read.error}")
        return read_text_of(self.folder, read.kept)

    def _keep_read(self, position: int, read: PaperOnDesk) -> None:
        with self._lock:
            if self._papers_journal is not None and self.papers[position].read != read:
                self._papers_journal.append(msgspec.json.encode(read))
            self._set_read(position, read)

    # Filling.

    def fill(self, engine: Engine, system: str | NamedSystem, *, seed: int = 0) -> None:
        """Begin to fill the table in the background; the journals are open until `close`."""
        (self.folder / "texts").mkdir(parents=True, exist_ok=True)
        papers = _PAPERS.append(self.folder / "papers.jsonl", DeskHeader())
        self._papers_journal = self._open.enter_context(papers)
        findings = self._open.enter_context(open_found(self.folder, self.system))
        arguments = (self.folder, system, seed)
        self.is_running = True
        self._thread = threading.Thread(target=self._run, args=(engine, arguments, findings), name="desk", daemon=True)
        self._thread.start()

    def _run(self, engine: Engine, arguments: Sequence[Any], findings: Journal) -> None:
        try:
            for outcome in engine.outcomes(worker, arguments, self._open_work()):
                item = outcome.item
                if outcome.error is not None:
                    self._take(item, *self._failed(item, str(outcome.error)))
                    continue
                _, read, answers = outcome.value
                self._keep_read(item.position, read)
                for answer in answers:
                    findings.append(encoded(answer))
                self._take(item, read, answers)
        except EvidenceBenchError as error:
            _log.warning("the table is not filled any more: %s", error)
        finally:
            with self._lock:
                self.is_running = False
                self.stamp += 1

    def _failed(self, item: PaperWork, error: str) -> tuple[PaperOnDesk, list[SystemAnswer]]:
        """Return what is shown of a paper whose worker died."""
        read = item.known or PaperOnDesk(file=item.file, state=(0, 0), title=item.title, error=error)
        keys = [cell_key(read.text, question) for question in item.questions if read.text]
        return read, [FailureAnswer(id=key, error=error) for key in keys if key not in item.answered]

    def _take(self, item: PaperWork, read: PaperOnDesk, answers: Sequence[SystemAnswer]) -> None:
        with self._lock:
            self.stamp += 1
            if self.papers[item.position].read is None:  # its worker died
                self._set_read(item.position, read)
            self._found.update({answer.id: answer for answer in answers})
            for position in {item.position, *self._rows.get(read.text, ())}:
                self.changed[position] = [self.stamp] * len(self.questions)

    def _open_work(self) -> Iterator[PaperWork]:
        for position in range(len(self.papers)):
            if self._is_ending.is_set():
                return
            work = self._work(position)
            if work.known is None or (work.known.text and len(work.answered) < len(self.questions)):
                yield work

    def _work(self, position: int) -> PaperWork:
        paper = self.papers[position]
        read = paper.read
        with self._lock:
            keys = (cell_key(read.text, question.text) for question in self.questions if read and read.text)
            answered = frozenset(key for key in keys if key in self._found)
        return PaperWork(
            position=position,
            path=paper.path,
            file=paper.file,
            title=paper.title,
            ids=dict(paper.ids),
            problem=paper.problem,
            known=read,
            answered=answered,
            questions=tuple(question.text for question in self.questions),
        )

    def wait(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(seconds)

    def close(self) -> None:
        self._is_ending.set()
        self.wait(60)
        self._open.close()


def open_desk(folder: Path, papers: Sequence[DeskPaper], questions: Path | None, system: str) -> Desk:
    """Return the desk of a folder, made if missing; raises `DataError` where it has no questions."""
    own = folder / DESK_NAME
    kept = own / "questions.txt"
    if questions is not None:
        _keep_questions(own, kept, read_questions(questions))
    if not kept.exists():
        raise DataError(f"{folder}: has no questions yet; give a file of them, one a line, with --questions")
    return Desk(own, papers, read_questions(kept), system)


def _keep_questions(own: Path, kept: Path, questions: Sequence[ReviewQuestion]) -> None:
    """Write the questions, unless a desk that is open has others."""
    if kept.exists() and read_questions(kept) == questions:
        return
    try:
        own.mkdir(exist_ok=True)
        with hold(lock_of(own / "papers.jsonl")) as is_held:  # as an open desk does
            if not is_held:
                raise RunError(f"{kept}: another process works at this desk; end it, then give other questions")
            write_whole(kept, as_lines(questions))
    except OSError as error:
        raise RunError(f"{own}: no folder can be made here: {error.strerror}") from error
