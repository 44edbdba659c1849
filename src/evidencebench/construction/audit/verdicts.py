"""What auditors said of misses: a folder with a journal for each of them."""

from pathlib import Path

import msgspec

from evidencebench.construction.audit.causes import CAUSES
from evidencebench.construction.audit.misses import MissesFile
from evidencebench.construction.people.answer_journals import AnswerFolder
from evidencebench.errors import PeopleError
from evidencebench.runs.people.people_folder import utc_now
from evidencebench.runs.people.person import Clock
from evidencebench.wording import did_you_mean

_MOST_NOTE = 5_000


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cause of a miss, as an auditor says."""

    task: str  # the id of the miss
    cause: str = ""  # empty where it was taken back
    note: str = ""
    revision: int = 1  # counts the auditor's actions on the miss
    at: str = ""  # ISO 8601, UTC


def verdict_folder(folder: Path, misses: MissesFile, *, clock: Clock = utc_now) -> AnswerFolder[Verdict]:
    """Return the folder of what auditors say of a file of misses."""
    made_by = "evidencebench audit review"
    return AnswerFolder(
        folder, misses, Verdict, lambda verdict: check_verdict(misses, verdict), made_by=made_by, clock=clock
    )


def check_verdict(misses: MissesFile, verdict: Verdict) -> None:
    """Raise `PeopleError` where a verdict is of no miss, or names no cause, or lacks the note that it needs."""
    if verdict.task not in misses.by_id:
        raise PeopleError(f"no miss '{verdict.task}'; the ids look like '{misses.records[0].id}'")
    if len(verdict.note) > _MOST_NOTE:
        raise PeopleError(f"the note has {len(verdict.note)} characters; at most {_MOST_NOTE}, please")
    if not verdict.cause:
        return
    cause = CAUSES.get(verdict.cause)
    if cause is None:
        known = ", ".join(CAUSES)
        raise PeopleError(
            f"miss '{verdict.task}': no cause '{verdict.cause}'{did_you_mean(verdict.cause, CAUSES)}; one of {known}"
        )
    if cause.needs_note and not verdict.note.strip():
        raise PeopleError(f"miss '{verdict.task}': cause '{cause.name}' needs a note that says which")
