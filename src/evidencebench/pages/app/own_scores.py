"""How well a person has done, beside the systems: over exactly the papers that the person has submitted."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evidencebench.data.tasks import Task
from evidencebench.pages.picking.routes import MeanRecall, OwnScores
from evidencebench.pages.viewer.viewer_data import ViewerData, graded_answer
from evidencebench.runs.people.person import Submission
from evidencebench.scoring.evaluate import Case, case_of
from evidencebench.scoring.resampling import bootstrap_columns
from evidencebench.scoring.selection import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graded:
    """A paper, with the recall of each system that is shown, and whether it lacks an answer; the task has a budget."""

    case: Case
    recalls: tuple[float, ...]
    missing: tuple[bool, ...]


class SubmittedPapers:
    """The papers that anybody has submitted; the systems are graded once on each. All have labels, so recalls."""

    def __init__(self, viewed: ViewerData, task: Task) -> None:
        self._viewed, self._task = viewed, task
        self._known: dict[str, _Graded] = {}

    def scores(self, submissions: Mapping[str, Submission]) -> OwnScores:
        """Return the recalls of a person's submissions, and the means of person and systems on these papers.

        The person comes first, then the systems as they are listed. The intervals are those of `bootstrap`.
        """
        if not submissions:
            return OwnScores()
        graded = [self._graded(one) for one in submissions]
        own = [
            graded_answer(one.case, found.as_ranking(), Rules()).recall or 0.0
            for one, found in zip(graded, submissions.values(), strict=True)
        ]
        recalls = np.column_stack([own, np.array([one.recalls for one in graded])])
        you, *others = bootstrap_columns(recalls, [one.case.instance.cluster for one in graded])
        systems = zip(self._viewed.systems, others, zip(*(one.missing for one in graded), strict=True), strict=True)
        return OwnScores(
            recalls=dict(zip(submissions, own, strict=True)),
            means=(
                MeanRecall(label="You", is_you=True, mean=you.mean, low=you.low, high=you.high),
                *(
                    MeanRecall(
                        label=shown.record.label,
                        is_control=shown.record.is_control,
                        mean=found.mean,
                        low=found.low,
                        high=found.high,
                        missing=sum(missing),
                    )
                    for shown, found, missing in systems
                ),
            ),
        )

    def _graded(self, instance_id: str) -> _Graded:
        if instance_id not in self._known:
            case = case_of(self._viewed.dataset[instance_id], self._task)
            assert case is not None, "the queue has only papers that the task applies to"
            answers = [shown.answer_in_list(case, self._task) for shown in self._viewed.systems]
            self._known[instance_id] = _Graded(
                case=case,
                recalls=tuple(one.recall or 0.0 for one in answers if one is not None),
                missing=tuple(one.status == "missing" for one in answers if one is not None),
            )
        return self._known[instance_id]
