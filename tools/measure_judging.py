"""Measure cheaper ways to judge: windows that a ranking leaves out, doubtful sentences asked again, by a dear model.

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

from evidencebench.construction.draft import Draft, Judging, JudgingRound, WindowVote
from evidencebench.construction.estimate import RehearsingSender
from evidencebench.construction.harvest.papers import PaperFolder
from evidencebench.construction.judge import (
    JudgeSettings,
    Look,
    judge_step,
    sentence_votes,
    voted_sources,
    windows_of_paper,
)
from evidencebench.construction.recheck import MOST_UNJUDGED, looks_again
from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.models.llm.chat import ChatModel, ChatReply, ChatRequest, estimated_tokens
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.costs import PriceTable
from evidencebench.query import Query
from evidencebench.system import Brief
from evidencebench.systems.bm25 import BM25
from evidencebench.systems.controls import AbstractFirst, Lead
from evidencebench.systems.finder import Finder
from evidencebench.systems.llm.asking import Asker
from evidencebench.tables import Cell, Table, as_markdown
from evidencebench.training.finder import FinderTraining, goal_of
from evidencebench.training.folds import paper_folds, split_at_fold

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
WINDOW, OVERLAP = 10, 5
N_FOLDS, SEED = 5, 0
N_SENTENCES, N_SOURCES, N_ASPECTS, N_SIMULATED = 170, 3, 8, 100  # papers
N_SUMMARY_WORDS, N_ASPECT_WORDS = 120, 15
MODEL = "openai/gpt-4o-mini"

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
    if goal_of(instances[0]) == "study":
        yield "finder (shipped)", ((one, ranked_by(Finder(goal="study"))(one.query)) for one in instances)
    yield "finder (trained on the other papers)", cross_validated(instances)


def cross_validated(instances: Sequence[Instance]) -> Iterator[tuple[Instance, Sequence[int]]]:
    """Yield each instance with its sentences as a finder orders them that has not seen its paper."""
    for fold in paper_folds([one.query.paper_id for one in instances], N_FOLDS, np.random.default_rng(SEED)):
        seen, held_back = split_at_fold(instances, fold)
        with TemporaryDirectory() as folder:
            FinderTraining(figures=False).fit(seen, Path(folder) / "model", seed=SEED)
            rank = ranked_by(Finder(model=Path(folder) / "model", goal=goal_of(instances[0])))
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
        asker = Asker(client=client, chat=ChatModel(model=MODEL), repairs=0)
        for instance in open_dataset(data).instances(30):
            with TemporaryDirectory() as folder:
                lines = (" ".join(text.split()) for text in instance.query.sentences)
                (Path(folder) / "paper.txt").write_text("\n".join(lines), encoding="utf-8")
                step = judge_step(JudgeSettings(at_once=at_once), PaperFolder(Path(folder)))
                named = msgspec.structs.replace(draft, id=instance.id, paper_file="paper.txt", hypothesis="Tea helps.")
                step.work(asker, named)
        client.close()
        use = sender.uses[MODEL]
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
    first: Erring = CHEAP
    lead: int = 0
    second: Erring | None = None  # that is asked of what is in doubt
    rounds: int = 1  # over all windows, the majority of all votes deciding
    at_once: bool = False


WAYS = (
    Way(name="one pass"),
    Way(name="three passes, majority", rounds=3),
    *(Way(name=f"recheck, lead {lead}", lead=lead) for lead in (1, 2, 3)),
    *(Way(name=f"recheck, lead {lead}, at once", lead=lead, at_once=True) for lead in (1, 2, 3)),
    Way(name="recheck by dear, lead 1", lead=1, second=DEAR),
    Way(name="dear, one pass", first=DEAR),
)


class Simulation:
    """All aspects of one paper, judged with errors by the pipeline's own rules."""

    def __init__(self, chance: Random, always: float) -> None:
        self._chance = chance
        self.gold = [frozenset(chance.sample(range(N_SENTENCES), N_SOURCES)) for _ in range(N_ASPECTS)]
        self._fixed = {
            (model, aspect): [chance.random() if chance.random() < always else None for _ in range(N_SENTENCES)]
            for model in (CHEAP.model, DEAR.model)
            for aspect in range(N_ASPECTS)
        }
        self.asked: Counter[str] = Counter()

    def labels(self, way: Way) -> list[set[int]]:
        """Return the sentences that become sources, aspect by aspect."""
        aspects = tuple(range(N_ASPECTS))
        everything = [Look(window, aspects) for window in windows_of_paper(N_SENTENCES, WINDOW, OVERLAP)]
        judging = Judging(
            paper_sha256="", n_sentences=N_SENTENCES, window=WINDOW, overlap=OVERLAP, rounds=(), sources=()
        )
        for looks in [everything] * way.rounds:
            judging = self._asked(judging, way.first, looks, at_once=way.at_once)
        for lead in range(1, way.lead + 1):
            while looks := looks_again(judging, aspects, lead, at_once=way.at_once):
                judging = self._asked(judging, way.second or way.first, looks, at_once=way.at_once)
        return [set(voted_sources(judging, aspect)) for aspect in aspects]

    def _asked(self, judging: Judging, erring: Erring, looks: Sequence[Look], *, at_once: bool) -> Judging:
        votes: list[list[WindowVote]] = [[] for _ in range(N_ASPECTS)]
        for window, aspects in looks:
            self.asked[erring.model] += 1 if at_once else len(aspects)
            for aspect in aspects:
                said = tuple(index for index in window if self._says(erring, aspect, index))
                votes[aspect].append(WindowVote(window.start, said))
        made = JudgingRound(model=erring.model, prompt="", votes=tuple(map(tuple, votes)))
        return msgspec.structs.replace(judging, rounds=(*judging.rounds, made))

    def _says(self, erring: Erring, aspect: int, index: int) -> bool:
        fixed = self._fixed[erring.model, aspect][index]
        drawn = self._chance.random() if fixed is None else fixed
        return drawn >= erring.misses if index in self.gold[aspect] else drawn < erring.invents


def simulated(always: float) -> Table:
    """Return the quality of labels and requests a paper, by way to judge."""
    rows: list[list[Cell]] = []
    for way in WAYS:
        n_right = n_missed = n_invented = 0
        asked: Counter[str] = Counter()
        for number in range(N_SIMULATED):
            paper = Simulation(Random(f"{SEED} {number}"), always)  # noqa: S311 - no secret
            for gold, found in zip(paper.gold, paper.labels(way), strict=True):
                n_right += len(gold & found)
                n_missed += len(gold - found)
                n_invented += len(found - gold)
            asked += paper.asked
        rows.append(
            [
                way.name,
                f"{100 * n_right / (n_right + n_invented):.1f}",
                f"{100 * n_right / (n_right + n_missed):.1f}",
                f"{100 * 2 * n_right / (2 * n_right + n_missed + n_invented):.1f}",
                *(f"{asked[model] / N_SIMULATED:.0f}" for model in (CHEAP.model, DEAR.model)),
            ]
        )
    return Table(columns=["way", "precision", "recall", "F1", "cheap requests", "dear"], rows=rows)


def dropped_drafts(share: float, n_drafts: int = 1_000) -> tuple[float, float]:
    """Return the share of drafts that unreadable windows drop: were one sentence enough, and as it is."""
    n_any = n_dropped = 0
    for number in range(n_drafts):
        chance, worst = Random(f"{SEED} {number}"), [0, 0]  # noqa: S311 - no secret
        for _ in range(N_ASPECTS):
            for place, n_times in enumerate((1, 2)):  # once, and again with another seed
                votes = tuple(
                    WindowVote(window.start, None if chance.random() < share**n_times else ())
                    for window in windows_of_paper(N_SENTENCES, WINDOW, OVERLAP)
                )
                made = JudgingRound(model="m", prompt="", votes=(votes,))
                judging = Judging(
                    paper_sha256="",
                    n_sentences=N_SENTENCES,
                    window=WINDOW,
                    overlap=OVERLAP,
                    rounds=(made,),
                    sources=((),),
                )
                worst[place] = max(worst[place], sum(not (one.yes or one.no) for one in sentence_votes(judging, 0)))
        n_any += worst[0] > 0
        n_dropped += worst[1] > MOST_UNJUDGED * N_SENTENCES
    return n_any / n_drafts, n_dropped / n_drafts


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", help="files of data sets; none: only what is simulated")
    names = parser.parse_args().data
    for always in (0.0, 0.5):
        print(f"Simulated, {100 * always:.0f} % of errors always made\n")
        print(as_markdown(simulated(always)), end="\n\n")
    before, now = dropped_drafts(0.02)
    print(f"2 % of windows unreadable: {100 * before:.1f} % of drafts dropped before, {100 * now:.2f} % now\n")
    if not names:
        return
    print(f"{Path(names[0]).name}: prompts\n")
    print(as_markdown(prompt_lengths(names[0])), end="\n\n")
    for data in names:
        print(f"{Path(data).name}: lost pairs / aspects without any source left, in %\n")
        print(as_markdown(lost_by_filters(data)), end="\n\n")


if __name__ == "__main__":
    main()
