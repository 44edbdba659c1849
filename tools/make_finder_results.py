"""Cross-validate the finder by paper, and write its tables into docs/results.md.

Of each data set: five folds by paper, one seed. The finder is trained on four folds and asked about the fifth, with
each prompt's own hypothesis, with another paper's, and with another paper of its fold in front of its own or behind.
Features are computed once an instance. Beside it stand systems without training.

Of comparisons, a second table asks each wording of `WORDINGS`, and the most similar other paper of the fold the same:
how often a marked sentence stands first and among the first five, and what the verdict says.

    python tools/make_finder_results.py ei.json [train.json] [--jobs 2] [--every 1]
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from evidencebench.data.cover import coverage_of
from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import TASKS
from evidencebench.execution.making import make_system
from evidencebench.query import Goal, Query
from evidencebench.scoring.measures import aspect_recall
from evidencebench.scoring.resampling import bootstrap
from evidencebench.scoring.selection import Selection
from evidencebench.system import PaperChance, RankingTask
from evidencebench.systems.changed_queries import derange_hypotheses, draw_distractors, with_distractor
from evidencebench.systems.features import RELEVANCE_FEATURES, feature_table
from evidencebench.systems.finder import Finder, asked_columns
from evidencebench.systems.question import question_of
from evidencebench.training.finder import (
    MIXED,
    WORDINGS,
    FinderExample,
    finder_examples,
    fit_finder,
    goal_of,
    in_other_words,
    write_finder,
)
from evidencebench.training.folds import paper_folds
from evidencebench.training.verdicts import foreign_papers

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results.md"
N_FOLDS, SEED = 5, 0
STRAYS = ("of_others", "of_baseline", "of_other_arm")
FEATURE_OF = {feature.name: feature for feature in RELEVANCE_FEATURES}
HEAD = "## The finder\n"
_INTRODUCTION = """\
Written by `tools/make_finder_results.py DATA...`, one part per data set. The trained finder is cross-validated (five
folds by paper, one seed). Each paper is asked its `own` hypothesis; if that compares, also in `other words` ("Does tea
affect blood pressure?" for "Tea, compared with water, changes blood pressure."); another paper's (`wrong`); and its own
with another paper of its fold before or after it (`two papers`).

About 50 configurations were tried, on one fold of Evidence Inference and five of train:

| tried | effect in points |
| :-- | :-- |
| features of the hypothesis's parts | +13 at `er_at_optimal`, Evidence Inference |
| mixed papers in training | Evidence Inference: +1.6, and wrong hypotheses lose 20 more at `er_at_10`; \
train: -0.5 to -4 |
| three forests, not one | +2 at train's two tasks with the fewest sentences |
| reading only the article that the hypothesis is about | about +10 at `two papers`, train |
| discount for repetition | up to -2 on Evidence Inference, where findings stated twice were marked twice |
| MiniLM's vectors as six features (not used) | train: table below; Evidence Inference, trained on 90 papers, asked \
about 50 others: +0.4 [-1.7, 2.7] and -0.4 [-1.6, 0.6] |
| losses, targets, 100 to 300 trees of 8 to 31 leaves, five groups of features, three strengths of the discount, \
twelve settings of the answer weights of `cues` | most within 2 of each other |

For `study`, a ridge regression is added to the trees (train; trees alone: by seed 40.5 to 43.3 at
`result_er_at_optimal`, with other features or targets 40.8 to 41.7):

| | er_at_optimal | er_at_10 | result_er_at_optimal | result_er_at_5 |
| :-- | --: | --: | --: | --: |
| trees | 46.1 | 70.7 | 41.6 | 65.8 |
| ridge regression | | | 39.5 | |
| both | 46.9 | 69.5 | 44.5 | 65.0 |
| both, with MiniLM's vectors | 46.7 | 70.4 | 42.5 | 65.5 |

**Wordings** (27 November 2026). The second table of Evidence Inference puts each prompt in eight wordings to its own
paper and to the most similar other one of its fold (TF-IDF cosine). Verdicts and probabilities are learned on two
halves of the other folds. `first`, `one of five`: a marked sentence is first, or among the first five. AUROC: of the
probability that a paper answers, own against other. `others none`, `own none`: `find` reports no evidence. `found
wrong`: share of other papers among those found, both asked equally often.

| tried | result |
| :-- | :-- |
| one parser for all wordings | 68 to 70 first, except keywords; with the earlier parts 34 to 71 |
| training on all wordings | within half a point |
| 24 ways to cut keywords | |
| a second model for the 25 best sentences, 16 variants | LambdaRank: +2.3 first |
| scores of strays (below) times 0.8, 0.5 or 0.2 | 0.5: +0.4 |
| verdict from the best score alone | AUROC 0.93 |
| with signs of the parts' words, 20 sets of signs | AUROC 0.99 for all |
| with words weighted by how rare they are in papers | "none" for 11 % of the hypotheses of train; without 24 % |

"None" is reported below the lower of two probabilities: 85 % of the other papers are below one, 4 % of the own below
the other. Strays are unmarked first sentences about other studies, the baseline alone, or the comparator alone without
a comparing word; 1 % of the marked sentences are such.
"""
# The package's model was trained on Evidence Inference, so that only other data say something of it.
UNTRAINED: Mapping[Goal, Sequence[str]] = {
    "answer": ("bm25", "cues"),
    "study": ("bm25", "cues", "finder", "finder:goal=answer"),
}
# The published files hold no comparisons, so that nothing of theirs can be asked in other words.
_CASES: Mapping[Goal, Sequence[str]] = {
    "answer": ("own", "other words", "wrong", "two papers"),
    "study": ("own", "wrong", "two papers"),
}

Recalls = dict[str, dict[str, list[float]]]
"""Case -> task -> the aspect recall of each instance of a fold."""


class Worded(NamedTuple):
    """What is found for a prompt in one wording, in its own paper and in the most similar other one."""

    wording: str
    prompt: str
    is_first: bool  # a marked sentence comes first
    is_near: bool  # one of the first five is marked
    strays: tuple[str, ...]  # what the first sentence tells of in place of this paper's results, where it is not marked
    top: float  # the highest chance of a sentence
    own: PaperChance
    other: PaperChance


class Study:
    """A data set in folds; the examples of each fold are computed once."""

    def __init__(self, path: str, *, every: int) -> None:
        self.every = every
        self.dataset = open_dataset(path)
        self.instances = list(self.dataset)
        self.goal = goal_of(self.instances[0])
        papers = [instance.query.paper_id for instance in self.instances]
        self.folds = paper_folds(papers, N_FOLDS, np.random.default_rng(SEED))
        self.wrong = derange_hypotheses([one.query for one in self.instances], np.random.default_rng(SEED))
        names = ["er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5"]
        self.tasks = [TASKS[name] for name in (names if self.goal == "study" else names[:2])]
        # Other papers are of the same fold; how common words are, of all: no label is looked at.
        self.foreign = foreign_papers([one.query for one in self.of_fold(fold)] for fold in range(N_FOLDS))
        self.examples: list[list[list[FinderExample]]] = []

    def of_fold(self, fold: int) -> list[Instance]:
        """Return the instances of a fold."""
        return [self.instances[place] for place in self.folds[fold]]


STUDY: Study  # the one at work; worker processes, which are forked, share its examples


def fold_examples(fold: int) -> list[list[FinderExample]]:
    """Return the examples of a fold; a distractor is a paper of the same fold."""
    with TemporaryDirectory() as folder:
        instances, is_mixed = STUDY.of_fold(fold), MIXED[STUDY.goal]
        return finder_examples(instances, Path(folder), mixed=is_mixed, foreign=STUDY.foreign, seed=SEED)


def fold_recalls(fold: int) -> tuple[dict[str, Recalls], list[Worded]]:
    """Return system -> its recalls on a fold, of the finder trained on the other folds and of the untrained ones.

    And what that finder says in each wording. Its chances and its verdict are from two halves of the other folds.
    """
    seen = [one for number, of_fold in enumerate(STUDY.examples) if number != fold for one in of_fold]
    with TemporaryDirectory() as folder:
        numbers = [number for number in range(N_FOLDS) if number != fold]
        ends = np.cumsum([len(STUDY.examples[number]) for number in numbers])[1]
        halves: dict[Goal, list[range]] = {}
        if STUDY.goal == "answer":
            halves["answer"] = [range(int(ends)), range(int(ends), len(seen))]
        write_finder(
            fit_finder({STUDY.goal: seen}, folds=halves, common={STUDY.goal: STUDY.foreign.common}, seed=SEED),
            Path(folder),
        )
        trained = Finder(model=Path(folder))
        found = {"finder, trained": recalls_of(trained, fold)}
        worded = list(worded_of(trained, fold)) if STUDY.goal == "answer" else []
    untrained = {name: recalls_of(make_system(name).system, fold) for name in UNTRAINED[STUDY.goal]}
    return {**found, **untrained}, worded


def worded_of(finder: Finder, fold: int) -> Iterator[Worded]:
    """Yield what a finder says of a fold's prompts in each wording. Of equal parts, it says the same."""
    instances = STUDY.of_fold(fold)
    for instance in instances[:: STUDY.every]:
        marked = {index for source in instance.labels.sources.values() for index in source}
        told: dict[object, Worded] = {}
        for wording in WORDINGS if marked else ():
            query = replace(instance.query, hypothesis=in_other_words(instance.query.hypothesis, wording))
            question = question_of(query.hypothesis)
            parts = (question.intervention, question.comparator, question.outcome)
            key = parts if question.is_split else query.hypothesis
            if key not in told:
                other = finder.answers(replace(STUDY.foreign.others[query.paper_id], hypothesis=query.hypothesis))
                own = finder.answers(query)
                assert own
                assert other
                order = finder.rank(query, RankingTask(budget=None)).sentences
                told[key] = Worded(
                    wording=wording,
                    prompt=instance.id,
                    is_first=order[0] in marked,
                    is_near=not marked.isdisjoint(order[:5]),
                    strays=() if order[0] in marked else strays_of(query, order[0]),
                    top=max(finder.chances(query) or (0.0,)),
                    own=own,
                    other=other,
                )
            yield told[key]._replace(wording=wording)


def strays_of(query: Query, index: int) -> tuple[str, ...]:
    """Return what a sentence tells of in place of this paper's results, as the features say."""
    paper = asked_columns(query, "answer")
    return tuple(name for name in STRAYS if feature_table(paper, (FEATURE_OF[name],))[index, 0])


def recalls_of(system: Any, fold: int) -> Recalls:
    """Return what a system finds in a fold's papers, in each case."""
    instances = STUDY.of_fold(fold)
    queries = {one.id: one.query for one in instances}
    distractors = draw_distractors(queries.values(), np.random.default_rng(SEED))
    found: Recalls = {case: {task.name: [] for task in STUDY.tasks} for case in _CASES[STUDY.goal]}
    for instance in instances:
        distractor = distractors[instance.id]
        mixed = with_distractor(instance.query, queries[distractor.instance_id], is_before=distractor.is_before)
        queries_of = {
            "own": instance.query,
            "other words": replace(
                instance.query, hypothesis=in_other_words(instance.query.hypothesis, "without comparator")
            ),
            "wrong": replace(instance.query, hypothesis=STUDY.wrong[instance.id]),
            "two papers": mixed.query,
        }
        for task in STUDY.tasks:
            if not task.applies_to(instance.labels):
                continue
            asked, coverage = task.ranking_task(instance), coverage_of(instance.labels, task.scope)
            for case, recalls in found.items():
                answer = system.rank(queries_of[case], asked)
                answer = mixed.own_answer(answer) if case == "two papers" else answer
                chosen = Selection(certain=answer.sentences[: asked.budget])
                recalls[task.name].append(aspect_recall(chosen, coverage))
    return found


def table_of(study: Study, folds: Sequence[dict[str, Recalls]]) -> list[str]:
    """Return the rows of the table of one data set."""
    rows = []
    for system in folds[0]:
        for case in _CASES[study.goal]:
            cells = []
            for task in study.tasks:
                values = [value for fold in folds for value in fold[system][case][task.name]]
                clusters = [
                    study.instances[place].cluster
                    for fold in study.folds
                    for place in fold
                    if task.applies_to(study.instances[place].labels)
                ]
                estimate = bootstrap(values, clusters)
                low, high = estimate.interval or (estimate.mean, estimate.mean)
                cells.append(f"{100 * estimate.mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]")
            rows.append(f"| {system} | {case} | {' | '.join(cells)} |")
    head = ["system", "asked", *(task.name for task in study.tasks)]
    return [f"| {' | '.join(head)} |", f"| {' | '.join([':--', ':--', *['--:'] * len(study.tasks)])} |", *rows]


def tables_of_wordings(worded: Sequence[Worded]) -> list[str]:
    """Return a row for each wording, and lines on what holds over all."""
    rows = ["| wording | first | one of five | AUROC | others none | own none | found wrong |"]
    rows.append("| :-- | --: | --: | --: | --: | --: | --: |")
    for wording in WORDINGS:
        of_wording = [one for one in worded if one.wording == wording]
        own, other = (verdicts_of([getattr(one, name) for one in of_wording]) for name in ("own", "other"))
        n_found = own.count("found") + other.count("found")
        cells = [
            sum(one.is_first for one in of_wording) / len(of_wording),
            sum(one.is_near for one in of_wording) / len(of_wording),
            auroc([one.own.chance for one in of_wording], [one.other.chance for one in of_wording]),
            other.count("none") / len(other),
            own.count("none") / len(own),
            other.count("found") / max(1, n_found),
        ]
        rows.append(f"| {wording} | {' | '.join(f'{100 * value:.1f}' for value in cells)} |")
    tops: dict[str, list[float]] = {}
    for one in worded:
        tops.setdefault(one.prompt, []).append(one.top)
    spread = np.median([max(of_prompt) - min(of_prompt) for of_prompt in tops.values()])
    converted = [one for one in worded if one.wording == "as converted"]
    strays = ", ".join(f"{name} {sum(name in one.strays for one in converted)}" for name in STRAYS)
    return [
        *rows,
        "",
        f"{len(tops):,} prompts. Between wordings, the highest probability differs by {spread:.3f} (median).",
        f"Strays, as converted: {strays}.",
    ]


def verdicts_of(told: Sequence[PaperChance]) -> list[str]:
    """Return what `find` says of each."""
    return [
        "none" if one.chance < one.none_below else "found" if one.chance >= one.found_from else "unsure" for one in told
    ]


def auroc(own: Sequence[float], other: Sequence[float]) -> float:
    """Return how often an own paper's chance is higher than another's; a tie counts half."""
    ranks = np.array(sorted(other))
    below = np.searchsorted(ranks, own, side="left") + np.searchsorted(ranks, own, side="right")
    return float(below.mean() / 2 / len(ranks))


def write_part(study: Study, table: Sequence[str]) -> None:
    """Put the part of a data set into the page, in place of an earlier one."""
    before, _, behind = RESULTS.read_text(encoding="utf-8").partition(HEAD)
    section, *after = behind.split("\n## ", 1)
    title = f"{study.dataset.name}\n"
    others = [part for part in section.split("\n### ")[1:] if not part.startswith(title)]
    papers = len({one.query.paper_id for one in study.instances})
    about = f"{len(study.instances):,} instances of {papers} papers, sha256 {study.dataset.sha256}."
    mine = "\n".join([title, about, "", *table, ""])
    parts = [f"### {part.strip()}\n" for part in sorted([*others, mine])]
    page = "\n".join([before.rstrip() + "\n", HEAD, _INTRODUCTION, *parts, *(f"## {rest}" for rest in after)])
    RESULTS.write_text(page, encoding="utf-8")


def main() -> None:
    """Write a part for each data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", help="data sets: what data convert makes of Evidence Inference, train")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="ask each nth prompt in all wordings")
    given = parser.parse_args()
    context = get_context("fork")
    for path in given.data:
        global STUDY  # noqa: PLW0603 - what forked workers share
        STUDY = Study(path, every=given.every)
        with context.Pool(given.jobs) as pool:
            STUDY.examples = pool.map(fold_examples, range(N_FOLDS), chunksize=1)
        with context.Pool(given.jobs) as pool:
            folds = pool.map(fold_recalls, range(N_FOLDS), chunksize=1)
        worded = [one for _, of_fold in folds for one in of_fold]
        tables = table_of(STUDY, [recalls for recalls, _ in folds])
        write_part(STUDY, [*tables, *(["", *tables_of_wordings(worded)] if worded else [])])


if __name__ == "__main__":
    main()
