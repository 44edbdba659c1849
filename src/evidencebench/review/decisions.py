"""What people decide, in journals; disputes, and how well people agree."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import msgspec

from evidencebench.construction.people.answers import ADJUDICATED, Answer, AnswerFolder, check_note, is_begun
from evidencebench.errors import PeopleError
from evidencebench.files.disk import read_bytes
from evidencebench.files.records import Records
from evidencebench.review.desk import DeskHeader
from evidencebench.runs.people import Clock, checked_name, utc_now

DecisionName = Literal["", "increase", "decrease", "no_difference", "not_reported", "unclear"]
DECISIONS: Mapping[str, str] = {
    "increase": "reports an increase",
    "decrease": "reports a decrease",
    "no_difference": "reports no difference",
    "not_reported": "does not report it",
    "unclear": "unclear",
}
"""What a person can decide of a cell, in words; without one, it is not decided yet."""


NAME_NO_EVIDENCE = ("", "unclear", "not_reported")
"""Decisions that need no sentence."""


class Decision(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """What a person says of a question in a paper; the task is `task_key` of both."""

    paper: str = ""  # its file, for readers
    question: str = ""
    decision: DecisionName = ""
    accepted: tuple[int, ...] = ()  # sentences, ascending, also such as were not found
    rejected: tuple[int, ...] = ()
    seconds: int = 0
    tab: str = ""
    is_blind: bool = False  # given while nobody saw what others say
    decided_by: str = ""  # only in the journal of what was agreed


def task_key(text: str, question: str) -> str:
    """Return what stands for a paper's text and a question in journals, whatever their places are."""
    return f"{text}-{hashlib.sha256(question.encode(errors='replace')).hexdigest()[:12]}"


def _check(decision: Decision) -> None:
    check_note(decision.note)
    if decision.decision not in get_args(DecisionName):
        raise PeopleError(f"no decision '{decision.decision}'; expected one of {', '.join(DECISIONS)}")
    for indices in (decision.accepted, decision.rejected):
        if list(indices) != sorted(set(indices)) or (indices and indices[0] < 0):
            raise PeopleError(f"expected sentences ascending, each once, got {indices}")
    if both := set(decision.accepted) & set(decision.rejected):
        raise PeopleError(f"sentence {min(both)} is both accepted and rejected")


class DecisionFolder(AnswerFolder[Decision]):
    """The journals of people, and the one of what was agreed."""

    def __init__(self, desk_folder: Path, *, clock: Clock = utc_now) -> None:
        header = DeskHeader(of="papers")
        tasks: Records[DeskHeader, object] = Records(path=desk_folder, header=header, by_id={}, sha256="")
        super().__init__(desk_folder / "people", tasks, Decision, _check, made_by="evidencebench review", clock=clock)

    def independent(self) -> dict[str, dict[str, Decision]]:
        """Return person -> task key -> the last answer that was given blind, or the last one where none was."""
        found: dict[str, dict[str, Decision]] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            if path.name == ADJUDICATED or not is_begun(content := read_bytes(path)):
                continue
            header, lines = self._format.scan(path, [content])
            own = found.setdefault(header.annotator, {})
            for answer in (line.record for line in lines):
                if answer.is_blind or answer.task not in own or not own[answer.task].is_blind:
                    own[answer.task] = answer
        return found

    def agreed(self) -> Mapping[str, Decision]:
        return self._read(self.folder / ADJUDICATED)[1]

    def agree(self, decided_by: str, decision: Decision) -> Decision:
        decided = msgspec.structs.replace(decision, decided_by=checked_name(decided_by))
        return self._append(self.folder / ADJUDICATED, "", decided)


class Side(NamedTuple):
    person: str
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What all people say of one cell, and what was agreed, if it was."""

    sides: Sequence[Side]  # of people who decided, by name
    undecided: Sequence[Side] = ()  # of people who accepted sentences or wrote a note, and decided nothing yet
    agreed: Decision | None

    @property
    def is_decided(self) -> bool:
        return bool(self.sides) or self.agreed is not None

    @property
    def differs_in_decision(self) -> bool:
        return len({side.decision.decision for side in self.sides}) > 1

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
    def final(self) -> Decision | None:
        """What counts: what was agreed, else what all decided, with the sentences that most of them accept.

        Who agrees on a decision alone, as by one key, agrees on the sentences of all.
        """
        if self.agreed is not None:
            is_bare = not self.agreed.accepted and self.agreed.decision not in NAME_NO_EVIDENCE
            return msgspec.structs.replace(self.agreed, accepted=tuple(self._named)) if is_bare else self.agreed
        if not self.sides or self.is_disputed:
            return None
        return msgspec.structs.replace(self.sides[0].decision, accepted=self._by_most, note=self.notes())

    def people_of(self, sentence: int) -> list[str]:
        """Return who accepts a sentence."""
        return [side.person for side in self._all if sentence in side.decision.accepted]

    def notes(self) -> str:
        """Return what people noted, with their names where several did."""
        noted = [side for side in self._all if side.decision.note]
        if len(noted) == 1:
            return noted[0].decision.note
        return "; ".join(f"{side.person}: {side.decision.note}" for side in noted)

    @property
    def accepted_by_any(self) -> list[int]:
        return _accepted(self._all)

    @property
    def _all(self) -> Sequence[Side]:
        return (*self.sides, *self.undecided)

    @property
    def _named(self) -> list[int]:
        return _accepted(self.sides)

    @property
    def _by_most(self) -> tuple[int, ...]:
        votes = [side.decision.accepted for side in self.sides]
        return tuple(index for index in self._named if 2 * sum(index in vote for vote in votes) > len(votes))


def _accepted(sides: Sequence[Side]) -> list[int]:
    return sorted({index for side in sides for index in side.decision.accepted})


def decided_cells(people: Mapping[str, Mapping[str, Decision]], agreed: Mapping[str, Decision]) -> dict[str, Decided]:
    """Return task key -> what was said, of all cells that anybody decided, or said anything else of."""
    sides: dict[str, list[Side]] = {}
    others: dict[str, list[Side]] = {}
    for person, answers in people.items():
        for key, answer in answers.items():
            if answer.decision:
                sides.setdefault(key, []).append(Side(person, answer))
            elif answer.accepted or answer.note:
                others.setdefault(key, []).append(Side(person, answer))
    done = {key: answer for key, answer in agreed.items() if answer.decision}
    return {
        key: Decided(sides=sides.get(key, ()), undecided=others.get(key, ()), agreed=done.get(key))
        for key in {**sides, **others, **done}
    }
