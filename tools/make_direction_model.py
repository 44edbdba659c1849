"""Train what `find --split-by direction` answers with, and write its figures into docs/results.md.

Of what `data convert` makes of Evidence Inference: five folds by paper, one seed. A prompt's marked sentences are read
together, as one text; so are the first sentences that `cues` finds. The rule counts words of comparison.

    python tools/make_direction_model.py ei.json [--figures]
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.execution.making import make_system
from evidencebench.query import Kind
from evidencebench.scoring.resampling import bootstrap
from evidencebench.storage.whole_file import write_whole
from evidencebench.system import Brief
from evidencebench.systems.directions.classifier import LEARNED, SHIPPED, DirectionWeights, ReportedDirection
from evidencebench.systems.directions.features import (
    NOT_SIGNIFICANT,
    MarkedParts,
    direction_features,
    marked_words,
    reports_comparison,
)
from evidencebench.systems.selectors.hypothesis_parts import abbreviations
from evidencebench.training.folds import paper_folds, split_at_fold

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.md"
HEAD = "## What a sentence reports\n"
N_FOLDS, SEED, LEAST_PROMPTS, STRENGTH = 5, 0, 8, 3.0
LABELS = {
    "significantly increased": ReportedDirection.INCREASE,
    "significantly decreased": ReportedDirection.DECREASE,
    "no significant difference": ReportedDirection.NO_DIFFERENCE,
}
_INTRODUCTION = """\
Made by `tools/make_direction_model.py DATA --figures`: {n} prompts of {papers} papers of Evidence Inference whose
annotators name one direction most often; five folds by paper, one seed. Shares are in %, with 95 % intervals from
resampling papers. The model of `find --split-by direction` is a logistic regression over the words of a sentence, with
those of the hypothesis marked. The rule counts words of comparison, and takes p-values over 0.05 and "no", "not" or
"similar" for no difference. `marked` are the sentences that people marked; `found` the first one that `cues` finds,
whether it is marked or not; `each marked` is each marked sentence alone, as `find` asks.

What was tried: about 25 configurations on these folds. One- to three-word runs found no more than words; without the
order of marks and comparisons the model loses 5 points; swapping both arms as more examples costs 3; words of the
outcome as features add nothing; L1 loses 1; the strength of the penalty and the least number of prompts of a feature
(3, 8, 15) change less than a point. A fourth class learned from sentences that nobody marked hides 44 to 82 % of the
marked ones, so a sentence is "not said" only where it has no word of comparison and no p-value.

Known to be weak: asked with intervention and comparator exchanged, the model should exchange increase and decrease. Of
seven made-up sentences it does so in two; trials mostly report the intervention first, and it has learned that.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt: its paper, its label, and the marked words of its sentences."""

    paper: str
    label: ReportedDirection
    evidence: list[list[str]]
    found: list[list[str]]  # the first sentence that `cues` finds
    first: list[list[str]]  # the first ten without those of `evidence`


def prompt_of(instance: Instance, *, rank: Callable[[Instance], Sequence[int]]) -> Prompt | None:
    """Return the prompt of an instance; None where its annotators do not agree."""
    raw = msgspec.json.decode(b"" if instance.origin is None else bytes(instance.origin.raw))
    if raw["direction"] is None:
        return None
    query = instance.query
    parts = MarkedParts.of(query.hypothesis, abbreviations(query.sentences))
    marked = sorted({index for source in instance.labels.sources.values() for index in source})
    ranked = rank(instance)

    def words(indices: Sequence[int]) -> list[list[str]]:
        return [marked_words(query.sentences[index], parts) for index in indices]

    return Prompt(
        paper=query.paper_id,
        label=LABELS[raw["direction"]],
        evidence=words(marked),
        found=words(ranked[:1]),
        first=words([index for index in ranked if index not in marked]),
    )


def ranked_by_cues(instance: Instance) -> list[int]:
    """Return the first ten sentences that `cues` finds, without headings."""
    order = make_system("cues").rank(instance.query, Brief(budget=10)).sentences
    return [index for index in order if instance.query.kinds[index] is not Kind.HEADING][:10]


def features_of(texts: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the features of some sentences together."""
    return frozenset().union(*map(direction_features, texts))


def fitted(prompts: Sequence[Prompt], *, data: dict[str, object]) -> DirectionWeights:
    """Return the weights that are fitted to prompts."""
    features = [features_of(prompt.evidence) for prompt in prompts]
    names, counts = np.unique([name for of_prompt in features for name in of_prompt], return_counts=True)
    kept = set(names[counts >= LEAST_PROMPTS].tolist())
    rows = [dict.fromkeys(sorted(known), 1 / np.sqrt(max(1, len(known)))) for known in (one & kept for one in features)]
    vectorizer = DictVectorizer(sparse=False)
    table = vectorizer.fit_transform(rows)
    model = OneVsRestClassifier(LogisticRegression(solver="liblinear", C=STRENGTH, random_state=SEED))
    model.fit(table, [LEARNED.index(prompt.label) for prompt in prompts])
    columns = np.round(np.vstack([one.coef_[0] for one in model.estimators_]).T, 3).tolist()
    first, second, third = (round(float(one.intercept_[0]), 3) for one in model.estimators_)
    weights = {name: tuple(of_name) for name, of_name in zip(vectorizer.feature_names_, columns, strict=True)}
    return DirectionWeights(data=data, starts=(first, second, third), weights=weights)


def ruled(features: frozenset[str]) -> ReportedDirection:
    """Return what a few rules say: the baseline."""
    if NOT_SIGNIFICANT in features or "core:NONE" in features:
        return ReportedDirection.NO_DIFFERENCE
    up = sum(f"core:{run}" in features for run in ("I UP", "UP I", "C DOWN"))
    down = sum(f"core:{run}" in features for run in ("I DOWN", "DOWN I", "C UP"))
    up, down = (up, down) if up or down else ("core:UP" in features, "core:DOWN" in features)
    if up == down:
        return ReportedDirection.NO_DIFFERENCE
    return ReportedDirection.INCREASE if up > down else ReportedDirection.DECREASE


def figures(prompts: Sequence[Prompt]) -> list[str]:
    """Return the rows of the table, and the sentence below it."""
    papers = [prompt.paper for prompt in prompts]
    folds = paper_folds(papers, N_FOLDS, np.random.default_rng(SEED))
    told: dict[tuple[str, str], list[tuple[str, ReportedDirection, ReportedDirection]]] = {}
    n_silent, n_marked, n_other_silent, n_other = 0, 0, 0, 0
    for fold in folds:
        seen, held_back = split_at_fold(prompts, fold)
        weights = fitted(seen, data={})

        answers: dict[str, Callable[[frozenset[str]], ReportedDirection]] = {
            "majority": lambda _: ReportedDirection.NO_DIFFERENCE,
            "model": weights.direction,
            "rule": ruled,
        }
        for prompt in held_back:
            texts = {
                "marked": [features_of(prompt.evidence)],
                "found": [features_of(prompt.found)],
                "each marked": [direction_features(words) for words in prompt.evidence],
            }
            for case, of_case in texts.items():
                for name, answer in answers.items():
                    rows = told.setdefault((name, case), [])
                    rows.extend((prompt.paper, prompt.label, answer(features)) for features in of_case)
            n_marked += len(prompt.evidence)
            n_silent += sum(not reports_comparison(words) for words in prompt.evidence)
            n_other += len(prompt.first)
            n_other_silent += sum(not reports_comparison(words) for words in prompt.first)
    table = ["| answered by | sentences | right | macro F1 |", "| :-- | :-- | --: | --: |"]
    for (name, case), rows in sorted(told.items(), key=lambda item: item[0][1]):
        estimate = bootstrap([float(label == said) for _, label, said in rows], [paper for paper, _, _ in rows])
        low, high = estimate.interval or (estimate.mean, estimate.mean)
        score = f1_score([label for _, label, _ in rows], [said for _, _, said in rows], average="macro")
        right = f"{100 * estimate.mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
        table.append(f"| {name} | {case} | {right} | {100 * score:.1f} |")
    silent = (
        f"Of the marked sentences, {100 * n_silent / n_marked:.0f} % hold neither a word of comparison nor a "
        f"p-value, and would be 'not said'; "
        f"of the others among the first ten of `cues`, {100 * n_other_silent / n_other:.0f} %."
    )
    return [*table, "", silent]


def main() -> None:
    """Write the weights, and with ``--figures`` the part of docs/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="what data convert makes of Evidence Inference")
    parser.add_argument("--figures", action="store_true", help="cross-validate, and write the part of docs/results.md")
    given = parser.parse_args()
    rank: Callable[[Instance], Sequence[int]] = ranked_by_cues if given.figures else lambda _: ()
    dataset = open_dataset(given.data)
    prompts = [found for found in (prompt_of(one, rank=rank) for one in dataset) if found is not None]
    n_papers = len({prompt.paper for prompt in prompts})
    about = {"name": "Evidence Inference 2.0", "n_prompts": len(prompts), "n_papers": n_papers}
    weights = fitted(prompts, data={**about, "sha256": dataset.sha256})
    write_whole(SHIPPED, _lines(weights).encode())
    if given.figures:
        before, _, after = RESULTS.read_text(encoding="utf-8").partition(HEAD)
        behind = "".join(f"\n## {part}" for part in after.split("\n## ")[1:])
        text = _INTRODUCTION.format(n=f"{len(prompts):,}", papers=n_papers)
        part = "\n".join([before.rstrip() + "\n", HEAD, text, *figures(prompts), ""])
        RESULTS.write_text(part + behind, encoding="utf-8")


def _lines(weights: DirectionWeights) -> str:
    """Return weights as JSON, a feature a line."""
    head = msgspec.json.encode(msgspec.structs.replace(weights, weights={})).decode().removesuffix("{}}")
    rows = (
        f"{msgspec.json.encode(name).decode()}:{msgspec.json.encode(of_name).decode()}"
        for name, of_name in weights.weights.items()
    )
    return head + "{\n" + ",\n".join(rows) + "\n}}\n"


if __name__ == "__main__":
    main()
