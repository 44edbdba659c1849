"""Measure cheaper ways to judge: windows that a ranking leaves out, several votes, a dear model for doubtful windows.

    python tools/measure_judging.py train.json ei.json

Prints, for each data set, what a filter loses of real labels (a quarter of an hour for Evidence Inference), then how
long prompts are on the first one's papers, then errors of labels and their cost in a simulation. There, a vote misses
and invents sources at the rates of its model. A part of its errors is the same each time that the model is asked of the
same sentence and aspect ("always"); the others are drawn anew. How large that part is for a real model is not known.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from random import Random
from statistics import mean
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from evidencebench.construction.draft import Draft, JudgingRound, WindowVote
from evidencebench.construction.estimate import RehearsingSender
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import (
    JudgeSettings,
    doubtful,
    judge_step,
    sources_of_votes,
    window_votes,
    windows_of_paper,
)
from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.models.llm.chat import ChatModel, ChatReply, ChatRequest, Usage, estimated_tokens
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.costs import PriceTable
from evidencebench.query import Query
from evidencebench.system import Brief
from evidencebench.systems.bm25 import BM25
from evidencebench.systems.controls import AbstractFirst, Lead
from evidencebench.systems.finder import Finder
from evidencebench.systems.llm.asking import Asker
from evidencebench.tables import Cell, Table, as_markdown
from evidencebench.training.finder import FinderTraining, wish_of
from evidencebench.training.folds import paper_folds, split_at_fold

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
WINDOW, OVERLAP = 10, 5
N_FOLDS, SEED = 5, 0
N_SENTENCES, N_SOURCES, N_ASPECTS, N_SIMULATED = 170, 3, 8, 2_000
N_SUMMARY_WORDS, N_ASPECT_WORDS = 120, 15
PROMPT_TOKENS, REPLY_TOKENS = 1100, 100
PRICED = (
    ("openai/gpt-4o-mini", "openai/gpt-4o"),
    ("anthropic/claude-haiku-4-5", "anthropic/claude-opus-4-5"),
)
"""A cheap model and a dear one; nobody measured their errors."""


Rank = Callable[[Query], Sequence[int]]


def windows_kept(ranked: Sequence[int], n_sentences: int, share: float) -> set[int]:
    """Return the sentences of the windows that are asked: those that hold the first sentences of a ranking."""
    windows = windows_of_paper(n_sentences, WINDOW, OVERLAP)
    place_of = {index: place for place, index in enumerate(ranked)}
    best = [min(place_of.get(index, n_sentences) for index in window) for window in windows]
    asked = sorted(range(len(windows)), key=lambda place: (best[place], place))[: max(1, round(share * len(windows)))]
    return {index for place in asked for index in windows[place]}


def sentences_kept(ranked: Sequence[int], n_sentences: int, share: float) -> set[int]:
    """Return the first sentences of a ranking, which are judged in windows of their own, at the same cost."""
    return set(ranked[: max(1, round(share * n_sentences))])


class Lost:
    """What a filter loses, in shares of the pairs of an aspect and a source, and of the aspects that have one."""

    def __init__(self) -> None:
        self.n_pairs = self.n_pairs_lost = self.n_aspects = self.n_aspects_lost = 0

    def add(self, instance: Instance, kept: set[int]) -> None:
        """Count the labels of an instance."""
        for sources in map(set, instance.labels.sources.values()):
            if sources:
                self.n_pairs += len(sources)
                self.n_pairs_lost += len(sources - kept)
                self.n_aspects += 1
                self.n_aspects_lost += not sources & kept

    @property
    def cell(self) -> str:
        """Both shares in %, as a cell of a table."""
        return f"{100 * self.n_pairs_lost / self.n_pairs:.1f} / {100 * self.n_aspects_lost / self.n_aspects:.1f}"


def ranked_by(system: Finder | BM25 | Lead | AbstractFirst) -> Rank:
    """Return the function that orders the sentences of a paper as a system does."""
    return lambda query: system.rank(query, Brief(budget=None)).sentences


def ranked_at_random(query: Query) -> Sequence[int]:
    """Return the sentences of a paper in an order that its id decides."""
    drawn = np.random.default_rng([SEED, *query.instance_id.encode()])
    return [int(index) for index in drawn.permutation(len(query.sentences))]


def ways_of(instances: Sequence[Instance]) -> Iterator[tuple[str, Iterable[tuple[Instance, Sequence[int]]]]]:
    """Yield the name of each order, and each instance with its sentences in it.

    The finder is trained on the other four folds of papers. The one that comes with the package was trained on
    Evidence Inference, and for "study" it is the rules of `cues`, whose few weights were set by hand.
    """
    yield "at random", ((one, ranked_at_random(one.query)) for one in instances)
    for name, system in (("lead", Lead()), ("abstract_first", AbstractFirst()), ("bm25", BM25())):
        yield name, zip(instances, map(ranked_by(system), [one.query for one in instances]), strict=True)
    if wish_of(instances[0]) == "study":
        yield "finder (shipped)", ((one, ranked_by(Finder(wish="study"))(one.query)) for one in instances)
    yield "finder (trained on the other papers)", cross_validated(instances)


def cross_validated(instances: Sequence[Instance]) -> Iterator[tuple[Instance, Sequence[int]]]:
    """Yield each instance with its sentences as a finder orders them that has not seen its paper."""
    for fold in paper_folds([one.query.paper_id for one in instances], N_FOLDS, np.random.default_rng(SEED)):
        seen, held_back = split_at_fold(instances, fold)
        with TemporaryDirectory() as folder:
            FinderTraining(figures=False).fit(seen, Path(folder) / "model", seed=SEED)
            rank = ranked_by(Finder(model=Path(folder) / "model", wish=wish_of(instances[0])))
            yield from ((one, rank(one.query)) for one in held_back)


def lost_by_filters(data: str) -> Table:
    """Return what is lost of the labels of a data set, for each order and share of windows or sentences."""
    instances = list(open_dataset(data))
    rows: list[list[Cell]] = []
    for name, ranked in ways_of(instances):
        lost = {(keep, share): Lost() for keep in (windows_kept, sentences_kept) for share in SHARES}
        for instance, order in ranked:
            for (keep, share), counts in lost.items():
                counts.add(instance, keep(order, len(instance.query.sentences), share))
        for keep, what in ((windows_kept, "windows"), (sentences_kept, "sentences")):
            rows.append([name, what, *(lost[keep, share].cell for share in SHARES)])
    return Table(columns=["order by", "of", *(f"{100 * share:.0f} %" for share in SHARES)], rows=rows)


class _KeepingSender(RehearsingSender):
    """Keeps the prompts too."""

    def __init__(self, prices: PriceTable) -> None:
        super().__init__(prices, None, 0)
        self.prompts: list[str] = []

    def estimated(self, request: ChatRequest, stand_in: str) -> ChatReply:
        self.prompts.append(request.messages[0].text)
        return super().estimated(request, stand_in)


def _shared_beginning(one: str, other: str) -> str:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(letter for letter, _ in same)


def prompt_lengths(data: str) -> Table:
    """Return how many tokens the prompts of the judge have on real papers, as estimated, by mode."""
    draft = Draft(
        id="",
        review_id="",
        paper_id="",
        summary=" ".join(["pressure"] * N_SUMMARY_WORDS),
        aspects=tuple(" ".join(["pressure"] * N_ASPECT_WORDS) for _ in range(N_ASPECTS)),
    )
    prices = PriceTable.load()
    rows: list[list[Cell]] = []
    for at_once in (False, True):
        sender = _KeepingSender(prices)
        client = ChatClient(sender=sender, cache=None, prices=prices)
        asker = Asker(client=client, chat=ChatModel(model=PRICED[0][0]), repairs=0)
        for instance in open_dataset(data).instances(30):
            with TemporaryDirectory() as folder:
                lines = (" ".join(text.split()) for text in instance.query.sentences)
                (Path(folder) / "paper.txt").write_text("\n".join(lines), encoding="utf-8")
                step = judge_step(JudgeSettings(at_once=at_once), PaperFolder(Path(folder)))
                named = msgspec.structs.replace(draft, id=instance.id, paper_file="paper.txt", hypothesis="Tea helps.")
                step.work(asker, named)
        client.close()
        use = sender.uses[PRICED[0][0]]
        rows.append(
            [
                "all at once" if at_once else "one aspect",
                round(use.prompt_tokens / use.requests),
                round(mean(estimated_tokens(_shared_beginning(*two)) for two in pairwise(sender.prompts))),
            ]
        )
    return Table(columns=["mode", "tokens of a prompt", "of these, as in the one before"], rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erring:
    """A model, the share of sources that a window misses, and of other sentences that it takes for sources."""

    model: str
    misses: float
    invents: float


CHEAP = Erring(model="cheap", misses=0.2, invents=0.01)
DEAR = Erring(model="dear", misses=0.05, invents=0.002)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way to judge."""

    name: str
    first: Erring
    overlap: int = OVERLAP
    votes: int = 1
    second: Erring | None = None


WAYS = (
    Way(name="cheap", first=CHEAP),
    Way(name="cheap, overlap 0", first=CHEAP, overlap=0),
    Way(name="cheap, 3 votes", first=CHEAP, votes=3),
    Way(name="cheap, 5 votes", first=CHEAP, votes=5),
    Way(name="cheap, then dear", first=CHEAP, second=DEAR),
    Way(name="dear, overlap 0", first=DEAR, overlap=0),
    Way(name="dear", first=DEAR),
    Way(name="dear, 3 votes", first=DEAR, votes=3),
)


class Simulation:
    """One aspect of one paper, judged with errors by the pipeline's own rules."""

    def __init__(self, chance: Random, always: float) -> None:
        self._chance, self._always = chance, always
        self.gold = frozenset(chance.sample(range(N_SENTENCES), N_SOURCES))
        self._fixed = {model: [chance.random() for _ in range(N_SENTENCES)] for model in (CHEAP.model, DEAR.model)}
        self._is_fixed = {model: [chance.random() < always for _ in range(N_SENTENCES)] for model in self._fixed}
        self.asked: Counter[str] = Counter()

    def labels(self, way: Way) -> set[int]:
        """Return the sentences that become sources."""
        windows = windows_of_paper(N_SENTENCES, WINDOW, way.overlap)
        rounds = [self._round(way.first, windows, range(len(windows))) for _ in range(way.votes)]
        if way.second is not None:
            doubted = doubtful(window_votes(rounds, 0, windows), windows)
            decided = self._round(way.second, windows, doubted)
            rounds.append(msgspec.structs.replace(decided, decides=True))
        return set(sources_of_votes(window_votes(rounds, 0, windows)))

    def _round(self, erring: Erring, windows: Sequence[range], asked: Sequence[int]) -> JudgingRound:
        self.asked[erring.model] += len(asked)
        votes = [
            WindowVote(windows[place].start, tuple(index for index in windows[place] if self._says(erring, index)))
            for place in asked
        ]
        return JudgingRound(model=erring.model, prompt="", votes=(tuple(votes),))

    def _says(self, erring: Erring, index: int) -> bool:
        is_fixed = self._is_fixed[erring.model][index]
        drawn = self._fixed[erring.model][index] if is_fixed else self._chance.random()
        return drawn >= erring.misses if index in self.gold else drawn < erring.invents


def simulated(always: float) -> Table:
    """Return errors of labels and cost, by way to judge."""
    prices = PriceTable.load()
    rows: list[list[Cell]] = []
    for way in WAYS:
        n_missed = n_invented = 0
        asked: Counter[str] = Counter()
        for number in range(N_SIMULATED):
            one = Simulation(Random(f"{SEED} {number}"), always)  # noqa: S311 - no secret
            found = one.labels(way)
            n_missed += len(one.gold - found)
            n_invented += len(found - one.gold)
            asked += one.asked
        n_sources = N_SOURCES * N_SIMULATED
        n_right = n_sources - n_missed
        costs = []
        for pair in PRICED:
            usages = [
                Usage(prompt_tokens=n * PROMPT_TOKENS, completion_tokens=n * REPLY_TOKENS)
                for n in (asked[CHEAP.model], asked[DEAR.model])
            ]
            costs.append(sum(prices.cost_usd(*one) or 0 for one in zip(pair, usages, strict=True)))
        rows.append(
            [
                way.name,
                f"{100 * n_missed / n_sources:.1f}",
                f"{100 * n_invented / (N_SIMULATED * (N_SENTENCES - N_SOURCES)):.3f}",
                f"{100 * 2 * n_right / (2 * n_right + n_missed + n_invented):.1f}",
                f"{asked[CHEAP.model] / N_SIMULATED:.1f}",
                f"{asked[DEAR.model] / N_SIMULATED:.1f}",
                *(f"{1000 * N_ASPECTS * cost / N_SIMULATED:,.0f}" for cost in costs),
            ]
        )
    columns = [
        "way",
        "missed, %",
        "invented, %",
        "F1 of labels",
        "cheap requests",
        "dear",
        *(f"USD, {one}, {other}" for one, other in PRICED),
    ]
    return Table(columns=columns, rows=rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", help="files of data sets")
    names = parser.parse_args().data
    for always in (0.0, 0.5):
        print(f"Simulated, {100 * always:.0f} % of errors always made\n")
        print(as_markdown(simulated(always)), end="\n\n")
    print(f"{Path(names[0]).name}: prompts\n")
    print(as_markdown(prompt_lengths(names[0])), end="\n\n")
    for data in names:
        print(f"{Path(data).name}: lost pairs / aspects without any source left, in %\n")
        print(as_markdown(lost_by_filters(data)), end="\n\n")


if __name__ == "__main__":
    main()
