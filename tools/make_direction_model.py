"""Train what `find` reads directions with, and write its figures into docs/results.md.

Of what `data convert` makes of Evidence Inference: five folds by paper, one seed.

    python tools/make_direction_model.py ei.json [--figures]

With ``--model`` it writes nothing, and prints the same shares of what a language model says, as `find --split-model`
asks it, of the marked sentences of every nth prompt. Replies are stored: what was asked is not paid twice.

    python tools/make_direction_model.py ei.json --model openai/gpt-4o-mini --every 20
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from evidencebench.execution.rewriting import asker_from
from evidencebench.files.atomic import write_whole
from evidencebench.query import Kind
from evidencebench.scoring.resampling import bootstrap
from evidencebench.system import RankingTask
from evidencebench.systems.directions import (
    LEARNED,
    NOT_SIGNIFICANT,
    SHIPPED,
    DirectionWeights,
    ReportedDirection,
    Stance,
    direction_features,
    marked_words,
    part_marks,
    stance_of,
    turned_to_intervention,
)
from evidencebench.systems.llm.rewriting import directions_by_model
from evidencebench.systems.question import ParsedQuestion, question_of
from evidencebench.systems.relevance import abbreviations
from evidencebench.training.folds import paper_folds, split_at_fold

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.md"
HEAD = "## What a sentence reports\n"
N_FOLDS, N_INNER_FOLDS, SEED, LEAST_EXAMPLES, STRENGTH, UNSAID = 5, 4, 0, 16, 1.0, 0.33
WORDINGS = (
    "{i}, compared with {c}, changes {o}.",
    "Does {i} affect {o} compared with {c}?",
    "{i} reduces {o} compared to {c}",
    "What is the effect of {i} versus {c} on {o}?",
    "Is {o} lower with {i} than with {c}?",
    "{i} changes {o}",
)
OPPOSITE = dict(zip(LEARNED, (LEARNED[1], LEARNED[0], LEARNED[2]), strict=True))
LEARNED_FROM = (WORDINGS[0], WORDINGS[-1])  # with both arms, and with one
_SUPPORTS, _CONTRADICTS, _NONE = Stance
# Claims, with what an increase, a decrease and no difference mean for them.
CLAIMS = {
    "an increase": ("{i} increases {o} compared with {c}", (_SUPPORTS, _CONTRADICTS, _NONE)),
    "a decrease": ("Does {i} reduce {o} compared with {c}?", (_CONTRADICTS, _SUPPORTS, _NONE)),
    "no difference": ("{i} does not change {o} compared with {c}", (_CONTRADICTS, _CONTRADICTS, _SUPPORTS)),
    "no decrease": ("{i} does not reduce {o} compared with {c}", (_SUPPORTS, _CONTRADICTS, _SUPPORTS)),
}
LABELS = {
    "significantly increased": ReportedDirection.INCREASE,
    "significantly decreased": ReportedDirection.DECREASE,
    "no significant difference": ReportedDirection.NO_DIFFERENCE,
}
_INTRODUCTION = """\
Written by `tools/make_direction_model.py DATA --figures`, on {n} prompts of Evidence Inference ({papers} papers) whose
annotators name one direction most often; five folds by paper, one seed; shares in %.

The model is a logistic regression over the words of a sentence, with those of the hypothesis marked. "Higher with water
than with tea" is read as "higher with tea than with water", then reversed. The model sees which of two numbers is
larger, and what "improved" means for the outcome. The scores of the first ten sentences, divided by twice their rank,
are added to each sentence's own. No direction is reported if the sentence's own words speak against it, if it leads by
little, or if an increase and a decrease are close; the threshold was set on papers held back from training.

| name | meaning |
| :-- | :-- |
| `marked` | sentences that people marked, read beside the first ten of `{system}`, not trained on these papers |
| `found first` | the first of these ten, marked or not |
| `both arms named` | the marked ones with words of intervention and comparator |
| `arms exchanged` | the same with the arms exchanged, which makes an increase a decrease |
| `said` | share with a direction |
| `the opposite` | share of significant increases and decreases reported as the reverse |
| `reversed` | share with "supports" and "contradicts" confused |
| rule | counts comparing words; p over 0.05, "no", "not", "similar" mean no difference |

Beside the first ten of other systems (first wording, then the worst):

| system | said | right of what is said | the opposite |
| :-- | --: | --: | --: |
| `bm25` | 69.3, 67.6 | 89.0, 87.3 | 3.1, 4.6 |
| the shipped finder, which has seen these papers | 69.2, 68.1 | 89.9, 88.2 | 2.6, 3.8 |

About 50 configurations were tried on five folds and 90 on three, mostly ways to weight other sentences, and nine rules:

| tried | effect |
| :-- | :-- |
| a sentence's own words first | corrects most of the 166 unmarked sentences (of 9,583) with p below 0.05 read as no \
difference; 0.6 points more opposites |
| without the numbers; without what "improved" means | 4.0 % and 3.5 % the opposite, not 2.9 |
| "intervention" as a word for the intervention; single sentences as examples; other weights by rank; "placebo", \
"control", "sham" as words of an unnamed comparator | less than a point |
| nothing reported if "than" is near no arm | a point more opposites; the eight other rules moved a few sentences |
| a fourth class learned from unmarked sentences | hides 44 to 82 % of the marked ones; rules instead |

By these rules, a level of significance, a planned size, an aim, a definition, what others found, who was randomised and
baselines are no findings; in `find`, nor are introductions and methods, which have 316 of 1,150 sentences that it shows
from 115 JATS articles. Where sections are unknown, 20 of these get a direction.

For "improved", "better" and "worse", `find` has a list of outcome values. 41 % of outcomes are in it; the others get no
stance on "better". On 97 prompts with such words in the marked sentences, it agrees with the marked direction in 85 %;
five of the others are improvements of a harm that annotators took for increases.
"""

_STANCES = """\
Stances, for hypotheses made of each prompt: "I increases O compared with C", "Does I reduce O ...?", "I does not change
O ...", "I does not reduce O ...".
"""

_ANSWERED = """\
With an answer forced for each sentence, first wording: share right, with 95 % intervals from resampling papers; macro
F1.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt: its paper, its label, and the marked words of its sentences, by the wording of its hypothesis.

    ``texts`` are the first ten sentences that a system found, best first, then those that only people marked.
    """

    paper: str
    label: ReportedDirection
    texts: Mapping[str, Sequence[list[str]]]
    marked: Sequence[int]  # which of the texts people marked
    parts: ParsedQuestion | None = None

    def evidence(self, wording: str) -> list[list[str]]:
        """Return the words of the marked sentences."""
        return [self.texts[wording][place] for place in self.marked]


def prompt_of(instance: Instance, *, rank: Callable[[Instance], Sequence[int]]) -> Prompt | None:
    """Return the prompt of an instance; None where its annotators do not agree."""
    raw = msgspec.json.decode(b"" if instance.origin is None else instance.origin.raw)
    if raw["direction"] is None:
        return None
    query = instance.query
    marked = sorted({index for source in instance.labels.sources.values() for index in source})
    order = list(dict.fromkeys([*rank(instance), *marked]))
    parts, full_names = question_of(query.hypothesis), abbreviations(query.sentences)
    marks = {wording: part_marks(put(wording, parts), full_names) for wording in WORDINGS}
    return Prompt(
        paper=query.paper_id,
        label=LABELS[raw["direction"]],
        texts={
            wording: [marked_words(query.sentences[index], mark_of) for index in order]
            for wording, mark_of in marks.items()
        },
        marked=[order.index(index) for index in marked],
        parts=parts,
    )


def put(wording: str, parts: ParsedQuestion) -> str:
    """Return a question in other words."""
    return wording.format(i=parts.intervention, c=parts.comparator, o=parts.outcome)


def ranked_by(system: str) -> Callable[[Instance], list[int]]:
    """Return what gives the first ten sentences that a system finds, without headings."""
    finder = make_system(system)

    def rank(instance: Instance) -> list[int]:
        order = finder.rank(instance.query, RankingTask(budget=20)).sentences
        return [index for index in order if instance.query.kinds[index] is not Kind.HEADING][:10]

    return rank


def features_of(texts: Sequence[Sequence[str]]) -> frozenset[str]:
    """Return the features of some sentences together."""
    return frozenset().union(*map(direction_features, texts))


def examples_of(prompt: Prompt, wording: str) -> list[tuple[frozenset[str], int]]:
    """Return the features of a prompt's marked sentences, together, and the place of its label in `LEARNED`.

    Sentences that compare against the intervention are turned, and are an example of their own.
    """
    turned = [turned_to_intervention(words) for words in prompt.evidence(wording)]
    return [
        (features_of([words for words, is_turned in turned if is_turned == of_turned]), LEARNED.index(label))
        for of_turned, label in ((False, prompt.label), (True, OPPOSITE[prompt.label]))
        if any(is_turned == of_turned for _, is_turned in turned)
    ]


def fitted(prompts: Sequence[Prompt], *, data: dict[str, object]) -> DirectionWeights:
    """Return the weights that are fitted to prompts."""
    examples = [example for prompt in prompts for wording in LEARNED_FROM for example in examples_of(prompt, wording)]
    features = [of_example for of_example, _ in examples]
    names, counts = np.unique([name for of_prompt in features for name in of_prompt], return_counts=True)
    kept = set(names[counts >= LEAST_EXAMPLES].tolist())
    rows = [dict.fromkeys(sorted(known), 1 / np.sqrt(max(1, len(known)))) for known in (one & kept for one in features)]
    vectorizer = DictVectorizer()
    table = vectorizer.fit_transform(rows)
    table.indices, table.indptr = table.indices.astype(np.int32), table.indptr.astype(np.int32)  # for liblinear
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
        for prompt in held_back:
            for wording in LEARNED_FROM:
                leading = weights.leading(prompt.texts[wording])
                leads += [leading[place][1] for place in prompt.marked]
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


Answer = tuple[str, ReportedDirection, ReportedDirection]  # a paper, the right direction, and what was said
ANSWERED = ("find", "made to answer", "rule", "majority")


def answers(prompt: Prompt, weights: DirectionWeights) -> Iterator[tuple[str, str, Answer]]:
    """Yield who answers, of which sentences, and the answer."""
    texts = {(name, "marked"): texts for name, texts in prompt.texts.items()}
    plain = prompt.texts[WORDINGS[0]]
    exchanged = [[{"I": "C", "C": "I"}.get(word, word) for word in words] for words in plain]
    both = [place for place in prompt.marked if {"I", "C"} <= set(plain[place])]
    texts |= {(WORDINGS[0], "both arms named"): plain, (WORDINGS[0], "arms exchanged"): exchanged}
    texts |= {(WORDINGS[0], "found first"): plain}
    for (name, case), of_case in texts.items():
        label = OPPOSITE[prompt.label] if case == "arms exchanged" else prompt.label
        leading, said = weights.leading(of_case), weights.directions(of_case)
        for place in prompt.marked if case == "marked" else [0] if case == "found first" else both:
            found = (said[place], leading[place][0], ruled(of_case[place]), ReportedDirection.NO_DIFFERENCE)
            for who, answer in zip(ANSWERED, found, strict=True):
                yield who, f"{name} | {case}", (prompt.paper, label, answer)


def stances(prompt: Prompt, weights: DirectionWeights) -> Iterator[tuple[str, Stance, Stance | None]]:
    """Yield a claim, what the label means for it, and what was said."""
    said = weights.directions(prompt.texts[WORDINGS[0]])
    for claim, (wording, of_claim) in CLAIMS.items():
        question = question_of(put(wording, prompt.parts or ParsedQuestion()))
        right = of_claim[LEARNED.index(prompt.label)]
        yield from ((claim, right, stance_of(said[place], question)) for place in prompt.marked)


def figures(prompts: Sequence[Prompt]) -> list[str]:
    """Return the tables."""
    told: dict[tuple[str, str], list[Answer]] = {}
    of_claims: dict[str, list[tuple[Stance, Stance | None]]] = {}
    for fold in paper_folds([prompt.paper for prompt in prompts], N_FOLDS, np.random.default_rng(SEED)):
        seen, held_back = split_at_fold(prompts, fold)
        weights = sure(seen, data={})
        for prompt in held_back:
            for who, case, answer in answers(prompt, weights):
                told.setdefault((who, case), []).append(answer)
            for claim, right, stance in stances(prompt, weights):
                of_claims.setdefault(claim, []).append((right, stance))
    rows = [
        *("| wording | sentences | said | right of what is said | the opposite |", "| :-- | :-- | --: | --: | --: |"),
        *(f"| {case} | {_said(told)} |" for (who, case), told in told.items() if who == "find"),
        *("", _STANCES, "| claimed | said | right of what is said | reversed |", "| :-- | --: | --: | --: |"),
        *(f"| {claim} | {_stated(found)} |" for claim, found in of_claims.items()),
        *("", _ANSWERED, f"| sentences | {' | '.join(ANSWERED[1:])} |", f"| :-- {'| --: ' * len(ANSWERED[1:])}|"),
    ]
    for case in [case for who, case in told if who == "find" and case.startswith(WORDINGS[0])]:
        rights = " | ".join(_right(told[who, case]) for who in ANSWERED[1:])
        rows.append(f"| {case.removeprefix(WORDINGS[0]).strip(' |')} | {rights} |")
    return rows


def _right(found: Sequence[Answer]) -> str:
    estimate = bootstrap([float(label == said) for _, label, said in found], [paper for paper, _, _ in found])
    low, high = estimate.interval or (estimate.mean, estimate.mean)
    labels, said = [label for _, label, _ in found], [said for _, _, said in found]
    score = f1_score(labels, said, labels=list(LEARNED), average="macro")
    return f"{100 * estimate.mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]; {100 * score:.1f}"


def _said(found: Sequence[Answer]) -> str:
    said = [(label, answer) for _, label, answer in found if answer is not ReportedDirection.NOT_SAID]
    significant = [(label, answer) for _, label, answer in found if label is not ReportedDirection.NO_DIFFERENCE]
    n_opposite = sum(answer is OPPOSITE[label] for label, answer in significant)
    shares = (
        len(said) / len(found),
        sum(map(is_, *zip(*said, strict=True))) / len(said),
        n_opposite / len(significant),
    )
    return " | ".join(f"{100 * share:.1f}" for share in shares)


def _stated(found: Sequence[tuple[Stance, Stance | None]]) -> str:
    said = [(right, stance) for right, stance in found if stance is not None]
    n_reversed = sum({right, stance} == {Stance.SUPPORTS, Stance.CONTRADICTS} for right, stance in found)
    shares = (len(said) / len(found), sum(map(is_, *zip(*said, strict=True))) / len(said), n_reversed / len(found))
    return " | ".join(f"{100 * share:.1f}" for share in shares)


def told_by(model: str, instances: Sequence[Instance]) -> list[str]:
    """Return the rows of what a language model says in each wording."""
    reader, told = directions_by_model(asker_from(model)), dict[str, list[Answer]]()
    for instance in instances:
        prompt = prompt_of(instance, rank=lambda _: ())
        marked = sorted({index for source in instance.labels.sources.values() for index in source})
        if prompt is None or prompt.parts is None:
            continue
        for wording in WORDINGS:
            said = reader(put(wording, prompt.parts), instance.query.sentences, marked)
            told.setdefault(wording, []).extend((prompt.paper, prompt.label, said[index]) for index in marked)
    return [f"| {wording} | {len(found)} | {_said(found)} |" for wording, found in told.items()]


def main() -> None:
    """Write the weights, and with ``--figures`` the part of docs/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="what data convert makes of Evidence Inference")
    parser.add_argument("--figures", action="store_true", help="cross-validate, and write the part of docs/results.md")
    parser.add_argument("--ranked-by", default="cues", help="the system that finds sentences (default: cues)")
    parser.add_argument("--model", help="measure a language model instead, such as openai/gpt-4o-mini")
    parser.add_argument("--every", type=int, default=1, help="with --model: ask of every nth prompt")
    given = parser.parse_args()
    if given.model:
        print("| wording | sentences | said | right of what is said | the opposite |\n| :-- | --: | --: | --: | --: |")
        print("\n".join(told_by(given.model, list(open_dataset(given.data))[:: given.every])))
        return
    rank = ranked_by(given.ranked_by)
    dataset = open_dataset(given.data)
    prompts = [found for found in (prompt_of(one, rank=rank) for one in dataset) if found is not None]
    n_papers = len({prompt.paper for prompt in prompts})
    about = {"name": "Evidence Inference 2.0", "n_prompts": len(prompts), "n_papers": n_papers}
    weights = sure(prompts, data={**about, "sha256": dataset.sha256})
    write_whole(SHIPPED, _lines(weights).encode())
    if given.figures:
        before, _, after = RESULTS.read_text(encoding="utf-8").partition(HEAD)
        behind = "".join(f"\n## {part}" for part in after.split("\n## ")[1:])
        text = _INTRODUCTION.format(n=f"{len(prompts):,}", papers=n_papers, system=given.ranked_by)
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
