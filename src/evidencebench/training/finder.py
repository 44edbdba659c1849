"""Train a finder."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, get_args

import msgspec
import numpy as np

from evidencebench.data.instance import Instance
from evidencebench.errors import DataError, UndefinedScoreError
from evidencebench.files.atomic import write_folder
from evidencebench.files.disk import PathText
from evidencebench.models.model_card import CARD, require_replaceable
from evidencebench.provenance import require_extra
from evidencebench.query import AspectScope, Goal, Query
from evidencebench.systems.changed_queries import draw_distractors, with_distractor
from evidencebench.systems.features import Feature
from evidencebench.systems.finder import (
    FEATURE_NAMES,
    FINDER_FEATURES,
    Asks,
    Calibration,
    FinderCard,
    FinderMember,
    FinderModel,
    Table,
    asked_columns,
    finder_table,
    lowered,
    numbered,
    predicted,
    reordered,
)
from evidencebench.systems.question import kind_asked, question_of
from evidencebench.systems.trees import Forest, Tree, mean_forest
from evidencebench.systems.verdict import VerdictWeights, paper_signs, parts_held
from evidencebench.systems.words import Flags, Floats, Indices
from evidencebench.training.folds import TrainingProgress, data_entries, inner_folds, split_at_fold, version_entries
from evidencebench.training.verdicts import NO_FOREIGN, Foreign, fit_verdict, foreign_papers

SCOPES: tuple[AspectScope, ...] = ("all", "results")

WORDINGS: Mapping[str, str] = MappingProxyType(
    {
        "as converted": "{I}, compared with {C}, changes {O}.",
        "does it affect": "Does {i} affect {o} compared with {c}?",
        "it reduces": "{I} reduces {o} compared to {c}.",
        "what is the effect": "What is the effect of {i} versus {c} on {o}?",
        "keywords": "{i} {c} {o}",
        "negated": "{I} does not improve {o} compared with {c}.",
        "without comparator": "Does {i} affect {o}?",
        "is it lower": "Is {o} lower with {i} than with {c}?",
    }
)
"""How people ask what a comparison was converted to; small letters stand for parts within a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinderExample:
    table: Table
    shares: dict[AspectScope, Floats]  # for each scope that has aspects, the share of them that each sentence states
    kind: str = ""  # of question, see `kind_asked`
    of_parts: Sequence[float] = ()  # the signs of the paper that need no scores
    is_foreign: bool = False  # whether the paper is another than the one that is asked about, so that nothing answers
    is_absent: bool = False  # whether the paper is the one that is asked about, and does not answer

    @property
    def is_evidence(self) -> Flags:
        return self.shares["all"] > 0 if "all" in self.shares else np.zeros(len(self.table), bool)


def goal_of(instance: Instance) -> Goal:
    """Return what an instance's makers marked; the published files say nothing, and are of the sort ``"study"``."""
    return instance.query.goal or "study"


def in_other_words(hypothesis: str, wording: str) -> str:
    """Return a hypothesis that a comparison was converted to in one of `WORDINGS`; any other as it is.

    >>> in_other_words("Tea, compared with water, changes blood pressure.", "without comparator")
    'Does tea affect blood pressure?'
    """
    question = question_of(hypothesis)
    arms = (question.intervention, question.comparator, question.outcome)
    converted = WORDINGS["as converted"]
    if hypothesis != converted.format(**dict(zip("ICO", arms, strict=True))):
        return hypothesis
    # "Tea" becomes "tea", "DVT" stays.
    within = [part[:1].lower() + part[1:] if part[1:2].islower() else part for part in arms]
    return WORDINGS[wording].format(**dict(zip("ICOico", (*arms, *within), strict=True)))


_Asked = tuple[Query, int | None]  # the number of sentences before the paper's own; None: it is another paper


def finder_examples(
    instances: Sequence[Instance],
    folder: Path,
    *,
    features: Sequence[str] = FEATURE_NAMES,
    mixed: bool,
    pools: bool = True,
    foreign: Foreign = NO_FOREIGN,
    seed: int,
    on_read: Callable[[], object] = lambda: None,
) -> list[list[FinderExample]]:
    """Return the examples of each instance: its paper alone and, if ``mixed``, asked otherwise and by other papers.

    With ``pools``, its paper with another one's sentences beside is one of them.

    Then each is asked in one of `WORDINGS`, and the ``foreign`` papers are asked the same, each after the own. The
    tables lie in a file without a name in the folder, which is free again when they are no longer used.
    Raises `DataError` where it cannot be written.
    """
    columns = [FEATURE_NAMES.index(name) for name in features]
    lengths: list[int] = []
    examples: list[list[FinderExample]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            alone: Iterator[list[_Asked]] = ([(instance.query, 0)] for instance in instances)
            all_asked = _asked(instances, foreign.others, pools=pools, seed=seed) if mixed else alone
            for instance, asked in zip(instances, all_asked, strict=True):
                examples.append([])
                for query, offset in asked:
                    paper = asked_columns(query, goal_of(instance))
                    file.write(np.ascontiguousarray(finder_table(paper)[:, columns]).data)
                    lengths.append(paper.n)
                    example = FinderExample(
                        table=np.zeros((0, len(columns)), np.float32),  # it is read from the file below
                        shares={} if offset is None else _shares(instance, paper.n, offset),
                        kind=kind_asked(query.hypothesis),
                        of_parts=parts_held(paper.relevance, foreign.common) if foreign.common else (),
                        is_foreign=offset is None,
                        is_absent=offset == 0 and not instance.labels.aspects,
                    )
                    examples[-1].append(example)
                on_read()
            file.flush()
            shape = (sum(lengths), len(columns))
            rows = np.memmap(file, np.float32, "r", shape=shape) if shape[0] else np.zeros(shape, np.float32)
    except OSError as error:
        raise DataError(
            f"{folder}: the table of features cannot be written: {error.strerror}; it needs {4 * len(columns)} bytes a "
            "sentence beside the model's folder"
        ) from error
    tables = iter(np.split(rows, np.cumsum(lengths)[:-1]))
    return [[replace(example, table=next(tables)) for example in together] for together in examples]


def _asked(
    instances: Sequence[Instance], others: Mapping[str, Query], *, pools: bool, seed: int
) -> Iterator[list[_Asked]]:
    """Yield the queries of each instance: alone, of another paper if there is one, and beside another paper.

    Where all papers were asked the same questions, as at the desk of a review, no paper is foreign to another's.
    """
    queries = {instance.id: instance.query for instance in instances}
    asked_of = {(query.paper_id, query.hypothesis) for query in queries.values()}
    generator = np.random.default_rng(seed)
    try:
        distractors = draw_distractors(queries.values(), generator) if pools else {}
    except UndefinedScoreError:
        distractors = {}
    wordings = generator.integers(len(WORDINGS), size=(len(instances), 2)).tolist()
    for instance, of_instance in zip(instances, wordings, strict=True):
        alone, beside = (
            replace(instance.query, hypothesis=in_other_words(instance.query.hypothesis, tuple(WORDINGS)[number]))
            for number in of_instance
        )
        asked: list[_Asked] = [(alone, 0)]
        other = others.get(instance.query.paper_id)
        if other and (other.paper_id, instance.query.hypothesis) not in asked_of:
            asked.append((replace(other, hypothesis=alone.hypothesis), None))
        if distractor := distractors.get(instance.id):
            pool = with_distractor(beside, queries[distractor.instance_id], is_before=distractor.is_before)
            asked.append((pool.query, pool.offset))
        yield asked


def _shares(instance: Instance, n_sentences: int, offset: int) -> dict[AspectScope, Floats]:
    shares = {}
    for scope in SCOPES:
        if aspects := instance.labels.that_count(scope):
            shares[scope] = np.zeros(n_sentences)
            for aspect in aspects:
                sources = np.array(sorted(set(instance.labels.sources.get(aspect, ()))), dtype=np.intp)
                shares[scope][sources + offset] += 1 / len(aspects)
    return shares


STRENGTHS: Mapping[Goal, float] = {"answer": 0.0, "study": 0.85}
"""How much of its score a sentence loses that repeats a chosen one: an answer that is given twice was marked twice."""

MIXED: Mapping[Goal, bool] = {"answer": True, "study": False}
"""Whether papers are trained on beside another's sentences too. It helps to find what answers."""

# Small trees, a low learning rate, thresholds drawn at random and few features a tree: with some hundred papers, larger
# or more trees found no more.
_PARAMETERS: Mapping[str, Any] = {
    "objective": "regression",
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 40,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "extra_trees": True,
    "verbose": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
}
_N_TREES, _N_FORESTS, _N_ORDERS = 200, 3, 2
# Of questions there are few: smaller trees, whose thresholds are sought. What answers in part counts in part.
_OF_QUESTIONS: Mapping[str, Any] = {
    "objective": "cross_entropy",
    "num_leaves": 7,
    "min_data_in_leaf": 50,
    "lambda_l2": 10.0,
    "extra_trees": False,
}
_RIDGE = 1000.0
# Of more sentences, those that are no evidence are sampled, and of more that are, those too.
_MOST_ROWS = 150_000
_BLOCK = 100_000  # how many sentences a ridge regression reads at a time

# The table of chances: steps of at least 2 percent, of at least so many sentences.
_STEPS, _LEAST_OF_STEP = 50, 40
_LEAST_OF_KIND = 20  # questions of a kind, to say how often they are right


@dataclass(frozen=True, slots=True, kw_only=True)
class FinderTraining:
    """The training of a finder, for each goal that the data holds."""

    system: ClassVar[str] = "finder"

    asks: Asks = "effects"  # what the hypotheses are: effects in trials, or any questions and claims
    hypothesis: bool = True  # whether the model may read the hypothesis
    figures: bool = True  # whether scores are calibrated on held-back folds, which takes a third of the time

    def fit(
        self,
        instances: Sequence[Instance],
        folder: PathText,
        *,
        seed: int = 0,
        data: Mapping[str, Any] | None = None,
        on_progress: TrainingProgress | None = None,
    ) -> FinderCard:
        """Fit a model and write it into a folder; an older model there is replaced once the new one is complete.

        The features of all sentences lie in a file beside the folder until the end. ``on_progress`` is called with
        (instances read, instances in all), then with (times fitted, times in all, ``"fitting trees"``).
        """
        folder = Path(folder)
        require_extra("train finder", "train", "lightgbm", "scipy")
        require_replaceable(folder, FinderCard)
        features = tuple(feature.name for feature in FINDER_FEATURES if self._reads(feature))
        read = [(goal_of(instance), instance.query.paper_id) for instance in instances]
        papers = [paper for _, paper in read]
        all_indices = {goal: [at for at, (other, _) in enumerate(read) if other == goal] for goal in get_args(Goal)}
        indices_of: dict[Goal, list[int]] = {goal: indices for goal, indices in all_indices.items() if indices}
        examples: dict[Goal, list[list[FinderExample]]] = {}
        folds: dict[Goal, list[tuple[int, ...]]] = {}
        foreign: dict[Goal, Foreign] = {}
        report: TrainingProgress = on_progress or (lambda *_: None)
        numbers = count(1)
        for goal, indices in (indices_of or {"study": []}).items():
            paper_folds = inner_folds([papers[index] for index in indices], seed=seed, what=f"training: goal '{goal}'")
            folds[goal] = paper_folds if self.figures else []
            if MIXED[goal] and self.hypothesis:
                foreign[goal] = foreign_papers([[instances[indices[at]].query for at in fold] for fold in folds[goal]])
            examples[goal] = finder_examples(
                instances if len(indices_of) == 1 else [instances[index] for index in indices],
                folder.parent,
                features=features,
                mixed=MIXED[goal] and self.hypothesis,
                pools=self.asks == "effects",
                foreign=foreign.get(goal, NO_FOREIGN),
                seed=seed,
                on_read=lambda: report(next(numbers), len(instances)),
            )
        common = {goal: of_goal.common for goal, of_goal in foreign.items()}
        model = fit_finder(
            examples, asks=self.asks, features=features, folds=folds, common=common, seed=seed, on_progress=report
        )
        card = msgspec.structs.replace(
            model.card, data=data_entries(papers, data), versions=version_entries("lightgbm", "numpy")
        )
        write_finder(FinderModel(card, model.forests), folder)
        return card

    def _reads(self, feature: Feature) -> bool:
        if self.asks == "effects" and feature.group == "reporting":
            return False
        return self.hypothesis or not feature.reads_hypothesis


def fit_finder(
    examples: Mapping[Goal, Sequence[Sequence[FinderExample]]],
    *,
    asks: Asks = "effects",
    features: Sequence[str] = FEATURE_NAMES,
    folds: Mapping[Goal, Sequence[Sequence[int]]] = MappingProxyType({}),
    common: Mapping[Goal, Mapping[str, float]] = MappingProxyType({}),
    seed: int,
    most_rows: int = _MOST_ROWS,
    on_progress: TrainingProgress = lambda *_: None,
) -> FinderModel:
    """Return the model that is fitted to the examples of each goal, some an instance.

    ``folds`` are the positions of instances that are held back together, to calibrate scores; none: not calibrated.
    ``common`` are the roots that the examples' papers share, for a verdict.
    """
    n_all, numbers = sum(1 + len(folds.get(goal, ())) for goal in examples), count()
    on_progress(next(numbers), n_all, "fitting trees")
    members: list[FinderMember] = []
    forests: dict[str, Forest] = {}

    def named(forest: Forest) -> tuple[str, str]:
        sha256 = hashlib.sha256(forest.text().encode()).hexdigest()
        forests[name := f"trees-{sha256[:16]}.txt"] = forest
        return name, sha256

    calibrations: dict[Goal, Calibration] = {}
    verdicts: dict[Goal, VerdictWeights] = {}
    for goal, of_goal in examples.items():
        of_folds: list[list[_Told]] = []
        for fold in folds.get(goal, ()):
            seen, held_back = split_at_fold(of_goal, fold)
            # As large a share of the sentences that are no evidence as the model sees: with more of them, scores fall.
            most = most_rows * len(seen) // len(of_goal)
            fitted = _fit_regression(seen, goal, "all", features, asks=asks, seed=seed, most_rows=most)
            of_folds.append(_told(fitted, held_back, features, goal, asks))
            on_progress(next(numbers), n_all, "fitting trees")
        order = {}
        if of_folds and MIXED[goal] and common.get(goal):
            verdict = _fitted_verdict(chain(*of_folds), common[goal], asks)
            if asks == "effects":
                file, sha256 = named(_fit_order(chain(*of_folds), seed=seed))
                order = {"order": file, "order_sha256": sha256}
                of_folds = _ordered(of_folds, seed=seed)
            if verdict:
                verdicts[goal] = msgspec.structs.replace(verdict, right_first=_right_first(chain(*of_folds)))
        if own := [one for one in chain(*of_folds) if not (one.example.is_foreign or one.example.is_absent)]:
            is_evidence = np.concatenate([one.example.is_evidence for one in own])
            calibrations[goal] = calibrated(np.concatenate([one.scores for one in own]), is_evidence)
        labelled = {scope for together in of_goal for example in together for scope in example.shares}
        # What answers a hypothesis is a result, so of such judgments all evidence is the only scope.
        for scope in SCOPES if goal == "study" and "results" in labelled else SCOPES[:1]:
            forest, weights = _fit_regression(of_goal, goal, scope, features, asks=asks, seed=seed, most_rows=most_rows)
            file, sha256 = named(forest)
            members.append(FinderMember(goal=goal, scope=scope, file=file, sha256=sha256, weights=weights, **order))
        on_progress(next(numbers), n_all, "fitting trees")
    card = FinderCard(
        asks=asks,
        features=tuple(features),
        members=tuple(members),
        strengths={goal: STRENGTHS[goal] for goal in examples},
        calibrations=calibrations,
        verdicts=verdicts,
        training={"seed": seed, "n_trees": _N_TREES, "n_forests": _N_FORESTS, "parameters": _parameters(asks)},
    )
    return FinderModel(card, forests)


def write_finder(model: FinderModel, folder: Path) -> None:
    """Write a finder into a folder; the card, which names the other files, comes last, so that one with it is whole."""
    content = msgspec.json.format(msgspec.json.encode(model.card), indent=1)
    files = {name: forest.text().encode() for name, forest in model.forests.items()}
    left_by_killed = (".*.json.*.part", ".trees-*.part")
    write_folder(folder, {**files, CARD: content}, names_all=CARD, owned=("trees-*.txt", *left_by_killed))


_Fitted = tuple[Forest, tuple[float, ...]]  # trees, and weights of a linear model, if any


def _parameters(asks: Asks) -> dict[str, Any]:
    return {**_PARAMETERS, **(_OF_QUESTIONS if asks == "questions" else {})}


def _fit_regression(
    examples: Sequence[Sequence[FinderExample]],
    goal: Goal,
    scope: AspectScope,
    features: Sequence[str],
    *,
    asks: Asks,
    seed: int,
    most_rows: int,
) -> _Fitted:
    labelled = [example for together in examples for example in together if scope in example.shares]
    if not labelled:
        raise DataError("training: no instance has an aspect")
    generator = np.random.default_rng(seed)
    share = min(1.0, most_rows / sum(len(example.table) for example in labelled))
    of_evidence = min(1.0, most_rows / max(1, sum(int((example.shares[scope] > 0).sum()) for example in labelled)))
    tables, targets = [], []
    for example in labelled:
        shares = example.shares[scope]
        is_kept = generator.random(len(shares)) < np.where(shares > 0, of_evidence, share)
        tables.append(example.table[is_kept])
        # Whether a sentence answers is predicted, or its share of aspects relative to the highest.
        is_whole = goal == "answer" and asks == "effects"
        targets.append(((shares > 0).astype(float) if is_whole else shares / max(shares.max(), 1e-9))[is_kept])
    table, values = np.concatenate(tables), np.concatenate(targets)
    weights = _equal_weights(table[:, list(features).index(_STATED)] > 0) if _STATED in features else None
    forest = _grown(table, values, n_forests=_N_FORESTS, seed=seed, parameters=_parameters(asks), weights=weights)
    # A hundred papers, as those of studies are, are few for trees alone.
    return forest, _ridge(table, values) if goal == "study" else ()


_STATED = "is_stated"


def _equal_weights(is_stated: Flags) -> Floats | None:
    """Return weights with which what is stated counts as much as what is asked; None where only one of both is."""
    share = float(is_stated.mean())
    if share in {0.0, 1.0}:
        return None
    weights: Floats = np.where(is_stated, 0.5 / share, 0.5 / (1 - share))
    return weights


def _ridge(table: Table, values: Floats) -> tuple[float, ...]:
    """Return the weights of a ridge regression on standardised columns, which is solved by the normal equations."""
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(table), _BLOCK)]
    center = sum(table[block].sum(axis=0, dtype=float) for block in blocks) / len(table)
    scale = np.sqrt(sum(np.square(table[block] - center).sum(axis=0) for block in blocks) / len(table))
    scale[scale < 1e-9] = 1.0  # noqa: PLR2004 - a constant column, up to rounding, says nothing and gets no weight
    squares = _RIDGE * np.eye(len(center))
    products = np.zeros(len(center))
    for block in blocks:
        standard = (table[block] - center) / scale
        squares += standard.T @ standard
        products += standard.T @ (values[block] - values.mean())
    return tuple(np.divide(np.linalg.solve(squares, products), scale).tolist())


def _grown(
    table: Table,
    values: Floats,
    *,
    n_forests: int,
    seed: int,
    parameters: dict[str, Any],
    weights: Floats | None = None,
    groups: Sequence[int] | None = None,
) -> Forest:
    """Return the mean of several forests, since what is drawn at random moves recall by a point or two."""
    import lightgbm  # noqa: PLC0415 - an extra, and slow to import

    dataset = lightgbm.Dataset(table, values, weight=weights, group=groups, params=parameters)
    seeds = range(seed * n_forests, (seed + 1) * n_forests)
    boosters = [lightgbm.train({**parameters, "seed": one}, dataset, _N_TREES) for one in seeds]
    return mean_forest([Forest.from_lightgbm(booster.model_to_string()) for booster in boosters])


class _Told(NamedTuple):
    """What a model says of a paper that it was not trained on."""

    example: FinderExample
    scores: Floats
    best: Indices  # the sentences that a second model orders


def _told(
    fitted: _Fitted, held_back: Sequence[Sequence[FinderExample]], features: Sequence[str], goal: Goal, asks: Asks
) -> list[_Told]:
    all_told = []
    for example in (one for together in held_back for one in together if one.is_foreign or one is together[0]):
        scores, best = predicted(*fitted, example.table), np.zeros(0, np.intp)
        if asks == "questions":
            scores = numbered(scores, example.table, features)
        elif goal == "answer":
            scores, best = lowered(scores, example.table, features)
        all_told.append(_Told(example, scores, best))
    return all_told


def _fitted_verdict(all_told: Iterable[_Told], common: Mapping[str, float], asks: Asks) -> VerdictWeights | None:
    """Return what tells papers that answer from others; None where no question is known that a paper does not answer.

    Questions that people say their own paper does not answer are few, and count as much as those of other papers.
    """
    own, foreign, absent = list[list[float]](), list[list[float]](), list[list[float]]()
    for one in all_told:
        if len(one.scores):
            group = foreign if one.example.is_foreign else absent if one.example.is_absent else own
            group.append(paper_signs(one.scores, one.example.of_parts))
    other = foreign + absent * max(1, len(foreign) // max(1, len(absent)))
    return fit_verdict(np.array(own), np.array(other), common, asks) if own and other else None


def _right_first(all_told: Iterable[_Told]) -> dict[str, float]:
    """Return how often the first line was an answer, by what was asked; of few questions, nothing is said."""
    right = defaultdict[str, list[bool]](list)
    for one in all_told:
        if len(one.scores) and not (one.example.is_foreign or one.example.is_absent):
            right[one.example.kind].append(bool(one.example.is_evidence[one.scores.argmax()]))
    return {kind: float(np.mean(of)) for kind, of in sorted(right.items()) if len(of) >= _LEAST_OF_KIND}


def _ordered(folds: Sequence[Sequence[_Told]], *, seed: int) -> list[list[_Told]]:
    """Order each fold's best sentences by what the other folds' taught, as a new paper's are."""
    ordered = []
    for fold in folds:
        order = _fit_order(chain(*(other for other in folds if other is not fold)), seed=seed)
        worths = [order.predict(one.example.table[one.best]) for one in fold]
        scores = [reordered(one.scores, one.best, worth) for one, worth in zip(fold, worths, strict=True)]
        ordered.append([one._replace(scores=own) for one, own in zip(fold, scores, strict=True)])
    return ordered


def _fit_order(all_told: Iterable[_Told], *, seed: int) -> Forest:
    """Return trees that put what is evidence before the other best sentences of its paper."""
    told = list(all_told)
    with_some = [one for one in told if one.example.is_evidence[one.best].any()]
    if not with_some:
        return Forest([Tree(leaf=(0.0,))], told[0].example.table.shape[1])
    return _grown(
        np.concatenate([one.example.table[one.best] for one in with_some]),
        np.concatenate([one.example.is_evidence[one.best].astype(float) for one in with_some]),
        n_forests=_N_ORDERS,
        seed=seed,
        parameters={**_PARAMETERS, "objective": "lambdarank"},
        groups=[len(one.best) for one in with_some],
    )


def calibrated(scores: Floats, is_evidence: Flags, *, least: int = _LEAST_OF_STEP) -> Calibration:
    """Return a table from score to the share of evidence: isotonic regression, each step of enough sentences."""
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - comes with LightGBM, and is slow to import

    order = np.argsort(scores, kind="stable")
    starts = isotonic_regression(is_evidence[order].astype(float)).blocks[:-1]
    columns = (np.ones_like(scores), scores, is_evidence)  # number of sentences, sum of scores, of evidence
    sums = [np.add.reduceat(column[order].astype(float), starts).tolist() for column in columns]
    merged: list[tuple[float, float, float]] = []
    for n, score, hits in zip(*sums, strict=True):
        n_before, score_before, hits_before = merged[-1] if merged else (0.0, 0.0, 0.0)
        is_step = bool(merged) and round(hits / n * _STEPS) != round(hits_before / n_before * _STEPS)
        if is_step and min(n_before, n) >= least:
            merged.append((n, score, hits))
        else:
            merged[-1:] = [(n_before + n, score_before + score, hits_before + hits)]
    return Calibration(
        scores=tuple(score / n for n, score, _ in merged), shares=tuple(hits / n for n, _, hits in merged)
    )
