"""The noise of labels: how many are right and how many are missing, by what models said of a sentence more than once.

A model misses a source, and invents one, with some chance each time that it is asked. A share of its errors is made
every time. Nobody can tell that share from one model, so it is taken as none and as half, and intervals span both. A
second model on any sentences tells it, if the two err independently. People who mark all sentences need no model.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import expm1, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from evidencebench.construction.draft import Draft, Judging
from evidencebench.scoring.resampling import DEFAULT_LEVEL, Floats, proportion
from evidencebench.wording import counted

GOOD_PRECISION = 0.8  # below it, labels are doubtful
MOST_UNREAD = 0.1  # of the windows; above it, something is wrong with the model
_MOST_SOURCES = 0.5  # of the sentences; above it, a model takes all for sources
_LEAST_DOUBT = 0.02  # of the pairs with a vote; if fewer have a contrary one, a model says the same each time
_LEAST_SECOND = 30  # labels without a doubt; with fewer of a second model, it does not tell what is always wrong
# Logits: of being a source; then of each model, of missing a source and of inventing one, in the first round and in
# later ones; how much more it misses in the second half of a window than in the first; the shares of misses and of
# inventions that it makes every time.
_N_RATES = 7
_START = np.array([-4.0] + 2 * [-1.5, -5.0, -1.5, -5.0, 0.0, -3.0, -3.0])
_LOW = np.array([-12.0] + 2 * [-9.0, -13.0, -9.0, -13.0, -2.0, -12.0, -12.0])
_HIGH = np.array([3.0] + 2 * [2.2, 0.0, 2.2, 0.0, 2.0, 7.0, 7.0])
_NEVER, _HALF = -12.0, 0.0
_TILTS = (0.0, *0.06 * 2.0 ** np.arange(17))
_NEAR = 0.05  # a fit whose likelihood is lower by so little is as good
_TAIL = (1 + DEFAULT_LEVEL) / 2
_ASK_AGAIN = "Asking doubtful sentences again would narrow the intervals."
_ONLY_OTHERS = "Only people, or a second model on a sample, can see errors that it makes every time."


class MarkedAspect(NamedTuple):
    """An aspect of which people marked every sentence of the paper that holds it."""

    paper: str
    weight: float  # how many aspects of that paper it was drawn from
    labelled: frozenset[int]
    marked: frozenset[int]
    n_sentences: int


class Share(msgspec.Struct, frozen=True):
    mean: float
    low: float  # of the 95 % interval
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.0f} % ({self.ends})"

    @property
    def ends(self) -> str:
        return f"{100 * self.low:.0f} to {100 * self.high:.0f} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelNoise:
    precision: Share | None  # how many labels are sources; None where nothing can be said
    recall: Share | None  # how many sources are labelled
    precision_if_errors_differ: float | None = None  # from one time to the next: what asking again can reach
    precision_if_half_stay: float | None = None  # if half of the first model's errors are made every time
    n_labels: int = 0  # pairs of an aspect and a sentence
    n_windows: int = 0  # asked, once for each aspect
    n_unread: int = 0  # of them
    n_unjudged: int = 0  # pairs of an aspect and a sentence of which nothing was read
    models: tuple[str, ...] = ()
    is_asked_again: bool = False
    tells_always: bool = False  # whether a second model was asked of enough labels
    n_marked: int = 0  # aspects that people marked
    takes_all: bool = False
    is_steady: bool = False  # whether the first model said the same each time

    @property
    def text(self) -> str:
        first, *others = self.models or ("",)
        if self.precision is None:
            why = "no sentence was judged more than once: let windows overlap"
            if not self.n_labels:
                why = "there are none"
            elif self.takes_all:
                why = "most sentences are labelled"
            elif self.is_steady:
                why = f"{first} says the same each time, which does not show errors that it makes every time"
            said = [f"How many labels are right is not known: {why}."]
            if self.n_labels:
                said.append(_ONLY_OTHERS)
        else:
            is_known = self.n_marked or self.tells_always  # else the middle of an interval says nothing
            shares = (self.precision, self.recall)
            right, found = (share and (str(share) if is_known else share.ends) for share in shares)
            held = f"; they include {found} of the source sentences" if found else ""
            said = [f"Of {counted(self.n_labels, 'label')}, an estimated {right} are right{held}."]
            if self.n_marked:
                said.append(
                    f"Estimated from people's answers on {counted(self.n_marked, 'aspect')}, taken to be right."
                )
            elif self.tells_always:
                said.append(f"Estimated from {first} and {' and '.join(others)}; errors that both make are not seen.")
            else:
                said.append(
                    f"Estimated from how often {first} contradicts itself, if at most half of its errors are made "
                    "every time."
                )
                cases = (self.precision_if_errors_differ, self.precision_if_half_stay)
                anew, half = (f"{100 * (case or 0):.0f} %" for case in cases)
                case = f"About {anew} are right if its errors are random, {half} if half are made every time."
                said += [case if self.is_asked_again else _ASK_AGAIN, _ONLY_OTHERS]
        if self.n_unread:
            said.append(f"{self.n_unread:,} of {counted(self.n_windows, 'window')} could not be read.")
        if self.n_unjudged:
            said.append(f"{counted(self.n_unjudged, 'pair')} of an aspect and a sentence were not judged.")
        return " ".join(said)

    @property
    def warning(self) -> str:
        if self.n_unread > MOST_UNREAD * self.n_windows:
            return f"replies on {self.n_unread:,} of {counted(self.n_windows, 'window')} could not be read"
        if self.takes_all:
            return "most sentences are labelled as sources of every aspect, so the labels say nothing"
        known = self.precision.mean if self.precision and (self.n_marked or self.tells_always) else None
        right = self.precision_if_errors_differ if self.precision and known is None else known
        if right is not None and right < GOOD_PRECISION:
            more = "" if known is not None else ", and more if some errors are made every time"
            return f"an estimated {100 - 100 * right:.0f} % of the labels are wrong{more}"
        return ""

    def fields(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "text": self.text, "warning": self.warning}


def estimate_noise(drafts: Iterable[Draft], marked: Sequence[MarkedAspect] = ()) -> LabelNoise:
    """Return the noise of the labels of judged drafts; what people marked decides where there is any."""
    cells, counts, models = _read_cells(drafts)
    numbers, looks = cells.counts.sum(axis=0), cells.looks.sum(axis=(0, 1))
    n_labels, n_read = cells.labelled.sum(), numbers[looks > 0].sum()
    takes_all = bool(n_labels > _MOST_SOURCES * n_read)
    is_no, is_yes = (part[0].sum(axis=0) > 0 for part in (cells.no, cells.yes))
    n_second = cells.labelled[~is_no & (cells.looks[1:].sum(axis=(0, 1)) > 0)].sum()
    tells_always = bool(n_second >= _LEAST_SECOND)
    is_voted = is_yes & (cells.looks[0].sum(axis=0) > 1)
    is_steady = bool(numbers[is_voted & is_no].sum() < _LEAST_DOUBT * numbers[is_voted].sum())
    precision = recall = if_differ = if_half = None
    if (looks > 1).any() and n_labels and not takes_all:
        precision, recall, if_differ, if_half = _estimate(cells, tells_always=tells_always)
        if is_steady and not tells_always:
            precision = recall = None
    return LabelNoise(
        precision=_share_of(marked, of_labels=True) or precision,
        recall=_share_of(marked, of_labels=False) or recall,
        precision_if_errors_differ=if_differ,
        precision_if_half_stay=if_half,
        n_labels=int(n_labels),
        n_windows=counts["windows"],
        n_unread=counts["unread"],
        n_unjudged=int(numbers.sum() - n_read),
        models=tuple(models),
        is_asked_again=bool(cells.looks[0, 2].any()),
        tells_always=tells_always,
        n_marked=len(marked),
        takes_all=takes_all,
        is_steady=is_steady,
    )


def student_quantile(share: float, degrees: int) -> float:
    """Return the quantile of Student's t by Wallace (1959): 4 % too large for 2 degrees, less for more.

    >>> round(student_quantile(0.975, 10), 2)
    2.23
    """
    z = NormalDist().inv_cdf(share) * (8 * degrees + 3) / (8 * degrees + 1)
    return sqrt(degrees * expm1(z * z / degrees))


def _share_of(marked: Sequence[MarkedAspect], *, of_labels: bool) -> Share | None:
    """Return precision or recall by what people marked, exact for as many independent pairs as the papers stand for."""
    sums: defaultdict[str, Floats] = defaultdict(lambda: np.zeros(3))
    for aspect in marked:
        among = aspect.labelled if of_labels else aspect.marked
        n_right = len(aspect.labelled & aspect.marked)
        sums[aspect.paper] += (aspect.weight * n_right, aspect.weight * len(among), aspect.weight**2 * len(among))
    right, total, squared = np.array([*sums.values()]).reshape(-1, 3).T
    if not total.sum():
        return None
    share, n_papers = right.sum() / total.sum(), len(sums)
    residuals = right - share * total
    variance = (residuals**2).sum() / total.sum() ** 2 * n_papers / max(1, n_papers - 1)
    n = total.sum() ** 2 / squared.sum()  # as many as the weights leave
    if variance:
        n = min(n, share * (1 - share) / variance)
    n *= (student_quantile(_TAIL, 10_000) / student_quantile(_TAIL, max(1, n_papers - 1))) ** 2
    size = max(1, round(n))
    low = proportion(int(share * size), size).low
    high = proportion(min(size, int(np.ceil(share * size - 1e-9))), size).high
    return Share(float(share), low, high)


class _Cells(NamedTuple):
    """Pairs of an aspect and a sentence that were voted on alike, counted by paper."""

    yes: Floats  # models x parts x cells; parts: first half of a window, second half, later rounds
    no: Floats
    counts: Floats  # papers x cells
    labelled: Floats  # how many of each cell

    @property
    def looks(self) -> Floats:
        return self.yes + self.no

    @property
    def twice(self) -> "_Cells":
        """The cells as they are fitted, and behind them as they are.

        Later votes on sentences that were shown again only for their neighbours are not fitted: which of them were may
        depend on whether they are sources, as where a model numbers lines one too high.
        """
        yes, no = self.yes.copy(), self.no.copy()
        is_sure = (yes[0, :2].sum(axis=0) == 0) | (no[0, :2].sum(axis=0) == 0)
        yes[0, 2, is_sure] = no[0, 2, is_sure] = 0
        return self._replace(yes=np.concatenate([yes, self.yes], axis=2), no=np.concatenate([no, self.no], axis=2))


def _read_cells(drafts: Iterable[Draft]) -> tuple[_Cells, Counter[str], list[str]]:
    """Return the cells of drafts, how many windows were asked and not read, and the models, the first one first."""
    papers: defaultdict[str, Counter[tuple[int, ...]]] = defaultdict(Counter)
    counts, models = Counter[str](), list[str]()
    for draft in drafts:
        if draft.judging is None or not draft.edited.keys().isdisjoint(("judge", "recheck")):  # people said its sources
            continue
        for aspect, sources in enumerate(draft.judging.sources):
            votes = _votes(draft.judging, aspect, models, counts)
            is_label = np.isin(np.arange(votes.shape[1]), sources)
            rows, numbers = np.unique(np.vstack([votes, is_label]).T, axis=0, return_counts=True)
            papers[draft.paper_id].update(dict(zip(map(tuple, rows.tolist()), numbers.tolist(), strict=True)))
    kinds = sorted({row[:-1] for of_paper in papers.values() for row in of_paper})
    numbered = np.array([[[of_paper[*row, n] for row in kinds] for n in (0, 1)] for of_paper in papers.values()])
    numbered = numbered.reshape(len(papers), 2, len(kinds)).astype(np.float64)
    table = np.zeros((2, 2, 3, len(kinds)))  # yes and no, models, parts, cells
    table.reshape(2, 6, -1)[:, :4] = np.array(kinds, dtype=np.float64).reshape(-1, 2, 4).transpose(1, 2, 0)
    yes, no = table[:, : 2 if table[:, 1].any() else 1]
    return _Cells(yes, no, numbered.sum(axis=1), numbered[:, 1].sum(axis=0)), counts, models


def _votes(judging: Judging, aspect: int, models: list[str], counts: Counter[str]) -> npt.NDArray[np.int64]:
    """Return how often each sentence had a yes, and then a no: from the first model by part, from the other models."""
    size, window = max(0, judging.n_sentences), max(1, judging.window)
    yes, looks = np.zeros((4, size), dtype=np.int64), np.zeros((4, size), dtype=np.int64)
    for number, judged in enumerate(judging.rounds):
        if judged.model not in models:
            models.append(judged.model)
        for vote in judged.votes[aspect] if aspect < len(judged.votes) else ():
            counts["windows"] += 1
            counts["unread"] += vote.sentences is None
            if vote.sentences is None:
                continue
            start, stop = max(0, vote.start), max(0, min(vote.start + window, size))
            middle = min(start + (window + 1) // 2, stop)
            pieces = [(0, start, middle), (1, middle, stop)]
            if number or judged.model != models[0]:
                pieces = [(2 if judged.model == models[0] else 3, start, stop)]
            for part, begin, end in pieces:
                looks[part, begin:end] += 1
                if vote.sentences:  # most windows hold none
                    yes[part, begin:end] += np.isin(np.arange(begin, end), vote.sentences)
    return np.concatenate([yes, looks - yes])


def _joint(phi: Floats, yes: Floats, no: Floats) -> Floats:
    """Return the chance of each cell together with being no source and a source: problems x cells x 2."""
    chances = [1 / (1 + np.exp(phi[:, :1])), 1 / (1 + np.exp(-phi[:, :1]))]
    for model, (yes_of_model, no_of_model) in enumerate(zip(yes, no, strict=True)):
        rates = phi[:, 1 + _N_RATES * model : 1 + _N_RATES * (model + 1), None]
        for is_source, wrong, right in ((0, yes_of_model, no_of_model), (1, no_of_model, yes_of_model)):
            first, later, always = (rates[:, place - is_source] for place in (1, 3, 6))
            late = rates[:, 4] * is_source
            errors = 1 / (1 + np.exp(-np.stack([first - late, first + late, later], axis=1)))
            sure = errors[:, :2].mean(axis=1) / (1 + np.exp(-always))
            anew = np.clip((errors - sure[:, None]) / (1 - sure[:, None]), 1e-9, 1 - 1e-9)[:, :, 0]
            looks = np.exp(np.log1p(-anew) @ right + np.log(anew) @ wrong)
            chances[is_source] = chances[is_source] * (np.where(right.sum(axis=0) == 0, sure, 0) + (1 - sure) * looks)
    return np.maximum(np.stack(chances, axis=2), 1e-300)


class _Fit(NamedTuple):
    """What rates say, each array problems x ...: log-chances of cells, precision and recall, and their own errors."""

    logs: Floats
    shares: Floats
    errors: Floats  # how far the very labels may lie from what is expected of them

    @classmethod
    def of(cls, phi: Floats, cells: _Cells) -> "_Fit":
        joint = _joint(phi.reshape(-1, phi.shape[-1]), cells.yes, cells.no)
        fitted, n = cells.yes.shape[2] // 2, cells.labelled.sum()
        chance = joint[:, fitted:, 1] / joint[:, fitted:].sum(axis=2)
        labelled = chance * cells.labelled
        others = chance * (cells.counts.sum(axis=0) - cells.labelled)
        right, missing = labelled.sum(axis=1), others.sum(axis=1)
        recall = right / (right + missing)
        spread, missing_spread = ((part * (1 - chance)).sum(axis=1) for part in (labelled, others))
        error = np.sqrt((1 - recall) ** 2 * spread + recall**2 * missing_spread) / (right + missing)
        parts = (
            np.log(joint[:, :fitted].sum(axis=2)),
            np.stack([right / n, recall], axis=1),
            np.stack([np.sqrt(spread) / n, error], axis=1),
        )
        return cls(*(part.reshape(*phi.shape[:-1], -1) for part in parts))


def _climb(phi: Floats, free: Sequence[int], tilts: Floats, cells: _Cells, n_steps: int) -> Floats:
    """Maximise the log-likelihood plus tilts times the logits of precision and recall, by damped Fisher scoring."""
    phi, numbers, size = phi.copy(), cells.counts.sum(axis=0), phi.shape[1]
    low, high, damping = _LOW[:size], _HIGH[:size], np.full(len(phi), 1e-2)

    def heights(phi: Floats) -> tuple[Floats, Floats]:
        fit = _Fit.of(phi, cells)
        shares = np.clip(fit.shares, 1e-9, 1 - 1e-9)
        return fit.logs, np.log(shares / (1 - shares))

    logs, logits = heights(phi)
    best = logs @ numbers + (logits * tilts).sum(axis=1)
    for _ in range(n_steps):
        nudges = np.where(phi > (low + high) / 2, -1e-5, 1e-5)[:, free, None]
        moved_logs, moved_logits = heights(phi[:, None] + nudges * np.eye(size)[free])
        slopes = (moved_logs - logs[:, None]) / nudges
        pull = ((moved_logits - logits[:, None]) / nudges * tilts[:, None]).sum(axis=2)
        information = (slopes * numbers) @ slopes.transpose(0, 2, 1) + damping[:, None, None] * np.eye(len(free))
        steps = np.linalg.solve(information, (slopes @ numbers + pull)[:, :, None])[:, :, 0]
        moved = phi.copy()
        moved[:, free] += np.clip(steps, -1.5, 1.5)
        moved = np.clip(moved, low, high)
        new_logs, new_logits = heights(moved)
        height = new_logs @ numbers + (new_logits * tilts).sum(axis=1)
        up = height > best
        phi[up], logs[up], logits[up], best[up] = moved[up], new_logs[up], new_logits[up], height[up]
        damping = np.clip(damping * np.where(up, 0.2, 6), 1e-4, 1e8)
    return phi


def _estimate(cells: _Cells, *, tells_always: bool) -> tuple[Share, Share, float, float]:
    """Return precision and recall, each spanning all assumptions; then precision if no error, or half, stays.

    The ends are those of the profile likelihood: rates are pulled to ever lower and higher shares until they fit too
    badly, by a statistic that allows for papers that differ.
    """
    size, ways = 1 + _N_RATES * len(cells.yes), np.array([(0, 1), (0, -1), (1, 1), (1, -1)])
    places = [] if tells_always else [[6, 7]]
    if len(cells.yes) > 1:
        places.append([13, 14])
    assumptions = list(product((_NEVER, _HALF), repeat=len(places)))
    phi = np.tile(_START[:size], (len(assumptions), 1))
    phi[:, [*chain(*places)]] = np.repeat(assumptions, 2, axis=1)
    free = [0, 1, 2, 3, 4, 5, *([6, 7] if tells_always else []), *([8, 9] if size > 1 + _N_RATES else [])]
    doubled = cells.twice
    phi = np.repeat(_climb(phi, free, np.zeros((len(phi), 2)), doubled, 40), len(ways), axis=0)
    sides, picked = (np.tile(part, len(assumptions)) for part in (ways[:, 1], ways[:, 0]))
    directions, rows = np.zeros((len(phi), 2)), np.arange(len(phi))
    directions[rows, picked] = sides
    n_papers, best = len(cells.counts), _Fit.of(phi, doubled).logs
    cut = student_quantile(_TAIL, max(1, n_papers - 1))
    trace = []
    for tilt in _TILTS:
        n_steps = 10 if tilt > 0 else 0
        phi = _climb(phi, free, tilt * directions, doubled, n_steps)
        fit = _Fit.of(phi, doubled)
        by_paper = (best - fit.logs) @ cells.counts.T
        lost = np.maximum(2 * by_paper.sum(axis=1), 0)
        # How much more the papers differ in it than they would if all their pairs were independent.
        spread = by_paper.var(axis=1) * n_papers**2 / max(1, n_papers - 1)
        clustering = np.sqrt(np.maximum(1, spread / np.maximum(lost, 1e-3)))
        trace.append((np.sqrt(lost) / clustering, fit.shares[rows, picked], fit.errors[rows, picked] * clustering))
        if (trace[-1][0] > cut).all():
            break
    between = np.linspace(0, 1, 9)[:, None, None]
    distance, shares, errors = (
        (part[:-1] + between * np.diff(part, axis=0)).reshape(-1, len(rows))
        for part in map(np.array, zip(*trace, strict=True))
    )
    reach = shares + sides * errors * np.sqrt(np.maximum(0, cut**2 - distance**2))
    outer = sides * np.where(distance <= cut, sides * reach, -np.inf).max(axis=0)
    best_ends = sides * np.where(distance**2 <= _NEAR, sides * shares, -np.inf).max(axis=0)
    highs, lows = outer.reshape(-1, 2, 2).transpose(2, 1, 0).clip(0, 1)  # side, share, assumption
    means = best_ends.reshape(-1, 2, 2).mean(axis=(0, 2))
    both = [Share(float(means[n]), float(lows[n].min()), float(highs[n].max())) for n in (0, 1)]
    by_case = best_ends.reshape(len(assumptions), 2, 2)  # assumption, share, side
    return both[0], both[1], float(by_case[0, 0, 1]), float(by_case[len(assumptions) // 2, 0].mean())
