"""What people decide, in journals; disputes, and how well people agree."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import msgspec

from evidencebench.construction.people.answers import ADJUDICATED, Answer, AnswerFolder, check_note
from evidencebench.errors import PeopleError
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
            if path.name == ADJUDICATED:
                continue
            header, lines = self._format.scan(path)
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
    agreed: Decision | None

    @property
    def differs(self) -> bool:
        return len({side.decision.decision for side in self.sides}) > 1

    @property
    def is_disputed(self) -> bool:
        return self.agreed is None and self.differs

    @property
    def final(self) -> Decision | None:
        """What counts: what was agreed, else what all decided, with the sentences that most of them accept."""
        if self.agreed is not None or not self.sides or self.is_disputed:
            return self.agreed
        votes = [set(side.decision.accepted) for side in self.sides]
        named = sorted(set().union(*votes))
        accepted = tuple(index for index in named if 2 * sum(index in vote for vote in votes) > len(votes))
        notes = "; ".join(filter(None, (side.decision.note for side in self.sides)))
        return msgspec.structs.replace(self.sides[0].decision, accepted=accepted, note=notes)


def decided_cells(people: Mapping[str, Mapping[str, Decision]], agreed: Mapping[str, Decision]) -> dict[str, Decided]:
    """Return task key -> what was said, of all cells that anybody decided."""
    sides: dict[str, list[Side]] = {}
    for person, answers in people.items():
        for key, answer in answers.items():
            if answer.decision:
                sides.setdefault(key, []).append(Side(person, answer))
    done = {key: answer for key, answer in agreed.items() if answer.decision}
    return {key: Decided(sides=sides.get(key, ()), agreed=done.get(key)) for key in {**sides, **done}}
