"""The leaderboard of a task, and the table of a paper, as data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from operator import attrgetter
from typing import Any, Literal, final

import numpy as np

from evidencebench.data.tasks import Task
from evidencebench.errors import RunError
from evidencebench.scoring.compare import Pair, common_values, compare_pairs, holm_text, mean_recalls
from evidencebench.scoring.controls import CONTROLS, knows_labels
from evidencebench.scoring.measures import ASPECT_RECALL, MeasureOrName, measure_key
from evidencebench.scoring.oddities import same_texts
from evidencebench.scoring.output import signature_of
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Estimate, Resampling, standard_error
from evidencebench.scoring.score_runs import NOT_MEASURED, ScoredRuns, reads_hypothesis, results_of_runs
from evidencebench.scoring.significance import ALPHA, can_be_significant, p_text, percent, ranges_from
from evidencebench.scoring.task_scores import EpochSpread, TaskScores
from evidencebench.tables import LONGEST_NAME, Column, printable
from evidencebench.wording import counted, did_you_mean, one_line


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WrongHypothesis:
    """What a run of the same system scores when it is asked another paper's hypothesis."""

    recall: Estimate
    difference: Estimate  # own - wrong
    p_holm: float | None  # over the runs of the task; None where nothing can be tested
    p_text: str


def name_of_row(systems: Sequence[str]) -> str:
    """Return the name of systems that share a row: ``cues = finder``, or ``cues = 3 others``."""
    first, *others = systems
    all_names = " = ".join(systems)
    is_short = not others or (len(others) == 1 and len(all_names) <= LONGEST_NAME)
    return all_names if is_short else f"{first} = {counted(len(others), 'other')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    system: str
    recall: Estimate  # or the mean of another measure
    measure: str = ASPECT_RECALL.key
    rank: tuple[int, int] | None  # best and worst that it can claim; None for a system that knows the labels
    n: int
    failed: int
    empty: int
    missing: int
    is_control: bool  # computed here, beside the runs
    signature: str | None  # None for a control
    trained_on_it: bool | None = None  # None where the run cannot say
    wrong_hypothesis: WrongHypothesis | None = None  # None: it was not measured
    reads_hypothesis: bool | None = None  # as the system declares; None for a control
    epochs: EpochSpread | None = None  # None where each instance was asked once
    same_answers: tuple[str, ...] = ()  # where others have its very answers: all of them, itself too; they share ranks

    def __repr__(self) -> str:
        rank = "" if self.rank is None else f"rank {self.rank[0]}..{self.rank[1]}"
        mean = f"{self.measure.replace('_', ' ')} {self.recall.mean:.3f}"
        return one_line(self, repr(self.system), mean, f"n={self.n}", rank)

    @property
    def systems(self) -> tuple[str, ...]:
        return self.same_answers or (self.system,)

    @property
    def name(self) -> str:
        """The system, with those that have its answers: ``cues = finder``, or ``cues = 3 others``."""
        return name_of_row(self.systems)

    @property
    def unfinished(self) -> str:
        """Such as ``3 of 12``, since no answer scores 0, so that the mean is too low; empty where all have one."""
        n_answers = self.n * self.n_epochs
        return f"{n_answers - self.missing:,} of {n_answers:,}" if self.missing else ""

    @property
    def n_epochs(self) -> int:
        return 1 if self.epochs is None else len(self.epochs.means)

    @property
    def rank_text(self) -> str:
        return "" if self.rank is None else "-".join(map(str, dict.fromkeys(self.rank)))

    @property
    def wrong_text(self) -> str:
        if self.wrong_hypothesis is not None:
            return f"{100 * self.wrong_hypothesis.recall.mean:.1f}, {self.wrong_hypothesis.p_text}"
        return {None: "", True: NOT_MEASURED, False: "never reads it"}[self.reads_hypothesis]

    def fields(self) -> dict[str, Any]:
        given = asdict(self)
        key = given.pop("measure")
        return {key if name == "recall" else name: value for name, value in given.items()}


@dataclass(frozen=True, slots=True)
class BoardColumn(Column[Standing]):
    """A column of every leaderboard: of tables, the report and CSV. To add one, add an entry to `COLUMNS`."""

    page_heading: str = ""  # in the report; empty: not shown


COLUMNS: tuple[BoardColumn, ...] = (
    BoardColumn(
        "mean",
        "aspect recall",
        lambda row: row.recall.mean,
        lambda row: percent(row.recall),
        page_heading="aspect recall, %",
    ),
    BoardColumn("low", "", lambda row: row.recall.low),
    BoardColumn("high", "", lambda row: row.recall.high),
    BoardColumn("", "ranks", lambda row: row.rank_text, page_heading="ranks"),
    BoardColumn("rank_best", "", lambda row: row.rank and row.rank[0]),
    BoardColumn("rank_worst", "", lambda row: row.rank and row.rank[1]),
    BoardColumn("n", "n", attrgetter("n"), page_heading="instances"),
    BoardColumn("", "", lambda row: row.recall.n_clusters, page_heading="reviews or papers"),
    BoardColumn(
        "wrong_hypothesis",
        "wrong hypothesis",
        lambda row: row.wrong_hypothesis and row.wrong_hypothesis.recall.mean,
        lambda row: row.wrong_text,
    ),
    BoardColumn("wrong_p_holm", "", lambda row: row.wrong_hypothesis and row.wrong_hypothesis.p_holm),
    *(BoardColumn(name, "", attrgetter(name), page_heading=name) for name in ("failed", "empty", "missing")),
    *(BoardColumn(name, "", attrgetter(name)) for name in ("is_control", "signature", "trained_on_it")),
    BoardColumn("epochs", "epochs", attrgetter("n_epochs")),
    BoardColumn(
        "epoch_deviation",
        "± of epochs",
        lambda row: row.epochs and row.epochs.deviation,
        lambda row: row.epochs and f"{100 * row.epochs.deviation:.1f}",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The rows, the best first, and the pairs of ranked systems; a control that is also among the runs has one row."""

    standings: tuple[Standing, ...]
    pairs: tuple[Pair[Standing], ...]

    @property
    def merged(self) -> "Board":
        """The board with one row for all that have the same answers, as readers see it."""
        rows = tuple(row for row in self.standings if row.system == row.systems[0])
        shown = set(map(id, rows))
        pairs = tuple(pair for pair in self.pairs if {id(pair.first), id(pair.second)} <= shown)
        return Board(standings=rows, pairs=pairs)

    @property
    def sameness(self) -> str:
        """The systems that share a row, in words; empty without any."""
        shared = dict.fromkeys(printable(" = ".join(row.same_answers)) for row in self.standings if row.same_answers)
        return f"{'; '.join(shared)}: the same answers, so they share a row and count once" if shared else ""

    def __repr__(self) -> str:
        return one_line(self, counted(len(self.standings), "system"), ", ".join(row.system for row in self.standings))

    @property
    def ranked(self) -> tuple[Standing, ...]:
        return tuple(row for row in self.standings if row.rank is not None)

    @property
    def can_tell_apart(self) -> bool:
        return any(can_be_significant(pair.test, pair.adjusted) for pair in self.pairs)

    def pair(self, first: Standing, second: Standing) -> Pair[Standing]:
        return next(pair for pair in self.pairs if {id(pair.first), id(pair.second)} == {id(first), id(second)})

    def level_with(self, row: Standing) -> tuple[Standing, ...]:
        level = [pair for pair in self.pairs if not pair.is_significant and row in (pair.first, pair.second)]
        return tuple(pair.second if pair.first is row else pair.first for pair in level)

    def level_groups(self) -> tuple[tuple[Standing, ...], ...]:
        """Group systems whose difference is not significant; a system may be in several groups.

        A compact letter display (Piepho, Journal of Computational and Graphical Statistics 13, 2004).
        """
        ranked = self.ranked
        place_of = {id(row): place for place, row in enumerate(ranked)}
        level = {
            frozenset((place_of[id(pair.first)], place_of[id(pair.second)]))
            for pair in self.pairs
            if not pair.is_significant
        }
        groups: list[list[int]] = []
        remaining = sorted(level, key=lambda pair: (min(pair), -max(pair)))
        while remaining:
            group = sorted(remaining[0])
            for place in range(len(ranked)):
                if place not in group and all(frozenset((place, other)) in level for other in group):
                    group.append(place)
            groups.append(sorted(group))
            remaining = [pair for pair in remaining if not pair <= set(group)]
        return tuple(tuple(ranked[place] for place in group) for group in sorted(groups))


def board_of(
    scored: ScoredRuns,
    task: Task,
    resampling: Resampling = DEFAULT_RESAMPLING,
    measure: MeasureOrName = ASPECT_RECALL,
) -> Board:
    """Return the systems of a task by their mean, over the instances where the measure is defined for all of them."""
    # By label, and whether it is a control: a run may have a control's name.
    columns = {(label, False): scores[task.name] for label, scores in scored.scores.items()} | {
        (name, True): scores[task.name]
        for name, scores in scored.controls.items()
        if task.name in scores and run_of_control(scored, name, task) is None
    }
    means = dict(zip(columns, mean_recalls(list(columns.values()), resampling, measure), strict=True))
    order = sorted(columns, key=lambda key: -means[key].mean)
    ceilings = [(label, False) for label, run in scored.runs.items() if knows_labels(run)]
    ceilings += [(name, True) for name, control in CONTROLS.items() if control.knows_labels]
    ranked, controls = [key for key in order if key not in ceilings], [key for key in order if key[1]]
    how: dict[str, Any] = {"measure": measure, "resampling": resampling, "with_overlaps": False}
    pairs = compare_pairs(columns, list(combinations(ranked, 2)), controls, **how)
    p_values = {(pair.first, pair.second): pair.p_value for pair in pairs}
    wrong = _wrong_hypotheses(scored, task, resampling, measure)
    alike = _same_answers(scored, columns, ranked, task)
    first_of = {(label, False): (systems[0], False) for systems in alike for label in systems}
    distinct = {key: means[key].mean for key in ranked if first_of.get(key, key) == key}
    rank_of = ranges_from(distinct, {pair: p for pair, p in p_values.items() if set(pair) <= distinct.keys()})
    rows = {
        (label, is_control): Standing(
            system=label,
            recall=means[label, is_control],
            measure=measure_key(measure, columns[label, is_control].scores),
            rank=rank_of.get(first_of.get((label, is_control), (label, is_control))),
            n=len(columns[label, is_control].ids),
            **{name: getattr(columns[label, is_control].counts, name) for name in ("failed", "empty", "missing")},
            is_control=is_control,
            signature=None if is_control else signature_of(scored, label, task, resampling, measure),
            trained_on_it=False if is_control else scored.trained_on_it(label),
            wrong_hypothesis=None if is_control else wrong.get(label),
            reads_hypothesis=None if is_control else reads_hypothesis(scored.runs[label]),
            epochs=columns[label, is_control].epochs,
            same_answers=() if is_control else next((systems for systems in alike if label in systems), ()),
        )
        for label, is_control in order
    }
    of_rows = (
        Pair(rows[pair.first], rows[pair.second], pair.comparison, pair.adjusted, is_apart=pair.is_apart)
        for pair in pairs
    )
    return Board(standings=tuple(rows.values()), pairs=tuple(of_rows))


def _same_answers(
    scored: ScoredRuns, columns: Mapping[tuple[str, bool], TaskScores], ranked: Sequence[tuple[str, bool]], task: Task
) -> list[tuple[str, ...]]:
    """Return groups of runs with the same answers; a run that stands for a control, or saw the data, is apart."""
    controls = {run_of_control(scored, name, task) for name in scored.controls if task.name in scored.controls[name]}
    groups: dict[object, list[str]] = {}
    for key in ranked:
        label, is_control = key
        if not is_control and label not in controls:
            counts = [getattr(columns[key].counts, name) for name in ("failed", "empty", "missing")]
            groups.setdefault((columns[key].answer_keys, *counts, scored.trained_on_it(label)), []).append(label)
    return [tuple(labels) for labels in groups.values() if len(labels) > 1]


def _wrong_hypotheses(
    scored: ScoredRuns, task: Task, resampling: Resampling, measure: MeasureOrName
) -> dict[str, WrongHypothesis]:
    results = results_of_runs(replace(scored, tasks=(task,)), resampling, ["wrong_hypothesis"], measure)
    return {
        result.system: WrongHypothesis(
            recall=result.comparison.second,
            difference=result.comparison.test.difference,
            p_holm=result.p_value,
            p_text=p_text(result.adjusted, "p"),
        )
        for result in results
    }


def run_of_control(scored: ScoredRuns, control: str, task: Task) -> str | None:
    """Return the label of the run that replaces a control: it has its name, and its score on every instance."""
    computed = scored.controls[control][task.name].recalls
    for label, run in scored.runs.items():
        is_named = run.header is not None and run.header.control is None and run.header.system.name == control
        if is_named and np.array_equal(scored.scores[label][task.name].recalls, computed):
            return label
    return None


BEST = "best"  # the reference that is the system with the highest mean on each task
NO_REFERENCE = "none"

Sort = Literal["run", "control", "ceiling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemCell:
    recall: Estimate
    standard_error: float | None  # robust to clusters; None for a single one
    is_best: bool  # the highest mean of a run on its task, to the digits that are shown
    p_value: float | None = None  # as of `compare`
    p_holm: float | None = None  # adjusted as by `compare_pairs`
    wrong_hypothesis: WrongHypothesis | None = None  # None: it was not measured
    wrong_text: str = ""
    epoch_deviation: float | None = None  # standard deviation of the epochs' means; None of one epoch

    @property
    def differs(self) -> bool:
        return self.p_holm is not None and self.p_holm < ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRow:
    """A system: a run, a control, or a ceiling, which knows the labels; by task, its scores and its cells."""

    name: str
    sort: Sort
    label: str  # the run's label, or the control's name
    trained_on_it: bool | None
    scores: Mapping[str, TaskScores]
    cells: dict[str, SystemCell] = field(default_factory=dict)

    @property
    def is_ranked(self) -> bool:
        return self.sort != "ceiling" and not self.trained_on_it


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemsTable:
    """Systems x tasks: runs in the order given, then controls, then ceilings."""

    tasks: tuple[Task, ...]
    rows: tuple[SystemRow, ...]
    reference: str | None  # `BEST` or the name of a row
    holm: str  # over what p is adjusted; empty without a test
    same: Mapping[str, str]  # system -> the words of `same_texts`

    def __repr__(self) -> str:
        tasks = ", ".join(task.name for task in self.tasks)
        return one_line(self, f"{len(self.rows)} systems", tasks, f"against {self.reference}")


def systems_table(
    scored: ScoredRuns,
    *,
    names: Mapping[str, str] | None = None,
    against: str = BEST,
    resampling: Resampling = DEFAULT_RESAMPLING,
    measure: MeasureOrName = ASPECT_RECALL,
) -> SystemsTable:
    """Return the table of scored runs, with ``names`` by label, and controls, with the p-values of the leaderboard.

    One that knows the labels or was trained on the data is neither the best nor tested, and no control is the best.
    """
    boards = {task.name: board_of(scored, task, resampling, measure) for task in scored.tasks}
    rows = _rows(scored, boards, names or {})
    by_name = {row.name: row for row in rows.values()}
    if against not in {BEST, NO_REFERENCE}:
        _check_reference(against, by_name)
    can_differ = False
    for task, board in boards.items():
        places = [(rows[place.system, place.is_control], place) for place in board.standings]
        values, clusters = common_values([row.scores[task] for row, _ in places], measure)
        recalls = {row.name: place.recall.mean for row, place in places if row.sort == "run" and row.is_ranked}
        best = max(recalls, key=recalls.__getitem__, default="")
        tests: dict[tuple[str, str], Pair[Standing]] = {}
        for pair in board.pairs if against != NO_REFERENCE else ():
            first, second = (rows[place.system, place.is_control] for place in (pair.first, pair.second))
            if first.is_ranked and second.is_ranked:
                tests[first.name, second.name] = tests[second.name, first.name] = pair
        can_differ = can_differ or any(pair.adjusted for pair in tests.values())
        for (row, place), of_row in zip(places, np.ascontiguousarray(values.T), strict=True):
            test = tests.get((row.name, best if against == BEST else against))
            row.cells[task] = SystemCell(
                recall=place.recall,
                standard_error=standard_error(of_row, clusters),
                is_best=row.name in recalls and round(100 * place.recall.mean, 1) == round(100 * recalls[best], 1),
                p_value=None if test is None else test.test.p_value,
                p_holm=None if test is None else test.p_value,
                wrong_hypothesis=place.wrong_hypothesis,
                wrong_text=place.wrong_text,
                epoch_deviation=place.epochs and place.epochs.deviation,
            )
    return SystemsTable(
        tasks=scored.tasks,
        rows=tuple(rows.values()),
        reference=None if against == NO_REFERENCE else against,
        holm=holm_text(pair for board in boards.values() for pair in board.pairs) if can_differ else "",
        same=same_texts({row.name: row.scores for row in rows.values()}),
    )


def _rows(
    scored: ScoredRuns, boards: Mapping[str, Board], names: Mapping[str, str]
) -> dict[tuple[str, bool], SystemRow]:
    """Return a row for each label of a run, and each name of a control that a board has, and whether it is one."""
    rows: dict[tuple[str, bool], SystemRow] = {}
    for label, run in scored.runs.items():
        sort: Sort = "ceiling" if knows_labels(run) else "run"
        trained_on_it = scored.trained_on_it(label) if sort == "run" else False
        name, scores = names.get(label, label), scored.scores[label]
        rows[label, False] = SystemRow(name=name, sort=sort, label=label, trained_on_it=trained_on_it, scores=scores)
    for name in sorted(scored.controls, key=lambda name: CONTROLS[name].knows_labels):
        sort = "ceiling" if CONTROLS[name].knows_labels else "control"
        on_boards = {
            task: scored.controls[name][task]
            for task, board in boards.items()
            if any(place.is_control and place.system == name for place in board.standings)
        }
        if on_boards:
            rows[name, True] = SystemRow(name=name, sort=sort, label=name, trained_on_it=False, scores=on_boards)
    for name, n in Counter(row.name for row in rows.values()).items():
        if n > 1:
            raise RunError(f"two systems of the table have the name '{name}'; give one of them another with --name")
    return rows


def _check_reference(against: str, rows: Mapping[str, SystemRow]) -> None:
    ranked = [row.name for row in rows.values() if row.is_ranked]
    if against not in rows:
        known = ", ".join(f"'{name}'" for name in ranked)
        raise RunError(
            f"against '{against}'{did_you_mean(against, ranked)}: no such system in the table; expected {BEST}, "
            f"{NO_REFERENCE} or a name among {known}"
        )
    if against not in ranked:
        why = "knows the labels" if rows[against].sort == "ceiling" else "was trained on this data"
        raise RunError(f"against '{against}': it {why}, so that a test would say nothing; name another system")
