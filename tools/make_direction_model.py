"""Train what `find --split-by direction` answers with, and write its figures into docs/results.md.

Of what `data convert` makes of Evidence Inference: five folds by paper, one seed. A prompt's marked sentences are read
together, as one text; so are the first sentences that `cues` finds. The rule counts words of comparison.

    python tools/make_direction_model.py ei.json [--figures]
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import is_
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
from evidencebench.files.atomic import write_whole
from evidencebench.query import Kind
from evidencebench.scoring.resampling import bootstrap
from evidencebench.system import Brief
from evidencebench.systems.directions import (
    LEARNED,
    NOT_SIGNIFICANT,
    OPPOSITE,
    SHIPPED,
    DirectionWeights,
    ReportedDirection,
    direction_features,
    marked_words,
    part_marks,
    reports_comparison,
    turned_to_intervention,
)
from evidencebench.systems.relevance import abbreviations
from evidencebench.training.folds import paper_folds, split_at_fold

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.md"
HEAD = "## What a sentence reports\n"
N_FOLDS, N_INNER_FOLDS, SEED, LEAST_PROMPTS, STRENGTH, UNSAID = 5, 4, 0, 8, 3.0, 0.345
LABELS = {
    "significantly increased": ReportedDirection.INCREASE,
    "significantly decreased": ReportedDirection.DECREASE,
    "no significant difference": ReportedDirection.NO_DIFFERENCE,
}
_INTRODUCTION = """\
Made by `tools/make_direction_model.py DATA --figures`: {n} prompts of {papers} papers of Evidence Inference whose
annotators name one direction most often; five folds by paper, one seed. Shares are in %, with 95 % intervals from
resampling papers. The model of `find --split-by direction` is a logistic regression over the words of a sentence, with
those of the hypothesis marked; "higher with water than with tea" is turned into "higher with tea than with water", and
answered with the opposite. The rule counts words of comparison, and takes p-values over 0.05 and "no", "not" or
"similar" for no difference. Each sentence is asked alone, as `find` asks. `marked` are the sentences that people
marked; `found` the first one that `cues` finds, whether it is marked or not; `with both arms` the marked ones in which
words of the intervention and of the comparator stand; `arms exchanged` the same ones, with the arms of the hypothesis
exchanged, so that an increase is a decrease. Before sentences were turned, the model had 77.4 on `marked`, 71.9 on
`found`, 77.4 on `with both arms` and 56.4 on `arms exchanged`.

What was tried: about 40 configurations on these folds. One- to three-word runs found no more than words; without the
order of marks and comparisons the model loses 5 points; words of the outcome as features add nothing; L1 loses 1; the
strength of the penalty and the least number of prompts of a feature (3, 8, 15) change less than a point. Against
exchanged arms, more examples with both arms swapped cost 1 to 3 points, and turning sentences by the arm that comes
first where none is compared against costs 1; which words turn a sentence, and how near to the arm, changes less than
half a point. A fourth class learned from sentences that nobody marked hides 44 to 82 % of the marked ones, so a
sentence is "not said" only where it has no word of comparison and no p-value, where its words state no finding of its
paper (a level of significance, a size that was planned, an aim, a definition, what others found), and, in `find`, where
its section is an introduction or the methods. Of the 2,469 marked sentences of 711 papers that had a direction before
that rule, 2,466 keep it. Of 33,908 sentences of methods of 726 articles in JATS, 6,638 had a direction; 27 have one
with the sections, 5,820 by their words alone. Of 12,187 of introductions, 4,532 had one; none has, and 3,811 by their
words alone (23 November 2026).
"""

_SURE = """\
`find` says nothing where the best of the three scores leads by little: by less than it does in 34.5 % of the marked
sentences of the training papers, when they are held back in turn. So it is wrong less often than the model that must
answer. Shares are in %, `said` of all, `the opposite` of those that were marked as a significant increase or decrease.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt: its paper, its label, and the marked words of its sentences."""

    paper: str
    label: ReportedDirection
    evidence: list[list[str]]
    found: Sequence[list[str]] = ()  # the first sentence that `cues` finds
    first: Sequence[list[str]] = ()  # the first ten without those of `evidence`


def prompt_of(instance: Instance, *, rank: Callable[[Instance], Sequence[int]]) -> Prompt | None:
    """Return the prompt of an instance; None where its annotators do not agree."""
    raw = msgspec.json.decode(b"" if instance.origin is None else instance.origin.raw)
    if raw["direction"] is None:
        return None
    query = instance.query
    marks = part_marks(query.hypothesis, abbreviations(query.sentences))
    marked = sorted({index for source in instance.labels.sources.values() for index in source})
    ranked = rank(instance)

    def words(indices: Sequence[int]) -> list[list[str]]:
        return [marked_words(query.sentences[index], marks) for index in indices]

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


def examples_of(prompt: Prompt) -> list[tuple[frozenset[str], int]]:
    """Return the features of a prompt's marked sentences, together, and the place of its label in `LEARNED`.

    Sentences that compare against the intervention are turned, and are an example of their own.
    """
    turned = [turned_to_intervention(words) for words in prompt.evidence]
    return [
        (features_of([words for words, is_turned in turned if is_turned == of_turned]), LEARNED.index(label))
        for of_turned, label in ((False, prompt.label), (True, OPPOSITE[prompt.label]))
        if any(is_turned == of_turned for _, is_turned in turned)
    ]


def fitted(prompts: Sequence[Prompt], *, data: dict[str, object]) -> DirectionWeights:
    """Return the weights that are fitted to prompts."""
    examples = [example for prompt in prompts for example in examples_of(prompt)]
    features = [of_example for of_example, _ in examples]
    names, counts = np.unique([name for of_prompt in features for name in of_prompt], return_counts=True)
    kept = set(names[counts >= LEAST_PROMPTS].tolist())
    rows = [dict.fromkeys(sorted(known), 1 / np.sqrt(max(1, len(known)))) for known in (one & kept for one in features)]
    vectorizer = DictVectorizer(sparse=False)
    table = vectorizer.fit_transform(rows)
    model = OneVsRestClassifier(LogisticRegression(solver="liblinear", C=STRENGTH, random_state=SEED))
    model.fit(table, [label for _, label in examples])
    columns = np.round(np.vstack([one.coef_[0] for one in model.estimators_]).T, 3).tolist()
    first, second, third = (round(float(one.intercept_[0]), 3) for one in model.estimators_)
    weights = {name: tuple(of_name) for name, of_name in zip(vectorizer.feature_names_, columns, strict=True)}
    return DirectionWeights(data=data, starts=(first, second, third), weights=weights)


def sure(prompts: Sequence[Prompt], *, data: dict[str, object]) -> DirectionWeights:
    """Return fitted weights that leave a share of the marked sentences unsaid, by leads on papers held back."""
    leads: list[float] = []
    for fold in paper_folds([prompt.paper for prompt in prompts], N_INNER_FOLDS, np.random.default_rng(SEED)):
        seen, held_back = split_at_fold(prompts, fold)
        weights = fitted(seen, data={})
        words = [words for prompt in held_back for words in prompt.evidence]
        leads += [weights.leading(one)[1] if reports_comparison(one) else -1.0 for one in words]
    least = round(float(np.quantile(leads, UNSAID)), 3)
    return msgspec.structs.replace(fitted(prompts, data=data), least=least)


def ruled(words: Sequence[str]) -> ReportedDirection:
    """Return what a few rules say: the baseline."""
    features = direction_features(words)
    if NOT_SIGNIFICANT in features or "core:NONE" in features:
        return ReportedDirection.NO_DIFFERENCE
    up = sum(f"core:{run}" in features for run in ("I UP", "UP I", "C DOWN"))
    down = sum(f"core:{run}" in features for run in ("I DOWN", "DOWN I", "C UP"))
    up, down = (up, down) if up or down else ("core:UP" in features, "core:DOWN" in features)
    if up == down:
        return ReportedDirection.NO_DIFFERENCE
    return ReportedDirection.INCREASE if up > down else ReportedDirection.DECREASE


def cases(prompt: Prompt) -> dict[str, list[tuple[list[str], ReportedDirection]]]:
    """Return the sentences of each column of figures, and the right answer."""
    marked = [(words, prompt.label) for words in prompt.evidence]
    both = [(words, label) for words, label in marked if {"I", "C"} <= set(words)]
    exchanged = [([{"I": "C", "C": "I"}.get(word, word) for word in words], OPPOSITE[label]) for words, label in both]
    found = [(words, prompt.label) for words in prompt.found]
    return {"marked": marked, "with both arms": both, "arms exchanged": exchanged, "found": found}


def figures(prompts: Sequence[Prompt]) -> list[str]:
    """Return the rows of the table, and the sentence below it."""
    papers = [prompt.paper for prompt in prompts]
    folds = paper_folds(papers, N_FOLDS, np.random.default_rng(SEED))
    told: dict[tuple[str, str], list[tuple[str, ReportedDirection, ReportedDirection]]] = {}
    n_silent, n_marked, n_other_silent, n_other = 0, 0, 0, 0
    for fold in folds:
        seen, held_back = split_at_fold(prompts, fold)
        weights = sure(seen, data={})

        def lead(words: Sequence[str], weights: DirectionWeights = weights) -> ReportedDirection:
            return weights.leading(words)[0]

        def find(words: Sequence[str], weights: DirectionWeights = weights) -> ReportedDirection:
            return weights.direction(words) if reports_comparison(words) else ReportedDirection.NOT_SAID

        answers: dict[str, Callable[[Sequence[str]], ReportedDirection]] = {
            "majority": lambda _: ReportedDirection.NO_DIFFERENCE,
            "model": lead,
            "find": find,
            "rule": ruled,
        }
        for prompt in held_back:
            for case, sentences in cases(prompt).items():
                for name, answer in answers.items():
                    rows = told.setdefault((name, case), [])
                    rows.extend((prompt.paper, label, answer(words)) for words, label in sentences)
            n_marked += len(prompt.evidence)
            n_silent += sum(not reports_comparison(words) for words in prompt.evidence)
            n_other += len(prompt.first)
            n_other_silent += sum(not reports_comparison(words) for words in prompt.first)
    table = ["| answered by | sentences | right | macro F1 |", "| :-- | :-- | --: | --: |"]
    surely = ["| sentences | said | right of what is said | the opposite |", "| :-- | --: | --: | --: |"]
    for (name, case), rows in sorted(told.items(), key=lambda item: item[0][1]):
        if name == "find":
            surely.append(f"| {case} | {_said(rows)} |")
            continue
        estimate = bootstrap([float(label == said) for _, label, said in rows], [paper for paper, _, _ in rows])
        low, high = estimate.interval or (estimate.mean, estimate.mean)
        score = f1_score([label for _, label, _ in rows], [said for _, _, said in rows], average="macro")
        right = f"{100 * estimate.mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
        table.append(f"| {name} | {case} | {right} | {100 * score:.1f} |")
    silent = (
        f"Of the marked sentences, {100 * n_silent / n_marked:.0f} % are 'not said' by their words; "
        f"of the others among the first ten of `cues`, {100 * n_other_silent / n_other:.0f} %."
    )
    return [*table, "", _SURE, *surely, "", silent]


def _said(rows: Sequence[tuple[str, ReportedDirection, ReportedDirection]]) -> str:
    said = [(label, answer) for _, label, answer in rows if answer is not ReportedDirection.NOT_SAID]
    significant = [(label, answer) for _, label, answer in rows if label is not ReportedDirection.NO_DIFFERENCE]
    n_opposite = sum(answer is OPPOSITE[label] for label, answer in significant)
    shares = (len(said) / len(rows), sum(map(is_, *zip(*said, strict=True))) / len(said), n_opposite / len(significant))
    return " | ".join(f"{100 * share:.1f}" for share in shares)


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
    weights = sure(prompts, data={**about, "sha256": dataset.sha256})
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
