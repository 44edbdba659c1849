"""Warnings that stand before scores: a model saw the data, answers are missing, sets look like rankings."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.wording import counted

TRAINED_ON_IT = "trained on this data, so its scores say nothing of other papers"
"""What is said of a system whose model saw the data that it is scored on."""

# From this share on, all answers are called so.
_NEARLY = 0.9
# A list of so much of its paper orders it, since nobody selects that much.
_WHOLE = 0.8
# So many lists of one length are no accident.
_LEAST_ALIKE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """Why the scores of a run mean less than they seem to, and what to do."""

    label: str
    path: Path
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


def cautions_of(scored: ScoredRuns) -> tuple[Caution, ...]:
    """Return what makes scores of runs mean less than they seem to; nothing where all is well."""
    return tuple(
        Caution(label=label, path=run.path, text=text)
        for label, run in scored.runs.items()
        for text in _cautions(scored, label)
    )


def is_complete(scored: ScoredRuns) -> bool:
    """Say whether no answer of any run failed or is missing."""
    counts = (found.counts for scores in scored.scores.values() for found in scores.values())
    return not any(one.failed or one.missing for one in counts)


def _cautions(scored: ScoredRuns, label: str) -> Iterator[str]:
    run, scores = scored.runs[label], scored.scores[label]
    if worst := max(scores.values(), key=_share_unanswered, default=None):
        counts, n = worst.counts, len(worst.ids)
        if _share_unanswered(worst) > 1 / 2:
            parts = {"failed": counts.failed, "are empty": counts.empty, "are missing": counts.missing}
            told = ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)
            yield f"of {counted(n, 'answer')} on {worst.task.name}, {told}; each of these scores 0"
    if run.trained_on(scored.dataset.sha256):
        yield f"{TRAINED_ON_IT}; score it on data that it was not trained on"
    if run.is_bare and scored.rules.over_length == "expected" and any(map(_look_ranked, scores.values())):
        yield (
            "its lists are longer than what counts, and look like rankings, but are read as sets, whose "
            "order means nothing; where the best stands first, give --over-length first, or write "
            '{"ranking": [...]} for each list (where it does not, {"set": [...]})'
        )


def _share_unanswered(scores: TaskScores) -> float:
    return scores.counts.unanswered / max(1, len(scores.ids))


def _look_ranked(scores: TaskScores) -> bool:
    """Say whether nearly all answers are over the budget, and name nearly the whole paper or are of one length."""
    sizes = scores.over_length
    if not sizes or len(sizes) < _NEARLY * (len(scores.ids) - scores.counts.unanswered):
        return False
    n_whole = sum(n_named >= _WHOLE * n_in_paper for n_named, n_in_paper in sizes)
    ((_, n_alike),) = Counter(n_named for n_named, _ in sizes).most_common(1)
    return n_whole >= _NEARLY * len(sizes) or (len(sizes) >= _LEAST_ALIKE and n_alike >= _NEARLY * len(sizes))
