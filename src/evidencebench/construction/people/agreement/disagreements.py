"""The sentences that not everybody judges alike, each with its place and who said what."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evidencebench.construction.people.agreement.marks import Marks
from evidencebench.tables import Cell, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A sentence that raters judge differently; ``marked_by`` and ``not_marked_by`` name them."""

    task: str
    paper_id: str
    aspect: str
    number: int
    kind: str
    sentence: str
    before: str  # the sentence before it, empty for the first
    after: str
    marked_by: tuple[str, ...]
    not_marked_by: tuple[str, ...]


def disagreements_in(marks: Marks) -> list[Disagreement]:
    """Return the disagreements: those of the model against all people first, then in the order of the tasks."""
    disagreements = []
    differ = np.flatnonzero((marks.values == 1).any(0) & (marks.values == 0).any(0))
    starts = np.searchsorted(marks.task_of, np.arange(len(marks.tasks)))
    for place in differ.tolist():
        task = marks.tasks[marks.task_of[place]]
        number = place - int(starts[marks.task_of[place]])
        column = marks.values[:, place]
        disagreement = Disagreement(
            task=task.id,
            paper_id=task.paper_id,
            aspect=task.aspect,
            number=number,
            kind=task.kinds[number].name.lower(),
            sentence=task.sentences[number],
            before=task.sentences[number - 1] if number else "",
            after=task.sentences[number + 1] if number + 1 < len(task.sentences) else "",
            marked_by=tuple(name for name, value in zip(marks.raters, column, strict=True) if value == 1),
            not_marked_by=tuple(name for name, value in zip(marks.raters, column, strict=True) if value == 0),
        )
        disagreements.append(disagreement)
    if marks.model is not None:
        disagreements.sort(key=lambda one: (marks.model,) not in {one.marked_by, one.not_marked_by})
    return disagreements


def disagreement_table(disagreements: Sequence[Disagreement], raters: Sequence[str]) -> Table:
    """Return them as a table, a column a rater; safe to be opened by a spreadsheet."""
    rows: list[list[Cell]] = []
    for one in disagreements:
        said = {name: "yes" if name in one.marked_by else "no" if name in one.not_marked_by else "" for name in raters}
        which = (one.task, one.paper_id, one.aspect, one.number, one.kind)
        rows.append([*which, one.sentence, *said.values(), one.before, one.after])
    columns = ["task", "paper", "aspect", "number", "kind", "sentence", *raters, "before", "after"]
    return Table(columns=columns, rows=rows)
