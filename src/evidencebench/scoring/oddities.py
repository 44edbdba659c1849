"""Warnings about answers, shown by every command, page and function."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping

from evidencebench.data.dataset import Dataset
from evidencebench.errors import EvidenceWarning
from evidencebench.execution.answers import AnswersByInstance, is_function, named_system
from evidencebench.execution.system_table import PACKAGED, SYSTEMS
from evidencebench.runs.oddities import (
    answers_warning,
    failed_warnings,
    repeats_warnings,
    short_warnings,
    system_warnings,
)
from evidencebench.runs.run import RunFile
from evidencebench.scoring.selection import DEFAULT_RULES, Rules
from evidencebench.scoring.significance import Name
from evidencebench.scoring.task_scores import TaskScores
from evidencebench.system import Traits, traits_of
from evidencebench.wording import counted

# This share of the answers stands for all of them.
_NEARLY = 0.9
# A list of this share of the paper's sentences is taken for a ranking, since nobody selects so many.
_WHOLE = 0.8
# Lists of one length are taken for cut rankings from this number of lists on.
_LEAST_ALIKE = 3
# Ties in fewer answers are chance: BM25 has some.
_MANY_TIES = 0.2

_TIES = "have equal scores at the budget, so their order decides; --set ties=expected takes the mean over all orders"
_LOOK_RANKED = (
    "are longer than the budget and look like rankings, but are read as sets, whose order means nothing; if the best "
    'sentence is first, use --set over-length=first, or write {"ranking": [...]} for each list (if not, '
    '{"set": [...]})'
)
_OVER_BUDGET = "are sets of more sentences than the budget; each scores the mean over its subsets"


def oddities(
    sources: Mapping[str, object],
    scores: Mapping[str, Mapping[str, TaskScores]],
    dataset: object,
    rules: Rules | Mapping[str, Rules] | None = None,
) -> tuple[EvidenceWarning, ...]:
    """Return what is odd in answers; of several tasks, that with most such answers."""
    # A system that does not read the hypothesis has the same answers to changed queries: the controls say so.
    same = same_texts({name: scores[name] for name, source in sources.items() if not is_changed(source)})
    rows: list[EvidenceWarning] = []
    for name, source in sources.items():
        by_task = list(scores[name].values())
        rows += _of_source(name, source, dataset)
        rows += _of_answers(name, source, by_task, rules_for(name, rules))
        rows += [EvidenceWarning(name, "same answers", same[name])] if name in same else []
    return tuple(rows)


def rules_for(name: str, rules: Rules | Mapping[str, Rules] | None) -> Rules:
    return rules.get(name, DEFAULT_RULES) if isinstance(rules, Mapping) else rules or DEFAULT_RULES


def _of_source(name: str, source: object, dataset: object) -> list[EvidenceWarning]:
    trained_on: Collection[str] = ()
    reads_labels = False
    if isinstance(source, RunFile) and source.header is not None:
        reads_labels, trained_on = source.header.knows_labels, source.header.trained_on or ()
    elif _is_system(source):
        system = named_system(source)
        reads_labels, trained_on = system.knows_labels, system.trained_on()
    trained_on_it = bool(trained_on) and isinstance(dataset, Dataset) and dataset.sha256 in trained_on
    return system_warnings(name, reads_labels=reads_labels, trained_on_it=trained_on_it)


def _of_answers(name: str, source: object, by_task: list[TaskScores], rules: Rules) -> Iterator[EvidenceWarning]:
    def worst(kind: str, n: Callable[[TaskScores], int], text: str) -> Iterator[EvidenceWarning]:
        most = max(by_task, key=n)
        if n(most):
            yield answers_warning(name, kind, text, n(most), n_all=most.n_answers, task=most.task.name)

    failing = max(by_task, key=lambda scores: scores.counts.failed)
    advice = "; evaluate(..., raise_errors=True) raises it" if _is_system(source) else ""
    yield from failed_warnings(name, failing.errors.items(), failing.n_answers, failing.task.name, advice)
    yield from worst("empty", lambda scores: scores.counts.empty, "are empty, and each scores 0")
    yield from worst("missing", lambda scores: scores.counts.missing, "are missing, and each scores 0")
    if rules.ties == "index":
        yield from worst("ties at the cut", _many_ties, _TIES)
    yield from repeats_warnings(name, max(scores.counts.duplicates for scores in by_task))
    if n := max(scores.counts.out_of_range for scores in by_task):
        text = f"{counted(n, 'sentence')} that the papers do not have, removed"
        yield EvidenceWarning(name, "no such sentence", text, n)
    if rules.over_length == "expected":
        look_ranked = _is_bare(source) and any(map(_look_ranked, by_task))
        kind, text = ("lists look ranked", _LOOK_RANKED) if look_ranked else ("sets over budget", _OVER_BUDGET)
        yield from worst(kind, lambda scores: len(scores.over_length), text)
    short = max(by_task, key=lambda scores: len(scores.cut_short))
    if _ranks_all(source):
        yield from short_warnings(name, short.cut_short, short.n_answers, short.task.name)


def _many_ties(scores: TaskScores) -> int:
    return scores.counts.ties if scores.counts.ties >= _MANY_TIES * scores.n_answers else 0


def is_changed(source: object) -> bool:
    """Say whether a source is a run that was asked changed queries."""
    return isinstance(source, RunFile) and source.header is not None and source.header.control is not None


def traits_of_run(run: RunFile) -> Traits:
    """Return what a run's system declares; others than of this package are taken to read the query and rank all."""
    name = "" if run.header is None else run.header.system.name
    return traits_of(SYSTEMS[name]) if name in PACKAGED else Traits()


def _is_system(source: object) -> bool:
    if isinstance(source, RunFile | Mapping | AnswersByInstance):
        return False
    return hasattr(source, "rank") or hasattr(source, "rank_knowing") or is_function(source)


def _ranks_all(source: object) -> bool:
    if isinstance(source, RunFile):
        return not traits_of_run(source).selects
    if isinstance(source, Mapping):  # answers that are there may name as many as they like
        return False
    return not (_is_system(source) and named_system(source).selects)


def _is_bare(source: object) -> bool:
    return isinstance(source, RunFile) and source.is_bare


def _look_ranked(scores: TaskScores) -> bool:
    """Say whether a run's sets look like rankings: 90 % of the answers are over the budget.

    Of these, 90 % must also name 80 % of their paper's sentences, or 90 % of three or more must have the same length.
    """
    sizes = scores.over_length
    if not sizes or len(sizes) < _NEARLY * (scores.n_answers - scores.counts.unanswered):
        return False
    n_whole = sum(n_named >= _WHOLE * n_in_paper for n_named, n_in_paper in sizes)
    ((_, n_alike),) = Counter(n_named for n_named, _ in sizes).most_common(1)
    return n_whole >= _NEARLY * len(sizes) or (len(sizes) >= _LEAST_ALIKE and n_alike >= _NEARLY * len(sizes))


def first_alike(keys: Mapping[Name, Hashable]) -> dict[Name, Name]:
    first: dict[Hashable, Name] = {}
    return {name: first.setdefault(key, name) for name, key in keys.items()}


def same_texts(scores: Mapping[str, Mapping[str, TaskScores]]) -> dict[str, str]:
    """Return system -> the words that say whose answers it has too; only for those that have another's on all tasks."""
    keys = {name: tuple(scores.answer_keys for scores in by_task.values()) for name, by_task in scores.items()}
    same = {name: other for name, other in first_alike(keys).items() if name != other}
    return {name: f"has the same answers as {other}; the tests count the two as one" for name, other in same.items()}
