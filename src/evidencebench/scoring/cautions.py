"""Warnings that are shown before scores: a model saw the data, answers are missing or another run's, and so on."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evidencebench.scoring.compare import same_texts
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.wording import counted

TRAINED_ON_IT = "trained on this data, so its scores say nothing of other papers"
"""The warning about a system whose model was trained on the data that it is scored on."""

# This share of the answers stands for all of them.
_NEARLY = 0.9
# A list of this share of the paper's sentences is taken for a ranking, since nobody selects so many.
_WHOLE = 0.8
# Lists of one length are taken for cut rankings from this number of lists on.
_LEAST_ALIKE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """A warning about one run: why its scores mean less than they seem to, and what to do."""

    label: str
    path: Path
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


def cautions_of(scored: ScoredRuns) -> tuple[Caution, ...]:
    """Return the warnings about the scores of all runs; empty where there are none."""
    same = same_texts(scored.scores)
    return tuple(
        Caution(label=label, path=run.path, text=text)
        for label, run in scored.runs.items()
        for text in (*_cautions(scored, label), *filter(None, [same.get(label)]))
    )


def is_complete(scored: ScoredRuns) -> bool:
    """Say whether no answer of any run failed or is missing."""
    counts = (task_scores.counts for by_task in scored.scores.values() for task_scores in by_task.values())
    return not any(count.failed or count.missing for count in counts)


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
    """Say whether a run's sets look like rankings: 90 % of the answers are over the budget.

    Of these, 90 % must also name 80 % of their paper's sentences, or 90 % of three or more must have the same length.
    """
    sizes = scores.over_length
    if not sizes or len(sizes) < _NEARLY * (len(scores.ids) - scores.counts.unanswered):
        return False
    n_whole = sum(n_named >= _WHOLE * n_in_paper for n_named, n_in_paper in sizes)
    ((_, n_alike),) = Counter(n_named for n_named, _ in sizes).most_common(1)
    return n_whole >= _NEARLY * len(sizes) or (len(sizes) >= _LEAST_ALIKE and n_alike >= _NEARLY * len(sizes))
