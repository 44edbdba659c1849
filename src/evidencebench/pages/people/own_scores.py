"""How well a person has done, beside the systems: over exactly the papers that the person has submitted."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evidencebench.data.tasks import Task
from evidencebench.pages.people.picks import MeanRecall, OwnScores
from evidencebench.pages.viewer.page_records import GradedAnswer, SystemRecord
from evidencebench.pages.viewer.viewer_data import ViewerData
from evidencebench.runs.people.person import Submission
from evidencebench.scoring.evaluate import Case, case_of, grade
from evidencebench.scoring.resampling import Estimate, bootstrap_columns
from evidencebench.scoring.score_texts import percent
from evidencebench.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graded:
    case: Case
    recalls: tuple[float, ...]
    missing: tuple[bool, ...]


class SubmittedPapers:
    """The papers that anybody has submitted; the systems are graded once on each. All have labels, so recalls."""

    def __init__(self, viewed: ViewerData, task: Task) -> None:
        self._viewed, self._task = viewed, task
        self._known: dict[str, _Graded] = {}

    def scores(self, submissions: Mapping[str, Submission]) -> OwnScores | None:
        """Return the recalls of a person's submissions, and the means of person and systems on these papers."""
        if not submissions:
            return None
        graded = [self._graded(paper) for paper in submissions]
        own = [
            grade(paper.case, submission.as_ranking()).recall
            for paper, submission in zip(graded, submissions.values(), strict=True)
        ]
        values = np.array([[mine, *paper.recalls] for mine, paper in zip(own, graded, strict=True)])
        you, *others = bootstrap_columns(values, [paper.case.instance.cluster for paper in graded])
        missing = [sum(lacks) for lacks in zip(*(paper.missing for paper in graded), strict=True)]
        means = [_mean("You", you, is_you=True)]
        means += [
            _mean(_label(shown.record, n_missing), found)
            for shown, found, n_missing in zip(self._viewed.systems, others, missing, strict=True)
        ]
        runs = [place for place, shown in enumerate(self._viewed.systems, 1) if not shown.record.is_control]
        named = runs or [place for place, shown in enumerate(self._viewed.systems, 1) if not shown.record.is_oracle]
        named.sort(key=lambda place: -means[place].mean)
        labels = ["You", *(shown.record.label for shown in self._viewed.systems)]
        said = ", ".join(f"{labels[place]} {100 * means[place].mean:.1f}" for place in [0, *named])
        return OwnScores(
            summary=f"{said} on your {counted(len(own), 'paper')}.",
            means=tuple(sorted(means, key=lambda paper: -paper.mean)),
            recalls=dict(zip(submissions, own, strict=True)),
        )

    def _graded(self, instance_id: str) -> _Graded:
        if instance_id not in self._known:
            case = case_of(self._viewed.dataset[instance_id], self._task)
            assert case is not None, "the queue has only papers that the task applies to"
            answers = [shown.answer_in_list(case, self._task) for shown in self._viewed.systems]
            self._known[instance_id] = _Graded(
                case=case,
                recalls=tuple(map(_recall, answers)),
                missing=tuple(answer.status == "missing" for answer in answers if answer is not None),
            )
        return self._known[instance_id]


def _recall(answer: GradedAnswer | None) -> float:
    assert answer is not None, "the task has a budget"
    assert answer.recall is not None, "the queue has only papers with labels"
    return answer.recall


def _label(record: SystemRecord, n_missing: int) -> str:
    lacks = f" (lacks {counted(n_missing, 'answer')}: 0)" if n_missing else ""
    return f"{record.label}{' *' if record.is_control else ''}{lacks}"


def _mean(label: str, found: Estimate, *, is_you: bool = False) -> MeanRecall:
    text = percent(found)
    return MeanRecall(label=label, text=text, is_you=is_you, mean=found.mean, low=found.low, high=found.high)
