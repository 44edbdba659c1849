"""Scores as people and programs read them: signatures, JSON objects and table rows."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from evidencebench.data.dataset import Dataset
from evidencebench.data.optimum.cover import Coverage, coverage_of
from evidencebench.data.tasks import Task
from evidencebench.query import Kind
from evidencebench.scoring.comparison import Comparison
from evidencebench.scoring.evaluation import MEASURE_NAMES, Rules, TaskScores
from evidencebench.scoring.measures import aspect_recall
from evidencebench.scoring.selection import Selection
from evidencebench.scoring.significance import DEFAULT_RESAMPLING, Estimate, Resampling
from evidencebench.tables import printable
from evidencebench.version import __version__
from evidencebench.wording import counted


def signature(
    dataset: Dataset,
    system: str,
    *,
    task: Task,
    n: int,
    measure: str = "aspect_recall",
    rules: Rules | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
    trained_on_it: bool = False,
) -> str:
    """Return everything that decides a score, on one line, so that it can be repeated.

    Parameters
    ----------
    dataset, system, task, measure
        What was measured on what.
    n
        Instances behind the score.
    rules, resampling
        How answers were read and intervals drawn; None: the defaults.
    trained_on_it
        Whether a model of the system was trained on this data.
    """
    rules = rules or Rules()
    default = Rules()
    parts = [
        measure,
        f"task:{task.name}",
        f"data:{dataset.name}@sha256:{dataset.sha256[:12]}",
        f"system:{system}",
        *(["trained_on:this_data"] if trained_on_it else []),
        f"instances:{n}",
        f"interval:{resampling.level:g}/bootstrap/{resampling.n_draws}/seed{resampling.seed}",
    ]
    parts += [
        f"{name}:{getattr(rules, name)}"
        for name in ("over_length", "ties", "out_of_range")
        if getattr(rules, name) != getattr(default, name)
    ]
    return "|".join([*parts, f"evidencebench:{__version__}"])


def estimate_fields(estimate: Estimate) -> dict[str, float | int | None]:
    """Return an estimate as a JSON object; of one paper both ends are null."""
    return asdict(estimate)


def score_fields(scores: TaskScores, resampling: Resampling = DEFAULT_RESAMPLING) -> dict[str, Any]:
    """Return one task's scores as a JSON object: every measure with its interval, the counts, and each instance.

    A measure that is undefined on every instance is null.
    """
    estimates = scores.estimates(resampling=resampling)
    fields: dict[str, Any] = {
        measure: estimate_fields(estimates[measure]) if measure in estimates else None for measure in MEASURE_NAMES
    }
    fields |= {"n": len(scores.ids), **asdict(scores.counts), "notes": dict(scores.notes)}
    fields["per_instance"] = dict(zip(scores.ids, scores.scores["aspect_recall"].tolist(), strict=True))
    return fields


def comparison_fields(comparison: Comparison, names: tuple[str, str] = ("first", "second")) -> dict[str, Any]:
    """Return a comparison as a JSON object, the two recalls under ``recall_`` and their names."""
    test = comparison.test
    return {
        f"recall_{names[0]}": estimate_fields(comparison.first),
        f"recall_{names[1]}": estimate_fields(comparison.second),
        "difference": estimate_fields(test.difference),
        "p_value": test.p_value,
        "p_value_is_exact": test.exact,
        "minimum_detectable_difference": test.minimum_detectable,
        "n_better": test.n_better,
        "n_equal": test.n_equal,
        "n_worse": test.n_worse,
        "overlap": None if comparison.overlap is None else estimate_fields(comparison.overlap),
        f"counts_{names[0]}": asdict(comparison.first_counts),
        f"counts_{names[1]}": asdict(comparison.second_counts),
    }


def kind_breakdown(scores: TaskScores, dataset: Dataset) -> dict[str, dict[str, float]]:
    """Return, for each kind of sentence, where a system looks and what it finds there.

    Returns
    -------
    dict
        Kind (``abstract``, ``heading``, ``body``) -> ``selected``: its share of all selected sentences; ``recall``:
        mean aspect recall of its selected sentences alone; ``available``: mean aspect recall of all its sentences.
    """
    table = {kind.name.lower(): {"selected": 0.0, "recall": 0.0, "available": 0.0} for kind in Kind}
    n_selected = 0.0
    for instance_id, selection in zip(scores.ids, scores.selections, strict=True):
        instance = dataset[instance_id]
        coverage = coverage_of(instance.labels, scores.task.scope)
        n_selected += selection.size
        for kind in Kind:
            indices = frozenset(instance.query.indices_of(kind))
            masks = {index: mask for index, mask in coverage.masks.items() if index in indices}
            of_kind = Coverage(n_aspects=coverage.n_aspects, masks=masks)
            row = table[kind.name.lower()]
            row["selected"] += _expected_within(selection, indices)
            row["recall"] += aspect_recall(selection, of_kind) / len(scores.ids)
            row["available"] += aspect_recall(Selection(certain=tuple(indices)), of_kind) / len(scores.ids)
    for row in table.values():
        row["selected"] = row["selected"] / n_selected if n_selected else 0.0
    return table


def _expected_within(selection: Selection, indices: frozenset[int]) -> float:
    drawn = sum(index in indices for index in selection.tied) * selection.n_drawn / max(1, len(selection.tied))
    return sum(index in indices for index in selection.certain) + drawn


def notes_line(notes: Mapping[str, int]) -> str:
    """Return what answers note in one line: replies by class and by what read them, requests, tokens, cost, all else.

    Examples
    --------
    >>> notes_line({"reply_answered": 9, "reply_refused": 1, "requests": 10, "prompt_tokens": 41000,
    ...             "completion_tokens": 900, "cost_microusd": 12345, "truncated_sentences": 7})
    'replies: answered 9, refused 1; 10 requests; 41,000 + 900 tokens; $0.0123; 7 truncated sentences'
    >>> notes_line({"reply_answered": 9, "read_by answer line": 8, "read_by json": 1})
    'replies: answered 9; read by: answer line 8, json 1'
    >>> notes_line({"requests": 1, "truncated_sentences": 1})
    '1 request; 1 truncated sentence'
    """
    left = dict(notes)
    parts = []
    for prefix, title in (("reply_", "replies"), ("read_by ", "read by")):
        found = {name: left.pop(name) for name in notes if name.startswith(prefix)}
        shown = (f"{name.removeprefix(prefix).replace('_', ' ')} {count:,}" for name, count in found.items())
        parts += [f"{title}: {', '.join(shown)}"] if found else []
    if requests := left.pop("requests", 0):
        parts.append(counted(requests, "request"))
    prompt, completion = left.pop("prompt_tokens", 0), left.pop("completion_tokens", 0)
    if prompt or completion:
        parts.append(f"{prompt:,} + {completion:,} tokens")
    unpriced = left.pop("unpriced_replies", 0)
    if "cost_microusd" in left:
        parts.append(f"${left.pop('cost_microusd') / 1e6:,.4f}")
    if unpriced:
        parts.append(f"{counted(unpriced, 'reply', 'replies')} of unknown price")
    return "; ".join([*parts, *(f"{count:,} {_noted(name, count)}" for name, count in left.items())])


def _noted(name: str, count: int) -> str:
    """Return a note's name as words; what stands behind a space is a name of somebody's, and is left as it is."""
    ours, space, theirs = printable(name).partition(" ")
    ours = ours.removesuffix("s") if count == 1 and ours.endswith("_sentences") else ours
    return f"{ours.replace('_', ' ')}{space}{theirs}"


def percent(estimate: Estimate | None) -> str:
    """Return a mean with its interval in percent, such as ``45.0 [38.1, 51.9]``; a dash where there is none.

    Examples
    --------
    >>> percent(Estimate(mean=0.45, low=None, high=None, n=2, n_clusters=1))
    '45.0 (one paper)'
    """
    if estimate is None:
        return "-"
    if estimate.interval is None:
        return f"{100 * estimate.mean:.1f} (one paper)"
    low, high = estimate.interval
    return f"{100 * estimate.mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def score_text(estimate: Estimate) -> str:
    """Return a mean with its interval as it stands behind a signature.

    Examples
    --------
    >>> score_text(Estimate(mean=0.37, low=0.29, high=0.439, n=10, n_clusters=10))
    '0.370 [0.290, 0.439]'
    """
    if estimate.interval is None:
        return f"{estimate.mean:.3f} (one paper: no interval)"
    low, high = estimate.interval
    return f"{estimate.mean:.3f} [{low:.3f}, {high:.3f}]"


def mean_percent(scores: Mapping[str, TaskScores], task: str) -> float:
    """Return the mean aspect recall on a task in percent."""
    return float(100 * np.mean(scores[task].scores["aspect_recall"]))
