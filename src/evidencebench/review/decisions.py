"""What people decide of papers and questions: which cell an answer belongs to, disputes, and what counts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from msgspec.structs import replace

from evidencebench.errors import PeopleError
from evidencebench.review.desk import PaperText
from evidencebench.review.found import CELLS, paper_of
from evidencebench.review.questions import KIND_WORDS, AnswerKind, ReviewQuestion
from evidencebench.review.values import words_of
from evidencebench.runs.answers import DecisionAnswer, EvidenceReference, header_of_people
from evidencebench.runs.people import AnswerFolder, Clock, check_note, utc_now
from evidencebench.version import __version__

DecisionName = Literal["", "increase", "decrease", "no_difference", "mixed", "yes", "no", "not_reported", "unclear"]
DECISIONS: Mapping[str, str] = {
    "increase": "reports an increase",
    "decrease": "reports a decrease",
    "no_difference": "reports no difference",
    "yes": "yes",
    "no": "no",
    "not_reported": "does not report it",
    "unclear": "unclear",
    "mixed": "reports mixed results",
}
"""What a person can decide of a cell, in words; without one, it is not decided yet."""

VALUE = "value"
"""The choice where the answer is a value, or several."""

CHOICES_OF: Mapping[AnswerKind, tuple[str, ...]] = {
    "effect": ("increase", "decrease", "no_difference", "not_reported", "unclear", "mixed"),
    "yes/no": ("yes", "no", "not_reported", "unclear"),
    "number": ("not_reported", "unclear"),
    "text": ("not_reported", "unclear"),
    "choice": ("not_reported", "unclear"),
}
"""What can be decided of a question of each kind; of the last three, values are given besides."""


def words_of_decision(decision: DecisionAnswer) -> str:
    """Return what was decided in words; empty where nothing was."""
    return words_of(decision.values) if decision.values else DECISIONS.get(decision.choice, "")


def said_in(decision: DecisionAnswer) -> str:
    """Return what is the same where two people decide the same."""
    return words_of(decision.values).casefold() if decision.values else decision.choice


def require_fitting(choice: str, written: str, question: ReviewQuestion) -> None:
    """Raise `PeopleError` where a decision, or values, do not fit what an answer to a question is."""
    if choice and choice not in CHOICES_OF[question.kind]:
        expected = ", ".join(CHOICES_OF[question.kind])
        raise PeopleError(
            f"'{choice}': the answer to this question is {KIND_WORDS[question.kind]}; expected {expected}"
        )
    if not written.strip():
        return
    if question.kind in {"effect", "yes/no"}:
        raise PeopleError(f"the answer to this question is {KIND_WORDS[question.kind]}, and no value")
    if choice:
        raise PeopleError(f"'{written.strip()}' and '{DECISIONS[choice]}' exclude each other; leave one of them out")


NAME_NO_EVIDENCE = ("", "unclear", "not_reported")
"""Decisions that need no sentence."""


def decision_folder(desk_folder: Path, *, clock: Clock = utc_now) -> AnswerFolder[DecisionAnswer]:
    header = header_of_people(CELLS)
    return AnswerFolder(desk_folder / "people", header, _check, kind=DecisionAnswer, clock=clock)


def _check(decision: DecisionAnswer) -> None:
    check_note(decision.note)
    if decision.choice not in (*get_args(DecisionName), VALUE) or (decision.choice == VALUE) != bool(decision.values):
        raise PeopleError(f"no decision '{decision.choice}'; expected one of {', '.join(DECISIONS)}")
    for places in (decision.accepted, decision.rejected):
        if list(places) != sorted(set(places)) or (places and places[0] < 0):
            raise PeopleError(f"expected sentences ascending, each once, got {places}")
    if both := set(decision.accepted) & set(decision.rejected):
        raise PeopleError(f"sentence {min(both)} is both accepted and rejected")


# A paper is known by its text; where no paper has that text any more, by its DOI or PMID.

IDENTIFIERS = ("doi", "pmid")


class DecidedPapers:
    """The papers of which something was decided. A paper's key is the text that it had at the first decision."""

    def __init__(self, answers: Iterable[DecisionAnswer]) -> None:
        self._by_text: dict[str, str] = {}
        self._by_id: dict[tuple[str, str], str] = {}
        self._texts: dict[str, set[str]] = {}
        for answer in answers:
            key = paper_of(answer.id)
            self._by_text[answer.text or key] = key
            self._texts.setdefault(key, {key}).add(answer.text or key)
            for name in IDENTIFIERS:
                if name in answer.paper_ids:
                    self._by_id[name, answer.paper_ids[name].casefold()] = key

    def key(self, text: str, ids: Mapping[str, str], texts_here: Callable[[str], bool]) -> str:
        """Return a paper's key; ``texts_here`` says whether any paper of the folder has a text."""
        if text in self._by_text:
            return self._by_text[text]
        for name in IDENTIFIERS:
            key = self._by_id.get((name, ids.get(name, "").casefold()))
            if key is not None and not any(map(texts_here, self._texts[key])):
                return key
        return text


# Evidence is found again by its words where the file, or what reads it, has changed.

_BLANKS = re.compile(r"\s+")
_LEAST_SHARE = 0.5  # of a quotation that was cut into several sentences


def references(text: PaperText, places: Iterable[int]) -> tuple[EvidenceReference, ...]:
    """Return sentences and units of a paper, numbered one behind the other, with their words."""
    paper = text.paper
    lines = ((index, paper.line(index)) for index in places)
    return tuple(
        EvidenceReference(index=index, quotation=line.text, unit=line.unit, reader=__version__) for index, line in lines
    )


def found_again(given: Sequence[EvidenceReference], text: PaperText) -> tuple[EvidenceReference, ...]:
    """Return references as they stand in a text, in its order; those that are not in it come last."""
    lines = [_plain(line) for line in (*text.sentences, *(unit.text for unit in text.units))]
    found: dict[int | str, EvidenceReference] = {}
    for reference in given:
        index = _place(_plain(reference.quotation), lines, reference.index or 0)
        key = reference.quotation if index is None else index
        found.setdefault(key, replace(reference, index=index))
    return in_order(found.values())


def in_order(given: Iterable[EvidenceReference]) -> tuple[EvidenceReference, ...]:
    return tuple(sorted(given, key=lambda one: (one.index is None, one.index or 0)))


def _plain(line: str) -> str:
    return _BLANKS.sub(" ", line).strip().casefold()


def _place(quotation: str, lines: Sequence[str], before: int) -> int | None:
    """Return the line that says it: the same one, one that holds it, or the longest part of it."""
    same = [index for index, line in enumerate(lines) if line == quotation]
    holding = same or [index for index, line in enumerate(lines) if quotation and quotation in line]
    if holding:
        return min(holding, key=lambda index: abs(index - before))
    parts = [
        index for index, line in enumerate(lines) if len(line) >= _LEAST_SHARE * len(quotation) and line in quotation
    ]
    return max(parts, key=lambda index: len(lines[index]), default=None) if quotation else None


class Side(NamedTuple):
    person: str
    decision: DecisionAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What all people say of one cell, and what was agreed, if it was."""

    sides: Sequence[Side]  # of people who decided, by name
    undecided: Sequence[Side] = ()  # of people who accepted sentences or wrote a note, and decided nothing yet
    agreed: DecisionAnswer | None

    @property
    def is_decided(self) -> bool:
        return bool(self.sides) or self.agreed is not None

    @property
    def differs_in_decision(self) -> bool:
        return len({said_in(side.decision) for side in self.sides}) > 1

    @property
    def differs_in_sentences(self) -> bool:
        """Whether all decided the same, of sentences of which most accept none."""
        return not self.differs_in_decision and bool(self._named) and not self._by_most

    @property
    def differs(self) -> bool:
        return self.differs_in_decision or self.differs_in_sentences

    @property
    def is_disputed(self) -> bool:
        return self.agreed is None and self.differs

    @property
    def final(self) -> DecisionAnswer | None:
        """What counts: what was agreed, else what all decided, with the evidence that most of them accept.

        Who agrees on a decision alone, as by one key, agrees on the evidence of all.
        """
        if self.agreed is not None:
            is_bare = not self.agreed.evidence and self.agreed.choice not in NAME_NO_EVIDENCE
            return replace(self.agreed, evidence=self._named) if is_bare else self.agreed
        if not self.sides or self.is_disputed:
            return None
        return replace(self.sides[0].decision, evidence=self._by_most, note=self.notes())

    def people_of(self, reference: EvidenceReference) -> list[str]:
        """Return who accepts a piece of evidence."""
        return [side.person for side in self._all if _key(reference) in map(_key, side.decision.evidence)]

    def notes(self) -> str:
        """Return what people noted, with their names where several did."""
        noted = [side for side in self._all if side.decision.note]
        if len(noted) == 1:
            return noted[0].decision.note
        return "; ".join(f"{side.person}: {side.decision.note}" for side in noted)

    @property
    def accepted_by_any(self) -> tuple[EvidenceReference, ...]:
        return _accepted(self._all)

    @property
    def _all(self) -> Sequence[Side]:
        return (*self.sides, *self.undecided)

    @property
    def _named(self) -> tuple[EvidenceReference, ...]:
        return _accepted(self.sides)

    @property
    def _by_most(self) -> tuple[EvidenceReference, ...]:
        votes = [{_key(one) for one in side.decision.evidence} for side in self.sides]
        return tuple(one for one in self._named if 2 * sum(_key(one) in vote for vote in votes) > len(votes))


def _key(reference: EvidenceReference) -> int | str:
    """Return what is the same of the same evidence: its place in the paper, or its words where it has none."""
    return reference.quotation if reference.index is None else reference.index


def _accepted(sides: Sequence[Side]) -> tuple[EvidenceReference, ...]:
    named = {_key(reference): reference for side in sides for reference in side.decision.evidence}
    return in_order(named.values())


def decided_cells(
    people: Mapping[str, Mapping[str, DecisionAnswer]], agreed: Mapping[str, DecisionAnswer]
) -> dict[str, Decided]:
    """Return cell -> what was said, of all cells that anybody decided, or said anything else of."""
    sides: dict[str, list[Side]] = {}
    others: dict[str, list[Side]] = {}
    for person, answers in people.items():
        for key, answer in answers.items():
            if answer.choice:
                sides.setdefault(key, []).append(Side(person, answer))
            elif answer.evidence or answer.note:
                others.setdefault(key, []).append(Side(person, answer))
    done = {key: answer for key, answer in agreed.items() if answer.choice}
    return {
        key: Decided(sides=sides.get(key, ()), undecided=others.get(key, ()), agreed=done.get(key))
        for key in {**sides, **others, **done}
    }
