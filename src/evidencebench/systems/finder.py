"""Finder and its model."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from evidencebench.errors import ModelError
from evidencebench.files.disk import read_bytes
from evidencebench.models.embedding.local import PinnedDigest
from evidencebench.models.model_card import CARD, ModelCard, card_digest, read_model_card
from evidencebench.query import AspectScope, Goal, Kind, Query
from evidencebench.system import NamedSystem, PaperChance, Ranking, RankingTask, Traits
from evidencebench.systems.cues import Cues
from evidencebench.systems.diverse import discounted_order
from evidencebench.systems.features import (
    FEATURES,
    RELEVANCE_FEATURES,
    REPORTING_FEATURES,
    Feature,
    feature_table,
)
from evidencebench.systems.fusion import scores_of, standard_scores
from evidencebench.systems.paper_columns import PaperColumns, columns_of
from evidencebench.systems.question import QuestionKind, kind_asked, question_of
from evidencebench.systems.relevance import topic_roots
from evidencebench.systems.reporting import items_asked
from evidencebench.systems.trees import Forest
from evidencebench.systems.verdict import SIGNS, VerdictWeights, paper_signs, parts_held
from evidencebench.systems.words import Floats, Indices, in_spelling_of

Table = NDArray[np.float32]

FINDER_FEATURES: tuple[Feature, ...] = (*FEATURES, *RELEVANCE_FEATURES, *REPORTING_FEATURES)
"""The columns that training gives a finder."""

FEATURE_NAMES = tuple(feature.name for feature in FINDER_FEATURES)
_COLUMN = {name: column for column, name in enumerate(FEATURE_NAMES)}
_BLIND = tuple(feature for feature in FINDER_FEATURES if not feature.reads_hypothesis)
_LISTENING = tuple(feature for feature in FINDER_FEATURES if feature.reads_hypothesis)
_ORDER = np.argsort([_COLUMN[feature.name] for feature in (*_BLIND, *_LISTENING)])


Asks = Literal["effects", "questions"]
"""What a finder was trained on: comparisons in trials, as "tea lowers pressure", or any question and claim."""


class FinderMember(msgspec.Struct, frozen=True, kw_only=True):
    """What scores for one goal and scope: trees, in a file beside the card, and weights of a linear model, if any."""

    goal: Goal
    scope: AspectScope
    file: str
    sha256: str
    weights: tuple[float, ...] = ()  # one a feature
    order: str = ""  # the file of the trees that order the best sentences, if any
    order_sha256: str = ""


def predicted(forest: Forest, weights: Sequence[float], table: Table) -> Floats:
    """Return what trees and, if there are weights, a linear model predict, added up."""
    return forest.predict(table) + (table @ np.array(weights) if weights else 0.0)


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What a score means: the share of evidence among held-back sentences of such scores; both lists ascend."""

    scores: tuple[float, ...]
    shares: tuple[float, ...]

    def chances(self, scores: Floats) -> Floats:
        """Return the share for each score, linear between two of the table, and the end's beyond the ends."""
        return np.interp(scores, self.scores, self.shares)


class FinderCard(ModelCard, frozen=True, kw_only=True):
    format: Literal["evidencebench-finder/1"] = "evidencebench-finder/1"
    asks: Asks = "effects"
    features: tuple[str, ...]  # names of the columns, in the order in which the trees read them
    members: tuple[FinderMember, ...]
    strengths: dict[Goal, float]  # how much redundancy is discounted, see `discounted_order`
    calibrations: dict[Goal, Calibration] = msgspec.field(default_factory=dict)  # of all evidence, if computed
    verdicts: dict[Goal, VerdictWeights] = msgspec.field(default_factory=dict)  # whether a paper answers, if computed
    training: dict[str, Any] = msgspec.field(default_factory=dict)  # how it was trained: for people, not read here


class FinderModel:
    def __init__(self, card: FinderCard, forests: dict[str, Forest]) -> None:
        self.card = card
        self.forests = forests
        self._columns = [_COLUMN[name] for name in card.features]
        self._members = {(member.goal, member.scope): member for member in card.members}

    def scores(self, paper: PaperColumns, goal: Goal, scope: AspectScope) -> Floats:
        """Return one number a sentence; where the training data labels no results, one model serves both scopes."""
        if paper.n == 0:
            return np.zeros(0)
        member = self._members.get((goal, scope)) or self._members[goal, "all"]
        table = finder_table(paper)[:, self._columns]
        scores = predicted(self.forests[member.file], member.weights, table)
        if self.card.asks == "questions":
            return numbered(scores, table, self.card.features)
        if goal == "answer":
            scores, best = lowered(scores, table, self.card.features)
            if member.order:
                scores = reordered(scores, best, self.forests[member.order].predict(table[best]))
        return scores


def finder_table(paper: PaperColumns) -> Table:
    """Return the table of `FINDER_FEATURES`, in single precision, so that machines that differ in a last bit agree."""
    blind = paper.of_paper(_BLIND, lambda: feature_table(paper, _BLIND))
    return np.column_stack([blind, feature_table(paper, _LISTENING)])[:, _ORDER].astype(np.float32)


# What is left of the score of a sentence that reports no result of its paper, by the feature that says so. Of 3,996
# sentences of Evidence Inference that only ask, 4 were marked, too few for trees to learn how little they answer in a
# short text. Of those that tell of other studies, of the baseline or of the other arm alone, about 1 % of the marked
# sentences are, and 3 to 12 % of the others.
_LEFT: Mapping[str, float] = {"asks": 0.1, "of_others": 0.5, "of_baseline": 0.5, "of_other_arm": 0.5}
_N_BEST = 25


def lowered(scores: Floats, table: Table, features: Sequence[str]) -> tuple[Floats, Indices]:
    """Return what is left of the scores, and what a second model orders: the best sentences that may tell results."""
    left = np.ones(len(table))
    for name, share in _LEFT.items():
        if name in features:
            left[table[:, features.index(name)] > 0] *= share
    scores = np.minimum(scores, left * scores)
    order = np.argsort(-scores, kind="stable")
    return scores, order[left[order] == 1][:_N_BEST]


_WITHOUT_NUMBER = 4.0  # log odds that a line without a number loses where one is asked for


def numbered(scores: Floats, table: Table, features: Sequence[str]) -> Floats:
    """Return what is left of the scores of lines without a number, where "how many" is asked."""
    if "asks_number" not in features:  # trained without the hypothesis
        return scores
    asks, holds = (table[:, features.index(name)] > 0 for name in ("asks_number", "number_asked"))
    return scores - _WITHOUT_NUMBER * (asks & ~holds)


def reordered(scores: Floats, best: Indices, worth: Floats) -> Floats:
    """Return the scores of the best sentences exchanged among them, so that their order is that of their worth."""
    scores = scores.copy()
    scores[best[np.argsort(-worth, kind="stable")]] = scores[best]
    return scores


def asked_columns(query: Query, goal: Goal) -> PaperColumns:
    """Return the columns of a query; to be answered, only the words of its parts count, however they are put."""
    asked = in_spelling_of(query.hypothesis, query.sentences)
    query, question = replace(query, hypothesis=asked), question_of(asked)
    if goal == "answer" and question.is_split:
        parts = (question.intervention, question.comparator, question.outcome)
        query = replace(query, hypothesis=" ".join(filter(None, parts)))
    return columns_of(query, question, asked)


@lru_cache(maxsize=8)
def load_finder(folder: Path, card_sha256: str) -> FinderModel:
    card = read_model_card(folder, FinderCard, sha256=card_sha256)
    try:
        _require_sound(card)
        files = {member.file: member.sha256 for member in card.members}
        files |= {member.order: member.order_sha256 for member in card.members if member.order}
        forests = {name: _read_forest(folder, name, files[name], len(card.features)) for name in files}
    except ModelError as error:
        raise ModelError(f"{folder}: {error}; train the model again") from error
    return FinderModel(card, forests)


def _read_forest(folder: Path, name: str, sha256: str, n_features: int) -> Forest:
    if Path(name).name != name or not (folder / name).is_file():
        raise ModelError(f"the file '{name}' of the card is missing")
    content = read_bytes(folder / name, at_most=1 << 30, error=ModelError)  # a hundred times what training writes
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ModelError(f"{name}: expected the sha256 of the card, {sha256}")
    forest = Forest.from_text(content.decode(errors="replace"))
    if forest.n_features != n_features:
        raise ModelError(f"{name}: expected trees on {n_features} features, got {forest.n_features}")
    return forest


def _require_sound(card: FinderCard) -> None:
    goals = {member.goal for member in card.members}
    if not card.features or len(set(card.features)) < len(card.features):
        raise ModelError(f"{CARD}: features: expected some, each once")
    if unknown := [name for name in card.features if name not in _COLUMN]:
        raise ModelError(f"{CARD}: no feature '{unknown[0]}' in this version")
    if not goals or goals != {member.goal for member in card.members if member.scope == "all"}:
        raise ModelError(f"{CARD}: members: expected one of the scope 'all' for each goal")
    if any(len(member.weights) not in {0, len(card.features)} for member in card.members):
        raise ModelError(f"{CARD}: members: expected no weights, or one for each feature")
    if any(not 0 <= card.strengths.get(goal, -1) <= 1 for goal in goals):
        raise ModelError(f"{CARD}: strengths: expected a number in 0..1 for each goal")
    for table in card.calibrations.values():
        ascends = all(list(numbers) == sorted(numbers) for numbers in (table.scores, table.shares))
        if not ascends or not 0 < len(table.scores) == len(table.shares):
            raise ModelError(f"{CARD}: calibrations: expected scores and shares, as many of both, ascending")
    for verdict in card.verdicts.values():
        bounds = [0, verdict.none_below, verdict.found_from, 1]
        if verdict.signs != SIGNS or len(verdict.weights) != len(SIGNS) or bounds != sorted(bounds):
            raise ModelError(f"{CARD}: verdicts: expected a weight for each sign of this version, and bounds in order")


_LEAST_SENTENCES = 20


def article_slices(kinds: Sequence[Kind]) -> list[slice]:
    """Cut sentences into articles of at least 20, each of which begins with the headings before an abstract."""
    starts = [0]
    headings = 0  # how many headings stand right before
    has_body = False
    for index, kind in enumerate(kinds):
        if kind is Kind.ABSTRACT:
            start = index - headings
            if has_body and start - starts[-1] >= _LEAST_SENTENCES:
                starts.append(start)
            has_body = False
        headings = headings + 1 if kind is Kind.HEADING else 0
        has_body = has_body or kind is Kind.BODY
    if len(starts) > 1 and len(kinds) - starts[-1] < _LEAST_SENTENCES:
        starts.pop()
    return [slice(start, stop) for start, stop in zip(starts, [*starts[1:], len(kinds)], strict=True)]


SHIPPED = Path(__file__).with_name("shipped_finder")
"""The folder of the model that comes with the package for effects. It was trained on Evidence Inference alone."""

SHIPPED_FOR_QUESTIONS = Path(__file__).with_name("shipped_questions")
"""The folder of the model that comes with the package for any other question, and for papers that are no trials."""

# From this share of sentences on that speak of people or groups, a paper is one of a trial, or like one: 99 % of the
# articles of Evidence Inference are; of 27 papers on language processing none is.
_LEAST_OF_TRIALS = 0.08
_LEAST_TO_TELL = 20  # sentences; of fewer, nobody can tell
_OF_TRIALS = re.compile(
    r"\b(?:patients?|participants?|subjects|volunteers|women|men|children|randomi[sz]\w*|placebo|trial|groups?)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4)
def is_like_trial(sentences: tuple[str, ...]) -> bool:
    """Say whether a paper speaks of people and groups as reports of trials do, or is too short to tell."""
    if len(sentences) < _LEAST_TO_TELL:
        return True
    n_of_trials = sum(_OF_TRIALS.search(sentence) is not None for sentence in sentences)
    return n_of_trials >= _LEAST_OF_TRIALS * len(sentences)


def asked_for(query: Query) -> Asks:
    """Return whether a query asks for an effect in a paper like a trial's, or for anything else."""
    question = question_of(query.hypothesis)
    is_effect = question.kind is QuestionKind.EFFECT and (question.is_split or not items_asked(query.hypothesis))
    return "effects" if is_effect and is_like_trial(query.sentences) else "questions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder:
    """Sentences that answer a hypothesis; if the data names no goal, as in EvidenceBench, by the rules of `cues`.

    A goal is what is asked for: what answers the hypothesis, or what a reviewer would note of its study.
    Two models come with the package: one for effects in trials, one for any other question and paper. What stands
    beside the running text, such as rows of tables, is always judged by the second, and put where its chance says.
    Of a query that holds several articles, the one whose words are the hypothesis's is read; the others' sentences come
    last. For ``"answer"``, sentences are ordered by score; for effects, one that only asks keeps a tenth of its score.
    For ``"study"``, a score falls the more similar its sentence is to those chosen before (see `discounted_order`). A
    goal that the model was not trained for is served by the rules of `Cues`.
    """

    # A folder that `train finder` wrote: of questions, which is asked those, or of effects, which is asked everything.
    model: Path | None = None  # None: the models that come with the package
    # What is asked beside the model of questions, such as minilm: its scores count as much. Effects need none.
    meaning: NamedSystem | None = None
    goal: Goal | None = None  # None: what the query says, and "study" where it says nothing, as in the published files
    _cards: Mapping[Asks, tuple[Path, PinnedDigest]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        cards: dict[Asks, tuple[Path, PinnedDigest]] = {
            "effects": _pinned(SHIPPED),
            "questions": _pinned(SHIPPED_FOR_QUESTIONS),
        }
        if self.model is not None:
            own = _pinned(Path(self.model))
            is_for_questions = load_finder(own[0], own[1].digest()).card.asks == "questions"
            cards |= {"questions": own} if is_for_questions else {"effects": own, "questions": own}
        object.__setattr__(self, "_cards", cards)
        for asks in cards:
            self._load(asks)

    @property
    def traits(self) -> Traits:
        return Traits(
            reads_task=True,
            versions=self._versions,
            trained_on=lambda: set().union(*(self._load(asks).card.trained_on for asks in self._cards)),
            chances=self.chances,
            answers=self.answers,
        )

    def rank(self, query: Query, task: RankingTask) -> Ranking:
        goal = self._goal_of(query)
        asks = self._asks(query, goal)
        if asks == "questions" or not query.n_beside:
            return Ranking(sentences=_order(self._load(asks), goal, query, task.scope, self._meant(asks, query)))
        # For effects, the running text alone is what the model was trained on.
        order = _order(self._load(asks), goal, _running_text(query), task.scope)
        chances = self.chances(query)
        beside = range(len(order), len(query.sentences))
        if chances is None:
            return Ranking(sentences=(*order, *beside))
        return Ranking(sentences=tuple(sorted((*order, *beside), key=lambda index: -chances[index])))

    def chances(self, query: Query) -> list[float] | None:
        """Return, for each sentence, the share of held-back sentences with such a score that were evidence.

        It is 0 in the articles of a query that the hypothesis is not about; None without a table for the goal.
        """
        goal = self._goal_of(query)
        asks = self._asks(query, goal)
        if asks == "questions" or not query.n_beside:
            return _chances(self._load(asks), goal, query, self._meant(asks, query))
        of_text = _chances(self._load(asks), goal, _running_text(query))
        if of_text is None:
            return None
        if not _may_answer_beside(query):
            return of_text + [0.0] * query.n_beside
        of_all = _chances(self._load("questions"), goal, query)
        return None if of_all is None else of_text + of_all[len(of_text) :]

    def answers(self, query: Query) -> PaperChance | None:
        """Return how likely the paper answers the hypothesis; None where the model has no verdict for the goal."""
        goal = self._goal_of(query)
        asks = self._asks(query, goal)
        query = query if asks == "questions" else _running_text(query)
        model = self._load(asks)
        verdict = model.card.verdicts.get(goal)
        if verdict is None or not query.sentences:
            return None
        _, paper, scores = _score(model, goal, query, "all")
        signs = paper_signs(scores, parts_held(paper.relevance, verdict.common))
        return verdict.chance(signs, paper.n, kind_asked(query.hypothesis))

    def _meant(self, asks: Asks, query: Query) -> tuple[float, ...]:
        """Return what the system asked beside says of each line; nothing where none is asked."""
        if self.meaning is None or self._load(asks).card.asks == "effects":
            return ()
        return tuple(scores_of(self.meaning.rank(query, RankingTask(budget=None)), len(query.sentences)).tolist())

    def _goal_of(self, query: Query) -> Goal:
        return self.goal or query.goal or "study"

    def _asks(self, query: Query, goal: Goal) -> Asks:
        """Return which model is asked; one of the user's own that stands for both reads all lines."""
        if self._cards["effects"] is self._cards["questions"]:
            return "questions"
        return asked_for(_running_text(query)) if goal == "answer" else "effects"

    def _versions(self) -> dict[str, str]:
        own = None if self.model is None else Path(self.model)
        return {
            f"model {folder}" if folder == own else f"the finder's model of {asks}": f"sha256:{card.digest()}"
            for asks, (folder, card) in self._cards.items()
        }

    def _load(self, asks: Asks) -> FinderModel:
        folder, card = self._cards[asks]
        return load_finder(folder, card.digest())


def _pinned(folder: Path) -> tuple[Path, PinnedDigest]:
    return folder, PinnedDigest(folder, partial(card_digest, folder))


@lru_cache(maxsize=4)
def _running_text(query: Query) -> Query:
    """Return a query without what stands beside the running text."""
    n = len(query.sentences) - query.n_beside
    return replace(query, sentences=query.sentences[:n], kinds=query.kinds[:n], n_beside=0) if query.n_beside else query


def _may_answer_beside(query: Query) -> bool:
    """Say whether a line beside the running text holds half of the outcome's words; else none is judged, for speed."""
    question = question_of(query.hypothesis)
    words = topic_roots(question.outcome if question.is_split else query.hypothesis)
    beside = slice(len(query.sentences) - query.n_beside, None)
    lines = replace(query, sentences=query.sentences[beside], kinds=query.kinds[beside], n_beside=0)
    held = columns_of(lines).words.index.sums(dict.fromkeys(words, 1.0))
    return bool((2 * held >= max(1, len(words))).any())


def _chances(model: FinderModel, goal: Goal, query: Query, meant: tuple[float, ...] = ()) -> list[float] | None:
    table = model.card.calibrations.get(goal)
    if table is None:
        return None
    article, _, scores = _score(model, goal, query, "all", meant)
    chances = np.zeros(len(query.sentences))
    chances[article] = table.chances(scores)
    return [float(chance) for chance in chances]


@lru_cache(maxsize=4)  # each task asks about the same paper, under one of two scopes
def _order(
    model: FinderModel, goal: Goal, query: Query, scope: AspectScope, meant: tuple[float, ...] = ()
) -> tuple[int, ...]:
    if any(member.goal == goal for member in model.card.members):
        article, paper, scores = _score(model, goal, query, scope, meant)
        order = np.argsort(-scores, kind="stable").tolist()
        if strength := model.card.strengths[goal]:
            order = discounted_order(np.exp(standard_scores(scores)), paper.similarity.row, strength=strength)
    else:
        article, paper = _read(query, goal)
        own = replace(paper.query, hypothesis=query.hypothesis)
        order = Cues(goal=goal).rank(own, RankingTask(budget=None, scope=scope)).sentences
    indices = range(len(query.sentences))
    others = (*indices[: article.start], *indices[article.stop :])
    return (*(index + article.start for index in order), *others)


@lru_cache(maxsize=4)
def _score(
    model: FinderModel, goal: Goal, query: Query, scope: AspectScope, meant: tuple[float, ...] = ()
) -> tuple[slice, PaperColumns, Floats]:
    article, paper = _read(query, goal)
    scores = model.scores(paper, goal, scope)
    if meant:  # the order changes, and not what the first, the second and so on are worth
        worth = standard_scores(scores) + standard_scores(np.array(meant[article]))
        best_first = np.argsort(-scores, kind="stable")
        scores = reordered(scores, best_first, worth[best_first])
    return article, paper, scores


@lru_cache(maxsize=2)
def _read(query: Query, goal: Goal) -> tuple[slice, PaperColumns]:
    """Return the sentences of the article that the hypothesis is about, and their columns."""
    articles = article_slices(query.kinds)
    if len(articles) == 1:
        return articles[0], asked_columns(query, goal)
    topic = asked_columns(query, goal).relevance.topic
    article = max(articles, key=lambda sentences: float(topic[sentences].mean()))
    own = replace(query, sentences=query.sentences[article], kinds=query.kinds[article])
    return article, asked_columns(own, goal)
