"""The questions of a review: their words, and what an answer to each is, in a file of plain lines or a table."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from evidencebench.errors import UnreadableError
from evidencebench.files.disk import read_text
from evidencebench.systems.question import QuestionKind, question_of

AnswerKind = Literal["effect", "number", "text", "yes/no", "choice"]
KIND_WORDS: Mapping[AnswerKind, str] = {
    "effect": "an effect",
    "number": "a number",
    "text": "a text",
    "yes/no": "yes or no",
    "choice": "one of a list",
}
MOST_QUESTIONS = 200
_MOST_CHOICES = 7  # as many as keys take

_ANSWER = re.compile(r"\s*\[\s*(effect|number|text|yes/no|choice)\s*(?:(in|:)\s*([^\[\]]+))?\]\s*$", re.IGNORECASE)
_CLOSED = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b", re.IGNORECASE)
_ASKED = re.compile(r"(?:[a-z]+ )?(?:what|which|who|whom|whose|where|when|why|how)\b", re.IGNORECASE)
_AMOUNT = re.compile(
    r"\bhow (?:many|much|long|old|large|often)\b"
    r"|\b(?:what|which) (?:share|percentage|proportion|number|fraction|rate)\b"
    r"|^(?:the )?(?:number|size|mean|average|median|percentage|proportion|length|duration)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewQuestion:
    """What is asked of every paper, and what an answer is; as answers are kept by the text, the kind may change."""

    text: str
    kind: AnswerKind
    unit: str = ""  # of a number; empty: any
    choices: tuple[str, ...] = ()
    is_guessed: bool = field(default=False, compare=False)  # the kind, so that it is not written down

    def __str__(self) -> str:
        if self.is_guessed:
            return self.text
        beside = f" in {self.unit}" if self.unit else f": {' | '.join(self.choices)}" if self.choices else ""
        return f"{self.text} [{self.kind}{beside}]"


def guessed_kind(text: str) -> AnswerKind:
    """Return what an answer to a question probably is, by its words.

    >>> [guessed_kind(text) for text in ("How many were randomised?", "Who funded it?", "Was allocation concealed?")]
    ['number', 'text', 'yes/no']
    """
    parsed = question_of(text)
    if parsed.kind is QuestionKind.AMOUNT or _AMOUNT.search(text):
        return "number"
    if parsed.kind is QuestionKind.EFFECT and parsed.is_split:
        return "effect"
    if _CLOSED.match(text):
        return "yes/no"
    is_statement = text.endswith(".") and not _ASKED.match(text)
    return "effect" if is_statement else "text"


def question_from(line: str) -> ReviewQuestion:
    """Return the question of a line such as ``How many were randomised? [number]``; raises `UnreadableError`."""
    found = _ANSWER.search(line)
    text = " ".join((line[: found.start()] if found else line).split())
    if not found:
        return ReviewQuestion(text=text, kind=guessed_kind(text), is_guessed=True)
    name, mark, beside = found[1].lower(), found[2] or "", " ".join((found[3] or "").split())
    kind = next(kind for kind in get_args(AnswerKind) if kind == name)
    if kind == "choice":
        return ReviewQuestion(text=text, kind=kind, choices=_choices(line, found[0], mark, beside))
    if kind == "number" and mark != ":":
        return ReviewQuestion(text=text, kind=kind, unit=beside)
    if mark:
        raise UnreadableError(f"'{line}': expected [{kind}], got [{found[0].strip(' []')}]")
    return ReviewQuestion(text=text, kind=kind)


def _choices(line: str, answer: str, mark: str, beside: str) -> tuple[str, ...]:
    between = r"[|;]" if re.search("[|;]", beside) else ","
    choices = tuple(choice.strip() for choice in re.split(between, beside))
    if mark != ":" or not 1 < len(set(choices)) <= _MOST_CHOICES or not all(choices):
        raise UnreadableError(
            f"'{line}': expected 2 to {_MOST_CHOICES} choices, such as [choice: parallel | crossover], "
            f"got [{answer.strip(' []')}]"
        )
    return choices


def read_questions(path: Path) -> tuple[ReviewQuestion, ...]:
    """Return the questions of a file: one a line, or a table in CSV; raises `UnreadableError`.

    The columns of a table are ``question`` and, if wanted, ``answer``, ``unit`` and ``choices``.
    """
    text = read_text(path)
    lines = _lines_of_table(path, text) if path.suffix.lower() == ".csv" else enumerate(text.splitlines(), 1)
    questions: dict[str, ReviewQuestion] = {}
    for number, line in lines:
        if not line.strip():
            continue
        try:
            question = question_from(line)
        except UnreadableError as error:
            raise UnreadableError(f"{path}: line {number}: {error}") from error
        if not question.text:
            raise UnreadableError(f"{path}: line {number}: expected a question, got only what its answer is")
        if questions.setdefault(question.text, question) != question:
            raise UnreadableError(f"{path}: line {number}: '{question.text}' is here twice, with two kinds of answer")
    if not 0 < len(questions) <= MOST_QUESTIONS:
        raise UnreadableError(f"{path}: expected 1 to {MOST_QUESTIONS} questions, one a line, got {len(questions):,}")
    return tuple(questions.values())


def _lines_of_table(path: Path, text: str) -> Iterator[tuple[int, str]]:
    rows = csv.DictReader(io.StringIO(text), restval="")
    names = {name.strip().lower(): name for name in rows.fieldnames or ()}
    if "question" not in names:
        raise UnreadableError(f"{path}: line 1: expected a column 'question', got {', '.join(names) or 'none'}")

    def cell(row: Mapping[str, str], name: str) -> str:
        return " ".join((row[names[name]] or "").split()) if name in names else ""

    for row in rows:
        kind, unit, choices = cell(row, "answer").lower(), cell(row, "unit"), cell(row, "choices")
        beside = f" in {unit}" if unit else f": {choices}" if choices else ""
        yield rows.line_num, f"{cell(row, 'question')} [{kind}{beside}]" if kind else cell(row, "question")


def as_lines(questions: Sequence[ReviewQuestion]) -> str:
    return "".join(f"{question}\n" for question in questions)


def with_kind(question: ReviewQuestion, kind: AnswerKind) -> ReviewQuestion:
    """Return a question whose answer is something else; raises `UnreadableError` where that needs a list."""
    if kind == "choice" and not question.choices:
        raise UnreadableError(
            f"write the choices behind the question in questions.txt: {question.text} [choice: one | another]"
        )
    return replace(question, kind=kind, is_guessed=False)
