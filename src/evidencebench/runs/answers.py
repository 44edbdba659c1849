"""One form of file for answers, whoever gives them: a header, then an answer a line."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from evidencebench.errors import RunFormatError
from evidencebench.files.records import RecordFormat, has_checksum, with_checksum
from evidencebench.runs.header import RunHeader, differing_runs

Role = Literal["system", "person", "agreed"]
"""Who answers: a system, a person, or people together, whose answers can be labels."""

Merge = Literal["first success", "last revision"]
"""Which of several lines of one item counts."""


class AnswersHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line: who answers, and what. ``items`` is the checksum of the file of tasks, where there is one."""

    evidencebench_answers: int
    role: Role
    merge: Merge
    name: str = ""  # of the person; of a system without a run, what stands for it
    items: str = ""
    run: RunHeader | None = None  # of instances: everything that decides the answers


VERSION = 1


PERSON = "person"  # the name of a person among the systems


def header_of(run: RunHeader) -> AnswersHeader:
    """Return the first line of the file of a run, of a system or a person."""
    if run.system.name == PERSON:
        name = str(run.system.options["name"])
        return AnswersHeader(evidencebench_answers=VERSION, role="person", merge="last revision", name=name, run=run)
    return AnswersHeader(evidencebench_answers=VERSION, role="system", merge="first success", run=run)


def differing_files(old: AnswersHeader, new: AnswersHeader) -> str:
    """Return how what is answered differs; empty where a file can be resumed."""
    if old.run is None or new.run is None:
        return "" if old == new else "it holds answers to other items"
    return differing_runs(old.run, new.run)


def header_of_people(items: str = "") -> AnswersHeader:
    """Return what the files of people begin with who answer the same items; the name of each is added."""
    return AnswersHeader(evidencebench_answers=VERSION, role="person", merge="last revision", items=items)


_Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="answer"):
    """What every answer has. The classes below add what is answered, one for each form that an answer can have."""

    id: str  # of the item: an instance, a task of annotators, a miss, a cell of a review
    note: str = ""
    is_done: bool = False  # else a draft, which no report counts
    revision: _Count = 1  # counts the changes
    seconds: _Count = 0  # of work, as the page says
    reached: _Count = 0  # the sentence that the person has got to
    opened: str = ""  # when the person first saw the item, ISO 8601, UTC
    at: str = ""  # when it was given, ISO 8601, UTC
    tab: Annotated[str, msgspec.Meta(max_length=64)] = ""  # of the browser
    request: _Count = 0  # counts what the tab has sent
    by: str = ""  # who wrote down what was agreed; the tool that a person's answer was imported from
    crc: str | None = None


class RankingAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True, tag="ranking"):
    """Sentences, the best first unless ``ordered`` is off, to one task or to all."""

    task: str | None = None
    epoch: Annotated[int, msgspec.Meta(ge=1)] = 1
    sentences: tuple[int, ...] = ()
    scores: tuple[float, ...] | None = None
    ordered: bool = True
    notes: dict[str, int] = {}


class FailureAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True, tag="failure"):
    task: str | None = None
    epoch: Annotated[int, msgspec.Meta(ge=1)] = 1
    error: str
    notes: dict[str, int] = {}


class MarksAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True, tag="marks"):
    """The sentences that hold an aspect, ascending."""

    sentences: tuple[int, ...] = ()


class RatingsAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True, tag="ratings"):
    """Criterion -> yes or no, of those that are rated so far."""

    ratings: dict[str, bool] = {}


class EvidenceReference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of evidence: a sentence, or a row, caption or note, which are numbered behind the sentences."""

    index: int | None  # None: its words are not in the paper as it is read now
    quotation: str
    unit: str = ""  # the name of a row, caption or note
    reader: str = ""  # the version that read the paper


class ArmValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value that was read in a paper: a number, words, or one of several choices."""

    value: str
    unit: str = ""
    beside: str = ""  # a number: its spread, such as ``(95% CI 1 to 5)``
    arm: str = ""  # empty: of all


class DecisionAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True, tag="decision"):
    """One of several choices, or values, and the evidence that was accepted or rejected, in the paper's order."""

    choice: str = ""  # empty: none, or taken back
    values: tuple[ArmValue, ...] = ()  # in place of one of the choices
    written: str = ""  # the values as the person typed them
    evidence: tuple[EvidenceReference, ...] = ()
    no_evidence: tuple[EvidenceReference, ...] = ()
    paper: str = ""  # its file, for readers
    paper_ids: dict[str, str] = {}  # DOI and PMID, by which the paper is known again
    text: str = ""  # the digest of the paper's text
    question: str = ""

    @property
    def accepted(self) -> tuple[int, ...]:
        return indices(self.evidence)

    @property
    def rejected(self) -> tuple[int, ...]:
        return indices(self.no_evidence)


def indices(references: Iterable[EvidenceReference]) -> tuple[int, ...]:
    """Return where evidence stands in the paper, without what is not in it any more."""
    return tuple(reference.index for reference in references if reference.index is not None)


SEEN = "seen"


class SeenAnswer(Answer, frozen=True, kw_only=True, omit_defaults=True, tag=SEEN):
    """No answer: whose answers to the item a person was shown. What the person says after that is not blind."""

    people: tuple[str, ...]


AnyAnswer: TypeAlias = RankingAnswer | FailureAnswer | MarksAnswer | RatingsAnswer | DecisionAnswer | SeenAnswer
AnswerT = TypeVar("AnswerT", bound=Answer)


_decoder: msgspec.json.Decoder[AnyAnswer] = msgspec.json.Decoder(AnyAnswer)


def decode_answer(line: bytes | memoryview) -> AnyAnswer:
    return _decoder.decode(line)


def form_of(kind: type[Answer]) -> str:
    """Return what names a form of answers in files."""
    return str(kind.__struct_config__.tag)


class HasChecksum(Protocol):
    """A line of an answer, in this form or an earlier one."""

    @property
    def id(self) -> str: ...

    @property
    def crc(self) -> str | None: ...


def encoded(answer: Any) -> bytes:
    """Return a line, without its line end."""
    return with_checksum(msgspec.json.encode(msgspec.structs.replace(answer, crc=None)))


def check_line(answer: HasChecksum, line: memoryview | bytes) -> None:
    if answer.crc is None or has_checksum(line, answer.crc):
        return
    if not has_checksum(encoded(answer), answer.crc):  # else another program has spelled the line otherwise
        raise RunFormatError(
            f"the answer to '{answer.id}' is not the one that was written: its crc {answer.crc} does not fit; "
            "restore the line, or take the crc out of it to have it read as it stands"
        )


def _check_header(header: AnswersHeader, _line: memoryview) -> None:
    tasks = header.run.tasks if header.run is not None else ("none",)
    if not tasks or len(set(tasks)) < len(tasks):
        got = ", ".join(tasks) or "none"
        raise RunFormatError(f"expected the names of one task or more, each once, got {got}")
    if header.role == "system" and header.run is None:
        raise RunFormatError("expected of a system what it ran on, got no 'run'")


ANSWERS: RecordFormat[AnswersHeader, AnyAnswer] = RecordFormat(
    header=AnswersHeader,
    record=AnyAnswer,  # type: ignore[arg-type]
    begins=b'{"evidencebench_answers":',
    what="a file of answers",
    a_record="an answer",
    made_by="evidencebench run",
    version_field="evidencebench_answers",
    check_header=_check_header,
    check=check_line,
)
