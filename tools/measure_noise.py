"""Measure whether the intervals of the noise of labels hold what is true in worlds in which it is known.

    python tools/measure_noise.py 500
    python tools/measure_noise.py 500 --real ../shared/data/evidence_inference

The first prints a Markdown table, by world: how many of the intervals of precision and of recall hold the share of the
very labels, how wide they are, and how far the means are off, in points. The second takes doctors' marks as the truth,
two rankings as judges, and draws papers for people.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from evidencebench.construction.draft import Draft, Judging, JudgingRound, WindowVote
from evidencebench.construction.judge import windows_of_paper
from evidencebench.construction.noise import LabelNoise, MarkedAspect, estimate_noise
from evidencebench.data.dataset import open_dataset
from evidencebench.data.evidence_inference_labels import convert_folder
from evidencebench.data.instance import Instance
from evidencebench.system import RankingTask
from evidencebench.systems.bm25 import BM25
from evidencebench.systems.finder import Finder
from evidencebench.tables import Cell, Table, as_markdown

WINDOW, OVERLAP = 10, 5
N_MARKED, N_REAL, N_PICKED, N_ASKED_SECOND = 50, 700, 2, 0.3
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """How a model errs; ``always`` is the share of its errors that it makes every time."""

    misses: float = 0.15
    invents: float = 0.005
    always: float = 0.0
    shifted: float = 0.0  # windows in which all numbers are one too high
    late: float = 1.0  # how many times more it misses in the second half of a window than in the first
    hard: bool = False  # whether sentences differ in how hard they are
    copies: float = 0.0  # of the errors that another model makes always, those that this one makes too


SURE = Model(misses=0, invents=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Papers, and how they are judged; ``is_assumed``: whether what the text of an interval assumes holds."""

    name: str
    first: Model = field(default_factory=Model)
    again: int = 3  # times that doubtful sentences are asked again
    second: Model | None = None
    second_asked: float = 0.3  # of the windows
    n_papers: int = 30
    n_aspects: int = 2
    n_sentences: int = 100
    n_sources: float = 3.0
    do_sources_vary: bool = False
    do_errors_vary: bool = False
    n_marked: int = 0  # papers of which people mark an aspect
    is_assumed: bool = True


TWO_LOOKS = World(name="errors differ; two looks", again=0)
WORLDS = (
    TWO_LOOKS,
    World(name="errors differ"),
    World(name="asked again once", again=1),
    replace(TWO_LOOKS, name="1 % invented; two looks", first=Model(misses=0.1, invents=0.01)),
    World(name="1 % invented", first=Model(misses=0.1, invents=0.01)),
    World(name="a fifth of errors always", first=Model(always=0.2)),
    World(name="half of errors always", first=Model(always=0.5)),
    World(name="sentences differ in hardness", first=Model(hard=True)),
    World(name="one window in ten a line off", first=Model(shifted=0.1)),
    World(name="second halves missed 4 times more", first=Model(misses=0.25, late=4)),
    World(name="sources differ by paper", do_sources_vary=True),
    World(name="errors differ by paper", do_errors_vary=True),
    World(name="6 papers", n_papers=6),
    replace(TWO_LOOKS, name="6 papers; two looks", n_papers=6),
    World(name="80 % always; second model on 30 %", first=Model(always=0.8), second=Model(misses=0.1, invents=0.003)),
    World(
        name="80 % always; second model, half always",
        first=Model(always=0.8),
        second=Model(misses=0.1, invents=0.003, always=0.5),
    ),
    World(name="80 % always; people, 50 papers", first=Model(always=0.8), n_papers=80, n_marked=N_MARKED),
    World(
        name="few errors; people, 50 papers", first=Model(misses=0.02, invents=0.0001), n_papers=80, n_marked=N_MARKED
    ),
    World(name="errors differ by paper; people, 20 papers", do_errors_vary=True, again=0, n_marked=20),
    World(name="80 % always", first=Model(always=0.8), is_assumed=False),
    World(
        name="80 % always; second model copies half of them",
        first=Model(always=0.8),
        second=Model(misses=0.1, invents=0.003, copies=0.5),
        is_assumed=False,
    ),
    World(name="guesses: votes for 10 % of sentences", first=Model(misses=0.9, invents=0.1), is_assumed=False),
    World(name="four windows in ten a line off", first=Model(shifted=0.4), is_assumed=False),
)


class Judge:
    """A model that is asked of the sentences of one aspect, of which ``truth`` says which are sources."""

    def __init__(
        self, model: Model, truth: Bools, generator: np.random.Generator, other: "Judge | None" = None
    ) -> None:
        self._truth, self._generator, self._shifted = truth, generator, model.shifted
        errors = np.where(truth, model.misses, model.invents)
        if model.hard:
            errors = generator.beta(2 * errors, 2 * (1 - errors))
        sure = errors * model.always
        self.always = generator.random(len(truth)) < sure
        if other is not None:
            self.always |= other.always & (generator.random(len(truth)) < model.copies)
        anew = (errors - sure) / (1 - sure)
        by_half = np.where(truth, 2 * np.array([[1.0], [model.late]]) / (1 + model.late), 1)
        self._anew = np.minimum(1, anew * by_half)

    def vote(self, start: int) -> WindowVote:
        """Return what it says of the window that begins there."""
        places = np.arange(start, min(start + WINDOW, len(self._truth)))
        errors = self._anew[(places - start >= WINDOW // 2).astype(int), places]
        is_wrong = self.always[places] | (self._generator.random(len(places)) < errors)
        named = places[self._truth[places] ^ is_wrong] + (self._generator.random() < self._shifted)
        return WindowVote(start, tuple(named[named <= places[-1]].tolist()))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAspect:
    """The votes of each round, the labels by the pipeline's rule, and the truth."""

    rounds: Sequence[Sequence[WindowVote]]
    labels: Bools
    truth: Bools


def judged_aspect(world: World, first: Model, truth: Bools, generator: np.random.Generator) -> JudgedAspect:
    """Ask of an aspect: every window once, doubtful sentences again, and a second model of a part of the windows."""
    judge, n = Judge(first, truth, generator), len(truth)
    starts = [window.start for window in windows_of_paper(n, WINDOW, OVERLAP)]
    rounds = [[judge.vote(start) for start in starts]]
    yes, looks = counted_votes(rounds, n)
    again, shown_to = list[int](), 0
    for index in np.flatnonzero((yes > 0) & (yes < looks)).tolist():
        if index >= shown_to:
            again.append(max(0, index - WINDOW // 2 + 1))
            shown_to = again[-1] + WINDOW
    rounds += [[judge.vote(start) for start in again] for _ in range(world.again)]
    if world.second is not None:
        second = Judge(world.second, truth, generator, judge)
        rounds.append([second.vote(start) for start in starts if generator.random() < world.second_asked])
    all_yes, all_looks = counted_votes(rounds, n)
    is_decided = (all_looks > looks) & (2 * all_yes != all_looks)
    return JudgedAspect(rounds=rounds, labels=np.where(is_decided, 2 * all_yes > all_looks, yes > 0), truth=truth)


def counted_votes(rounds: Sequence[Sequence[WindowVote]], n: int) -> npt.NDArray[np.int64]:
    """Return how often each sentence was voted for, and how often looked at."""
    counts = np.zeros((2, n), dtype=np.int64)
    for vote in (vote for votes in rounds for vote in votes):
        counts[1, vote.start : vote.start + WINDOW] += 1
        counts[0, list(vote.sentences or ())] += 1
    return counts


def make_draft(number: int, paper: str, aspects: Sequence[JudgedAspect], *, has_second: bool) -> Draft:
    """Return a draft with these aspects."""
    rounds = list(zip(*(aspect.rounds for aspect in aspects), strict=True))
    models = ["first"] * (len(rounds) - has_second) + ["second"] * has_second
    judging = Judging(
        paper_sha256="",
        n_sentences=len(aspects[0].truth),
        window=WINDOW,
        overlap=OVERLAP,
        rounds=tuple(
            JudgingRound(model=model, prompt="", votes=tuple(map(tuple, votes)))
            for model, votes in zip(models, rounds, strict=True)
            if any(votes)
        ),
        sources=tuple(tuple(np.flatnonzero(aspect.labels).tolist()) for aspect in aspects),
    )
    return Draft(id=f"d{number}", review_id="r", paper_id=paper, aspects=("A.",) * len(aspects), judging=judging)


class Drawn(NamedTuple):
    """What is estimated of some papers, and the true precision and recall of their labels."""

    noise: LabelNoise
    truth: tuple[float, float]


def draw(world: World, generator: np.random.Generator) -> Drawn:
    """Draw papers, have them judged, and estimate the noise."""
    drafts, marked, all_aspects = list[Draft](), list[MarkedAspect](), list[JudgedAspect]()
    for paper in range(world.n_papers):
        n, n_sources, first = world.n_sentences, world.n_sources, world.first
        if world.do_sources_vary:
            n, n_sources = int(generator.integers(40, 250)), generator.gamma(1, world.n_sources)
        if world.do_errors_vary:
            first = replace(
                first,
                misses=generator.beta(6 * first.misses, 6 * (1 - first.misses)),
                invents=first.invents * generator.gamma(1.5, 1 / 1.5),
            )
        aspects = []
        for _ in range(world.n_aspects):
            truth = np.zeros(n, dtype=bool)
            size = min(n, 1 + int(generator.poisson(max(0, n_sources - 1))))
            truth[generator.choice(n, size, replace=False)] = True
            aspects.append(judged_aspect(world, first, truth, generator))
        drafts.append(make_draft(paper, f"p{paper}", aspects, has_second=world.second is not None))
        all_aspects += aspects
        if paper < world.n_marked:
            drawn = aspects[int(generator.integers(len(aspects)))]
            marked.append(marked_aspect(f"p{paper}", drawn.labels, drawn.truth, weight=len(aspects)))
    true = true_shares([aspect.labels for aspect in all_aspects], [aspect.truth for aspect in all_aspects])
    return Drawn(estimate_noise(drafts, marked), true)


def marked_aspect(paper: str, labels: Bools, truth: Bools, *, weight: float) -> MarkedAspect:
    """Return an aspect as people marked it who make no error."""
    labelled, marked = (frozenset(np.flatnonzero(part).tolist()) for part in (labels, truth))
    return MarkedAspect(paper, weight, labelled, marked, len(truth))


def true_shares(labels: Sequence[Bools], truths: Sequence[Bools]) -> tuple[float, float]:
    """Return precision and recall."""
    all_labels, truth = np.concatenate(labels), np.concatenate(truths)
    n_right = (all_labels & truth).sum()
    return float(n_right / max(1, all_labels.sum())), float(n_right / truth.sum())


COLUMNS = ("world", "precision", "recall", "held, %", "width", "bias", "recall held, %", "width", "bias")


def table_row(name: str, draw_one: Callable[[np.random.Generator], Drawn], n_runs: int) -> list[Cell]:
    """Return the row of a world: its true shares on average; of precision and of recall, held, width and bias."""
    held, widths, biases, truths = np.zeros((4, 2))
    n_said = 0
    for seed in range(n_runs):
        noise, true = draw_one(np.random.default_rng(seed))
        truths += true
        if noise.precision is not None and noise.recall is not None:
            n_said += 1
            for place, share in enumerate((noise.precision, noise.recall)):
                held[place] += share.low - 1e-9 <= true[place] <= share.high + 1e-9
                widths[place] += share.high - share.low
                biases[place] += share.mean - true[place]
    cells: list[Cell] = [name, *(f"{100 * share:.1f}" for share in truths / n_runs)]
    for place in (0, 1):
        figures = (held[place], widths[place], biases[place])
        cells += [f"{100 * figure / n_said:.1f}" if n_said else "" for figure in figures]
    return cells


def annotator_agreement(instances: Sequence[Instance]) -> str:
    """Return how alike the sentences are that two doctors marked for one prompt."""
    n_same = n_marked = n_pairs = 0
    for instance in instances:
        assert instance.origin is not None, "it was read from a file"
        by_doctor: dict[str, set[int]] = {}
        for note in msgspec.json.decode(instance.origin.raw, type=_Notes).annotations:
            if note.aspect is not None:
                by_doctor.setdefault(note.annotator, set()).update(instance.labels.sources[note.aspect])
        for first, second in combinations(by_doctor.values(), 2):
            n_pairs += 1
            n_same += len(first & second)
            n_marked += len(first) + len(second)
    return f"{n_pairs:,} pairs of doctors; F1 of their sentences {200 * n_same / n_marked:.1f} %"


class _Note(msgspec.Struct):
    annotator: str
    aspect: str | None


class _Notes(msgspec.Struct):
    annotations: list[_Note]


def print_real(folder: Path, n_runs: int) -> None:
    """Print what is said of two rankings as judges, where doctors are the truth."""
    with TemporaryDirectory() as scratch:
        convert_folder(folder, Path(scratch) / "gold.json", read_from="nxml")
        instances = list(open_dataset(Path(scratch) / "gold.json"))
    print(annotator_agreement(instances))
    instances = instances[:N_REAL]
    drafts: dict[str, list[Draft]] = {"finder": [], "finder, and BM25 on 30 % of the windows": []}
    by_paper: dict[str, list[tuple[Bools, Bools]]] = {}
    generator = np.random.default_rng(0)
    for number, instance in enumerate(instances):
        query = instance.query
        truth, labels, others = np.zeros((3, len(query.sentences)), dtype=bool)
        truth[[index for sources in instance.labels.sources.values() for index in sources]] = True
        labels[list(Finder().rank(query, RankingTask(budget=None)).sentences[:N_PICKED])] = True
        others[list(BM25().rank(query, RankingTask(budget=None)).sentences[:N_PICKED])] = True
        starts = [window.start for window in windows_of_paper(len(truth), WINDOW, OVERLAP)]
        judge, other = Judge(SURE, labels, generator), Judge(SURE, others, generator)
        rounds = [[judge.vote(start) for start in starts]]
        second = [other.vote(start) for start in starts if generator.random() < N_ASKED_SECOND]
        for name, votes in zip(drafts, (rounds, [*rounds, second]), strict=True):
            judged = JudgedAspect(rounds=votes, labels=labels, truth=truth)
            drafts[name].append(make_draft(number, query.paper_id, [judged], has_second=len(votes) > 1))
        by_paper.setdefault(query.paper_id, []).append((labels, truth))
    pairs = [pair for of_paper in by_paper.values() for pair in of_paper]
    true = true_shares([labels for labels, _ in pairs], [truth for _, truth in pairs])
    print(f"{len(instances):,} prompts of {len(by_paper):,} papers")
    for name, of_name in drafts.items():
        print(f"{name}: {estimate_noise(of_name).text}")
    papers = sorted(by_paper)

    def draw_people(generator: np.random.Generator) -> Drawn:
        marked = []
        for paper in generator.choice(papers, N_MARKED, replace=False).tolist():
            labels, truth = by_paper[paper][int(generator.integers(len(by_paper[paper])))]
            marked.append(marked_aspect(paper, labels, truth, weight=len(by_paper[paper])))
        return Drawn(estimate_noise([], marked), true)

    rows = [table_row("finder; doctors on 50 papers", draw_people, n_runs)]
    print(as_markdown(Table(columns=COLUMNS, rows=rows)))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n_runs", type=int, help="data sets a world")
    parser.add_argument("--only", default="", help="worlds with this in their names")
    parser.add_argument("--real", type=Path, help="the folder of Evidence Inference")
    arguments = parser.parse_args()
    if arguments.real:
        print_real(arguments.real, arguments.n_runs)
        return
    for is_assumed in (True, False):
        worlds = [world for world in WORLDS if world.is_assumed is is_assumed and arguments.only in world.name]
        rows = [table_row(world.name, partial(draw, world), arguments.n_runs) for world in worlds]
        print("What is assumed holds:" if is_assumed else "What is assumed does not hold:")
        print(as_markdown(Table(columns=COLUMNS, rows=rows)), end="\n\n")


if __name__ == "__main__":
    main()
