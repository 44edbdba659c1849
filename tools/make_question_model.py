"""Train what `find` answers readers' questions and claims with, and measure it by paper.

    python tools/make_question_model.py ../shared/data --fields FOLDER [--figures | --held-out] [--system bm25]
        [--meaning minilm]

FOLDER has the papers of `questions/fields.json`, which lie in two folders of the data. Without an option, the model is
written into the package. ``--figures`` measures it: six folds by paper. ``--held-out`` asks the package's model about
the papers of `held_out.toml`, which are in no training: once, at the end. ``--system`` asks another one; with
``--figures``, ``--meaning`` also measures the finder that asks such a system beside.
"""

import argparse
import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from evidencebench import make_system, read_paper
from evidencebench.data.instance import Instance, Labels
from evidencebench.papers.paper import Paper
from evidencebench.query import Kind, Query
from evidencebench.scoring.resampling import bootstrap
from evidencebench.system import NamedSystem, RankingTask
from evidencebench.systems.finder import SHIPPED_FOR_QUESTIONS
from evidencebench.tables import Cell, Table, as_markdown
from evidencebench.training.finder import FinderTraining
from evidencebench.training.folds import paper_folds, split_at_fold

HELD_OUT = tomllib.loads(Path(__file__).with_name("held_out.toml").read_text(encoding="utf-8"))
CLAIMS = "claims/cl_scisumm_2018_train.json"
N_FOLDS, SEED, MOST, N_RUN = 6, 0, 5, 6
SETS = {"questions/trials.json": "trials", "questions/fields.json": "fields", CLAIMS: "claims"}


class Asked(NamedTuple):
    """A question as an instance, with the set that it is of, and its kind there."""

    set: str
    kind: str
    instance: Instance

    @property
    def is_absent(self) -> bool:
        return not self.instance.labels.aspects


def main() -> None:
    """Train, or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--fields", type=Path, required=True)
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--held-out", action="store_true", dest="is_held_out")
    parser.add_argument("--system", default="finder")
    parser.add_argument("--meaning")
    options = parser.parse_args()
    folders = {
        "questions/trials.json": options.data / "evidence_inference" / "xml",
        "questions/fields.json": options.fields,
    }
    asked = [*claims(options.data, is_held_out=options.is_held_out)]
    for name, folder in folders.items():
        asked += questions(options.data / name, folder, name, is_held_out=options.is_held_out)
    if options.is_held_out or options.system != "finder":
        system = make_system(options.system)
        report(asked, [answers(system, one) for one in asked])
    elif options.figures:
        for told in by_paper(asked, ["", f",meaning={options.meaning}"] if options.meaning else [""]):
            report(asked, told)
    else:
        train([one.instance for one in asked], SHIPPED_FOR_QUESTIONS)


def train(instances: Sequence[Instance], folder: Path) -> None:
    """Write a model into a folder."""
    training = FinderTraining(asks="questions")
    training.fit(instances, folder, seed=SEED, data={"name": "CL-SciSumm 2018 (CC BY 4.0), readers' questions"})


class Told(NamedTuple):
    """What a system says to a question: the numbers of the first lines, their chances, the chance of its paper."""

    first: bool
    one_of_five: bool
    verdict: str
    chances: Sequence[float]
    is_answer: Sequence[bool]


def by_paper(asked: Sequence[Asked], all_options: Sequence[str]) -> list[list[Told]]:
    """Return what models say that were trained without a question's paper, with each of some options."""
    papers = [one.instance.query.paper_id for one in asked]
    all_told: list[dict[int, Told]] = [{} for _ in all_options]
    for number, fold in enumerate(paper_folds(papers, N_FOLDS, np.random.default_rng(SEED))):
        seen, held_back = split_at_fold(list(enumerate(asked)), fold)
        with TemporaryDirectory() as folder:
            train([one.instance for _, one in seen], Path(folder) / "model")
            for options, told in zip(all_options, all_told, strict=True):
                system = make_system(f"finder:model={folder}/model{options}")
                told.update({at: answers(system, one) for at, one in held_back})
        print(f"fold {number + 1} of {N_FOLDS}", flush=True)
    return [[told[at] for at in range(len(asked))] for told in all_told]


def answers(system: NamedSystem, asked: Asked) -> Told:
    """Return what a system says to a question."""
    query, sources = asked.instance.query, asked.instance.labels.sources
    some = {index for of_aspect in sources.values() for index in of_aspect}
    best = set(sources.get("fully", some))
    ranked = [
        index
        for index in system.rank(query, RankingTask(budget=None)).sentences
        if query.kinds[index] is not Kind.HEADING
    ]
    texts = list(dict.fromkeys(query.sentences[index] for index in ranked))[:MOST]
    shown = [next(index for index in ranked if query.sentences[index] == text) for text in texts]
    chances = system.chances(query) or [0.0] * len(query.sentences)
    said = system.answers(query)
    verdict = ""
    if said is not None:
        verdict = "none" if said.chance < said.none_below else "found" if said.chance >= said.found_from else "unsure"
    return Told(
        first=shown[0] in best,
        one_of_five=not some.isdisjoint(shown),
        verdict=verdict,
        chances=[chances[index] for index in ranked],
        is_answer=[index in some for index in ranked],
    )


def report(asked: Sequence[Asked], told: Sequence[Told]) -> None:
    """Print the tables: by set and kind, verdicts, and how chances hold."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(asked):
        groups[f"{one.set}: absent" if one.is_absent else one.set].append(at)
        if not one.is_absent and one.set != "claims":
            groups[f"{one.set}: {one.kind}"].append(at)
    rows: list[list[Cell]] = []
    for name, places in sorted(groups.items()):
        papers = [asked[at].instance.query.paper_id for at in places]
        hits: list[Cell] = ["", ""]
        if "absent" not in name:
            hits = [interval([told[at].first for at in places], papers)]
            hits.append(interval([told[at].one_of_five for at in places], papers))
        shares = [f"{100 * np.mean([told[at].verdict == word for at in places]):.1f}" for word in ("found", "none")]
        rows.append([name, len(places), *hits, *shares])
    print(
        as_markdown(Table(columns=["set", "questions", "first, %", "one of five, %", "found, %", "none, %"], rows=rows))
    )
    chances = np.concatenate([told[at].chances for at, one in enumerate(asked) if not one.is_absent])
    is_answer = np.concatenate([told[at].is_answer for at, one in enumerate(asked) if not one.is_absent])
    for low in np.arange(0, 1, 0.1):
        inside = (chances >= low) & (chances < low + 0.1)
        if inside.any():
            said, are = chances[inside].mean(), is_answer[inside].mean()
            print(f"chances from {low:.1f}: {inside.sum()} lines, said {said:.3f}, are {are:.3f}")


def interval(values: Sequence[bool], papers: Sequence[str]) -> str:
    """Return a mean in %, with its interval over papers."""
    estimate = bootstrap([float(value) for value in values], papers)
    low, high = estimate.interval or (estimate.mean, estimate.mean)
    return f"{100 * estimate.mean:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def claims(data: Path, *, is_held_out: bool) -> Iterator[Asked]:
    """Yield CL-SciSumm's claims, of the held-out papers or of the others."""
    content = json.loads((data / CLAIMS).read_text(encoding="utf-8"))
    held_out = set(HELD_OUT[CLAIMS].split())
    for claim in content["claims"]:
        if (claim["paper"] in held_out) == is_held_out:
            paper = content["papers"][claim["paper"]]
            query = Query(
                instance_id=claim["id"],
                paper_id=claim["paper"],
                hypothesis=claim["claim"],
                sentences=tuple(paper["sentences"]),
                kinds=tuple(map(Kind, paper["kinds"])),
                goal="answer",
            )
            yield Asked(
                "claims", claim["facet"], instance(query, {"marked": sorted({i for of in claim["marked"] for i in of})})
            )


def questions(file: Path, folder: Path, name: str, *, is_held_out: bool) -> Iterator[Asked]:
    """Yield readers' questions with the lines that answer them, of the held-out papers or of the others."""
    held_out = set(HELD_OUT[name].split())
    for number, asked in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        if (asked["paper"] in held_out) == is_held_out:
            query = paper_in(folder / asked["paper"]).query_for(asked["question"], goal="answer", with_units=True)
            query = replace(query, paper_id=asked["paper"])  # not where it lies, since folds are drawn by it
            sources: dict[str, list[int]] = {}
            if not asked["absent"]:
                sources = {"answered": met(query, [*asked["best"], *asked["also"]]), "fully": met(query, asked["best"])}
            made = instance(query, {aspect: lines for aspect, lines in sources.items() if lines}, f"{name}-{number}")
            if asked["absent"] or made.labels.aspects:  # a few quotes are in no line that was read
                yield Asked(SETS[name], asked["kind"], made)


def instance(query: Query, sources: dict[str, list[int]], name: str = "") -> Instance:
    """Return an instance whose aspects are how well its question is answered."""
    named: dict[str, Any] = {"instance_id": name or query.instance_id}
    made = Query(**{field: getattr(query, field) for field in query.__slots__} | named)
    of_aspects = {aspect: tuple(lines) for aspect, lines in sources.items()}
    return Instance(query=made, labels=Labels(aspects=tuple(of_aspects), sources=of_aspects))


@lru_cache
def paper_in(file: Path) -> Paper:
    """Return a paper, read once."""
    return read_paper(file)


def met(query: Query, quotes: Sequence[str]) -> list[int]:
    """Return the lines that hold a quote, or half of its runs of six words."""
    return [
        index
        for index, (text, kind) in enumerate(zip(query.sentences, query.kinds, strict=True))
        if kind is not Kind.HEADING and any(is_met(text, quote) for quote in quotes)
    ]


def is_met(text: str, quote: str) -> bool:
    """Say whether a line holds a quote."""
    line, wanted = words(text), words(quote)
    joined, searched = " ".join(wanted), " ".join(line)
    if not wanted:
        return False
    if joined in searched or (len(searched) > 40 and searched in joined):  # noqa: PLR2004 - characters: a line of some length
        return True
    both = runs(line), runs(wanted)
    return 2 * len(both[0] & both[1]) >= min(map(len, both))


def words(text: str) -> list[str]:
    """Return the small words of a text."""
    return re.findall(r"[a-z0-9]+", text.lower())


def runs(of_text: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the runs of six words."""
    return {tuple(of_text[at : at + N_RUN]) for at in range(max(1, len(of_text) - N_RUN + 1))}


if __name__ == "__main__":
    main()
