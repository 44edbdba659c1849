"""Papers in which people pick sentences, until they submit; what is shown then is handed in, since it reads labels."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

import msgspec

from evidencebench.errors import ChangedDataError, DataError, TaskError
from evidencebench.pages.app.server import RefusedError
from evidencebench.pages.paper import PaperRecord
from evidencebench.pages.people.tasks import TaskKind, TaskRow
from evidencebench.runs.people import PeopleFolder, Person, PickDraft, Picks, Submission, checked_picks

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")


class PickAnswer(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The picks of a person in one paper, as the page sends them."""

    task: str
    sentences: tuple[int, ...]
    reached: Annotated[int, msgspec.Meta(ge=0)]
    seconds: Annotated[int, msgspec.Meta(ge=0)]
    revision: Annotated[int, msgspec.Meta(ge=0)]
    tab: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class OfferedPaper(PaperRecord, frozen=True, kw_only=True):
    """What a person sees before submitting: the paper, and how many sentences may be picked. Systems get the same."""

    budget: int


class MeanRecall(msgspec.Struct, frozen=True, kw_only=True):
    """The mean aspect recall of the person or of a system, on the papers that the person has submitted.

    ``text`` is the mean with its interval in percent. Both ends are None where there is one paper only.
    """

    label: str
    text: str
    is_you: bool = False
    mean: float
    low: float | None
    high: float | None


class OwnScores(msgspec.Struct, frozen=True, kw_only=True):
    """How well a person has done on what the person has submitted: a summary, means (the best first), recalls by id."""

    summary: str
    means: tuple[MeanRecall, ...]
    recalls: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PickTasks(TaskKind):
    """The papers of a queue, by their ids; ``rows`` are those of a person who has opened none.

    ``offer`` returns the part of an instance that is shown before it is submitted. ``reveal`` takes (person, id,
    submission), and returns the record that is shown afterwards. ``scores`` returns how well a person has done, None
    before a submission. All read the data set and its labels.
    """

    people: PeopleFolder
    rows: Mapping[str, TaskRow]
    offer: Callable[[str], OfferedPaper]
    reveal: Callable[[Person, str, Submission], object]
    scores: Callable[[Person], OwnScores | None]
    shape: type[PickAnswer] = PickAnswer

    def is_new(self, person: str) -> bool:
        """Whether a person has opened no paper yet."""
        return self.people.person(person).is_new

    def queue(self, person: str) -> Mapping[str, object]:
        """Return the papers; ``last`` is the one that the person has worked on last without submitting it."""
        worker = self.people.person(person)
        scores = _hide_labels(lambda: self.scores(worker))
        recalls = {} if scores is None else scores.recalls
        return {
            "rows": [_with_status(worker, row, recalls.get(row.id)) for row in self.rows.values()],
            "last": worker.last_draft if worker.last_draft in self.rows else None,
            **({} if scores is None else {"scores": {"summary": scores.summary, "means": scores.means}}),
        }

    def show(self, person: str, task_id: str) -> Mapping[str, object]:
        """Return a paper that is not submitted, with the picks so far; the person's time begins to count."""
        paper = self._offered(task_id)
        return {"task": paper, "answer": _draft_fields(self.people.person(person).begin(task_id))}

    def answer(self, person: str, task_id: str) -> object:
        """Return the picks that are not final."""
        draft = self.people.person(person).draft(task_id)
        return None if draft is None else _draft_fields(draft)

    def save(self, person: str, answer: PickAnswer) -> object:
        """Save picks that are not final."""
        picks = self._checked(answer)
        return _draft_fields(self.people.person(person).save(answer.task, picks))

    def submit(self, person: str, answer: PickAnswer) -> None:
        """Make picks final."""
        picks = self._checked(answer)
        self.people.person(person).submit(answer.task, picks)

    def result(self, person: str, task_id: str) -> object:
        """Return a paper that the person has submitted, with its labels."""
        worker = self.people.person(person)
        submission = worker.submission(task_id) if task_id in self.rows else None
        if submission is None:
            raise RefusedError(403, "the answer is shown once you have submitted yours")
        return _hide_labels(lambda: self.reveal(worker, task_id, submission))

    def close(self) -> None:
        """Close the files of all people."""
        self.people.close()

    def _offered(self, task_id: str) -> OfferedPaper:
        if task_id not in self.rows:
            raise RefusedError(404, "there is no such task in this list")
        return _hide_labels(lambda: self.offer(task_id))

    def _checked(self, answer: PickAnswer) -> Picks:
        paper = self._offered(answer.task)
        n_sentences = len(paper.sentences)
        return Picks(
            sentences=checked_picks(answer.sentences, n_sentences=n_sentences, budget=paper.budget),
            reached=min(answer.reached, n_sentences - 1),
            seconds=answer.seconds,
            revision=answer.revision,
            tab=answer.tab,
        )


def _hide_labels(read: Callable[[], _Result]) -> _Result:
    """Return what is read of the data; refuse without the words of an error, which may name an aspect."""
    try:
        return read()
    except ChangedDataError:
        raise
    except (DataError, TaskError) as error:
        _log.warning("%s", error)
        raise RefusedError(500, "this paper cannot be offered: 'evidencebench data validate' says why") from error


def _with_status(person: Person, row: TaskRow, recall: float | None) -> TaskRow:
    if person.submission(row.id) is not None:
        return msgspec.structs.replace(row, status="done", words="submitted", recall=recall)
    draft = person.draft(row.id)
    if draft is None or not draft.sentences:
        return row
    return msgspec.structs.replace(row, status="draft", words=f"{len(draft.sentences)} picked, not submitted")


def _draft_fields(draft: PickDraft) -> Mapping[str, object]:
    return {name: getattr(draft, name) for name in ("sentences", "reached", "seconds", "revision")}
