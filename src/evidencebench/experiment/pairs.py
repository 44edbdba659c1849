"""By how much systems differ, pair by pair, and whether they use the hypothesis."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import combinations, count, groupby, product
from string import ascii_uppercase
from typing import Any

from evidencebench.data.dataset import Dataset
from evidencebench.experiment.result_table import ResultTable, comparison_chart, head_of, label_of
from evidencebench.runs.oddities import TRAINED_ON_IT
from evidencebench.scoring.compare import OWN, Comparison, ControlResult, Pair, compare_pairs, holm_text
from evidencebench.scoring.controls import knows_labels
from evidencebench.scoring.measures import ASPECT_RECALL, MeasureOrName
from evidencebench.scoring.output import comparison_fields, signature, signature_of, signature_of_all
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling
from evidencebench.scoring.score_runs import ScoredRuns
from evidencebench.scoring.significance import ALPHA, estimate_columns, mean_or_none, p_text, percent
from evidencebench.tables import Cell, Column, Row, Table, share_column, table_for_csv, table_for_readers

_SEEN = f"† {TRAINED_ON_IT}"


def comparison_result(
    scored: ScoredRuns,
    resampling: Resampling = DEFAULT_RESAMPLING,
    measure: MeasureOrName = ASPECT_RECALL,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    details: bool = True,
    on_progress: Callable[[int, int], object] = lambda *_: None,
) -> ResultTable[tuple[Pair[str], ...]]:
    """Compare pairs of runs by their labels, on every task; None: every two. Several are shown as a matrix a task.

    ``details`` adds the tables of each pair, which one pair always has.
    """
    labels = list(scored.runs)
    pairs = list(combinations(labels, 2)) if pairs is None else list(pairs)
    ceilings = [label for label, run in scored.runs.items() if knows_labels(run)]
    compared: list[Pair[str]] = []
    for number, task in enumerate(scored.tasks, 1):
        scores = {label: scored.scores[label][task.name] for label in labels}
        compared += compare_pairs(scores, pairs, ceilings, measure=measure, resampling=resampling)
        on_progress(number, len(scored.tasks))
    ordered = sorted(compared, key=lambda pair: pairs.index((pair.first, pair.second)))
    known = [label for label in labels if scored.trained_on_it(label)]
    shows_pairs = details or len(pairs) == 1
    return ResultTable(
        found=tuple(ordered),
        tables=(
            *(_matrices(ordered, known, label_of(measure), resampling.test_name) if len(pairs) > 1 else ()),
            *(_details(ordered, known) if shows_pairs else ()),
        ),
        figures=_pairs_csv(ordered, known),
        fields={**head_of(scored), "pairs": [_pair_fields(pair, scored, resampling, measure) for pair in ordered]},
        signatures=tuple(
            signature_of(scored, label, task, resampling, measure) for label in labels for task in scored.tasks
        )
        if shows_pairs
        else tuple(signature_of_all(scored, label, resampling, measure) for label in labels),
        chart=partial(comparison_chart, ordered, scored.dataset.name, label_of(measure), resampling) if pairs else None,
    )


def _pair_fields(pair: Pair[str], scored: ScoredRuns, resampling: Resampling, measure: MeasureOrName) -> dict[str, Any]:
    task, labels = pair.comparison.task, (pair.first, pair.second)
    return {
        "first": pair.first,
        "second": pair.second,
        "task": task.name,
        **comparison_fields(pair.comparison),
        "p_value_holm": pair.p_value,
        "trained_on_it": list(map(scored.trained_on_it, labels)),
        "signatures": [signature_of(scored, label, task, resampling, measure) for label in labels],
    }


def _matrices(compared: Sequence[Pair[str]], trained_on_it: Sequence[str], measured: str, test: str) -> list[Table]:
    """Return a table for each task; ``trained_on_it`` are the labels of runs whose models were trained on this data."""
    labels = list(dict.fromkeys(label for pair in compared for label in (pair.first, pair.second)))
    names = ("".join(letters) for length in count(1) for letters in product(ascii_uppercase, repeat=length))
    letters = dict(zip(labels, names, strict=False))  # A, B, ..., Z, AA, AB, ...
    tables = []
    notes = [f"* p < {ALPHA}, {test}, {holm_text(compared)}", *([_SEEN] if trained_on_it else [])]
    for task in dict.fromkeys(pair.comparison.task.name for pair in compared):
        differences: dict[tuple[str, str], str] = {}
        means: dict[str, float] = {}
        for pair in (pair for pair in compared if pair.comparison.task.name == task):
            star = "*" if pair.p_value < ALPHA else ""
            points = round(100 * pair.comparison.test.difference.mean, 1)
            differences[pair.first, pair.second] = f"{points:+.1f}{star}"
            differences[pair.second, pair.first] = f"{-points + 0.0:+.1f}{star}"
            means |= {pair.first: pair.comparison.first.mean, pair.second: pair.comparison.second.mean}
        rows: list[list[Cell]] = [
            [
                f"{letters[label]} {label}{' †' if label in trained_on_it else ''}",
                100 * means[label],
                *(differences.get((label, other), "") for other in labels),
            ]
            for label in labels
        ]
        title = f"{task}: {measured} in %, and the difference row - column in points"
        tables.append(Table(title=title, columns=["run", "mean", *letters.values()], rows=rows, notes=notes))
    return tables


def _pairs_csv(compared: Sequence[Pair[str]], trained_on_it: Sequence[str]) -> Table:
    columns: list[Column[Pair[str]]] = [
        Column("first", "", lambda pair: pair.first),
        Column("second", "", lambda pair: pair.second),
        *_PAIR_COLUMNS.values(),
        Column("trained_on_it_first", "", lambda pair: pair.first in trained_on_it),
        Column("trained_on_it_second", "", lambda pair: pair.second in trained_on_it),
    ]
    return table_for_csv(columns, compared)


def _details(compared: Sequence[Pair[str]], trained_on_it: Sequence[str]) -> Iterator[Table]:
    for labels, group in groupby(compared, key=lambda pair: (pair.first, pair.second)):
        pairs = list(group)
        first, second = (f"{label}{' †' if label in trained_on_it else ''}" for label in labels)
        yield table_for_readers(_DIFFERENCES, pairs, title=f"first: {first}\nsecond: {second}")
        yield table_for_readers(_DETAILS, pairs, notes=[_SEEN] if {*labels} & {*trained_on_it} else [])


def _comparison_columns(
    comparison: Callable[[Row], Comparison],
    names: tuple[str, str],
    *,
    difference: str,
    p_holm: Callable[[Row], float | None],
    p_text: Callable[[Row], str],
) -> dict[str, Column[Row]]:
    """Return name -> column, in the order of CSV; ``difference`` is a heading."""
    first, second = names
    columns: list[Column[Row]] = [
        Column("task", "task", lambda row: comparison(row).task.name),
        share_column(f"mean_{first}", first, lambda row: comparison(row).first.mean),
        share_column(f"mean_{second}", second, lambda row: comparison(row).second.mean),
        *estimate_columns(("difference", "low", "high"), difference, lambda row: comparison(row).test.difference),
        Column("p", "", lambda row: comparison(row).test.p_value),
        Column("p_holm", "p (Holm)", p_holm, p_text),
        Column("n", "n", lambda row: comparison(row).test.difference.n),
        Column("better", "better", lambda row: comparison(row).test.n_better),
        Column("equal", "equal", lambda row: comparison(row).test.n_equal),
        Column("worse", "worse", lambda row: comparison(row).test.n_worse),
        share_column("overlap", "overlap, %", lambda row: mean_or_none(comparison(row).overlap)),
        share_column("detectable", "detectable", lambda row: comparison(row).test.minimum_detectable),
        Column(f"unanswered_{first}", "", lambda row: comparison(row).first_counts.unanswered),
        Column(f"unanswered_{second}", "", lambda row: comparison(row).second_counts.unanswered),
    ]
    return {column.name: column for column in columns}


_PAIR_COLUMNS: dict[str, Column[Pair[str]]] = _comparison_columns(
    lambda pair: pair.comparison,
    ("first", "second"),
    difference="difference",
    p_holm=lambda pair: pair.p_value,
    p_text=lambda pair: pair.p_text,
)
_DIFFERENCES = [_PAIR_COLUMNS[name] for name in ("task", "mean_first", "mean_second", "difference", "p_holm", "n")]
_DETAILS: list[Column[Pair[str]]] = [
    _PAIR_COLUMNS["task"],
    Column("", "overlap in %", lambda pair: percent(pair.comparison.overlap)),
    *(_PAIR_COLUMNS[name] for name in ("better", "equal", "worse", "detectable")),
    Column(
        "",
        "unanswered",
        lambda pair: f"{pair.comparison.first_counts.unanswered}, {pair.comparison.second_counts.unanswered}",
    ),
]


def control_result(
    results: Sequence[ControlResult],
    systems: Mapping[str, str],
    dataset: Dataset,
    resampling: Resampling,
    measure: MeasureOrName = ASPECT_RECALL,
) -> ResultTable[tuple[ControlResult, ...]]:
    """Return the tables of what changed queries do to systems; ``systems`` has the signature of each."""
    groups: dict[tuple[str, str], list[ControlResult]] = {}
    for result in results:
        groups.setdefault((result.control, result.comparison.task.name), []).append(result)
    return ResultTable(
        found=tuple(results),
        tables=tuple(
            _control_table(control, task, members, label_of(measure)) for (control, task), members in groups.items()
        ),
        figures=table_for_csv(_CONTROL_CSV, results),
        fields=list(map(_control_fields, results)),
        signatures=tuple(_control_signatures(results, systems, dataset, resampling)),
    )


_SHORT = {"wrong hypothesis": "wrong", "shuffled words": "shuffled"}


def _control_table(control: str, task: str, members: Sequence[ControlResult], label: str) -> Table:
    kind = control.partition("=")[0].partition(":")[0].replace("_", " ")
    heads = {OWN: "original", "changed": _SHORT.get(kind, kind)}
    columns = [replace(column, heading=heads.get(column.heading, column.heading)) for column in _CONTROL_READERS]
    title = f"{control}, {task}: {label} in %"
    if distractor := members[0].distractor:
        columns = [*columns, _distractor_column("selection", "distractor, %")]
        title = f"{title}; {100 * distractor.sentences.mean:.1f} % of all sentences are the distractor's"
    untested = "* not tested: too few papers differ"
    notes = [untested] if any(result.adjusted is None for result in members) else []
    meaning = "If score and selection barely change, the system is not using the hypothesis."
    return table_for_readers(columns, members, title=title, notes=[*notes, meaning])


def _control_fields(result: ControlResult) -> dict[str, Any]:
    return {
        "system": result.system,
        "control": result.control,
        "task": result.comparison.task.name,
        **comparison_fields(result.comparison, (OWN, "changed")),
        "p_value_holm": result.p_value,
        "can_differ": result.comparison.can_differ,
        "reads_hypothesis": result.reads_hypothesis,
        "distractor": None if result.distractor is None else asdict(result.distractor),
    }


_CONTROL_COLUMNS: dict[str, Column[ControlResult]] = _comparison_columns(
    lambda result: result.comparison,
    (OWN, "changed"),
    difference="difference",
    p_holm=lambda result: result.p_value,
    p_text=lambda result: "*" if result.adjusted is None else p_text(result.adjusted),
)
_CONTROL_SYSTEM: Column[ControlResult] = Column("system", "system", lambda result: result.system)
_CONTROL_READERS = [
    _CONTROL_SYSTEM,
    *(_CONTROL_COLUMNS[name] for name in ("mean_own", "mean_changed", "difference", "p_holm", "overlap")),
]


def _distractor_column(share: str, heading: str = "") -> Column[ControlResult]:
    return share_column(
        f"distractor_{share}",
        heading,
        lambda result: result.distractor and mean_or_none(getattr(result.distractor, share)),
    )


_CONTROL_CSV: list[Column[ControlResult]] = [
    _CONTROL_SYSTEM,
    Column("control", "", lambda result: result.control),
    *_CONTROL_COLUMNS.values(),
    Column("reads_hypothesis", "", lambda result: result.reads_hypothesis),
    *map(_distractor_column, ("sentences", "selection", "recall")),
]


def _control_signatures(
    results: Sequence[ControlResult], systems: Mapping[str, str], dataset: Dataset, resampling: Resampling
) -> Iterator[str]:
    """Yield one signature for each system and task, which names all controls."""
    controls = "+".join(dict.fromkeys(result.control for result in results))
    comparisons = {(result.system, result.comparison.task.name): result.comparison for result in results}
    for (name, _), comparison in comparisons.items():
        label, n = f"{systems[name]}[own - {controls}]", comparison.test.difference.n
        yield signature(dataset, label, task=comparison.task, n=n, resampling=resampling)
