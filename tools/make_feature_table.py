"""Write docs/features.md from the features and the weights themselves."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from evidencebench.systems.cues import ANSWER_WEIGHTS, WEIGHTS
from evidencebench.systems.features import FEATURES, RELEVANCE_FEATURES, REPORTING_FEATURES, Feature
from evidencebench.systems.lexicon import CUES, Cue, Role
from evidencebench.systems.paper_columns import EVIDENCE_CUES
from evidencebench.systems.relevance import PARTS

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "features.md"

_HEAD = """\
# Features and weights

What `finder` and `cues` know about a sentence, from the code by `make generated`. None of it comes from a label.
Only features below "Hypothesis", "Relevance" and "Reporting" depend on the hypothesis, and not all: {same} do not.
Relevance and reporting are the finder's; `cues` also uses {cues}. TF-IDF is computed within the paper.

"Does tea affect blood pressure compared with water?" has the parts intervention (tea), comparator (water) and outcome
(blood pressure), in other wordings too (`systems/question.toml`). Keywords and whatever fits no form are cut in two or
three where their words are most rarely neighbours in the paper. Words are compared by root (`infect` for "infections"),
British and American spelling alike; an abbreviation that the paper explains counts as its full name. When answers are
wanted, the finder reads a split hypothesis only through its parts.
"""

_CUES = """\
## The words of the cues

Written by hand from how biomedical papers report studies, not derived from labels. `increas*` is every word that begins
so; a phrase in quotes counts anywhere; a pattern counts in sentences with a digit. `evidence` sums {evidence}.
"""

_PARTS = """\
PART is each of {parts} (the whole hypothesis); `PART_own` exists for the first three.
""".format(parts=", ".join(f"`{part}`" for part in PARTS))

_WEIGHTS = """\
## The weights of `cues`

A sentence's worth is e to the power of the sum of weight times feature; a feature below 0, as outside the abstract,
counts as 0. When answers are wanted, the weights for results count, and {answer} are added. How the weights were set:
[results](results.md#options-and-training).

| feature | all evidence | results | reason |
| :-- | --: | --: | :-- |
"""


MEANINGS: Mapping[str, str] = {
    "is_heading": "1 for a heading.",
    "is_abstract": "1 for a sentence of the abstract.",
    "position": "Place in the paper, 0 (first) to 1 (last).",
    "from_start": "ln(1 + sentences before it).",
    "from_end": "ln(1 + sentences after it).",
    "paper_length": "ln of the paper's number of sentences.",
    "abstract_length": "ln(1 + sentences of the abstract).",
    "abstract_position": "Place in the abstract, 0 to 1; -1 outside.",
    "abstract_from_start": "Sentences of the abstract before it; -1 outside.",
    "abstract_from_end": "Sentences of the abstract after it; -1 outside.",
    "is_last_of_abstract": "1 for the last sentence of the abstract.",
    "after_heading": "ln(1 + sentences since the last heading).",
    "run_position": "Place from 0, the last heading, to 1, the sentence before the next.",
    "run_length": "ln of the number of sentences from the last heading, included, to the next.",
    "section_position": "Place among the sentences of its section's class, 0 to 1.",
    "has_labels": "1 if the abstract is structured by labels.",
    "evidence": "How much its wording reports findings: the dampened counts of twelve cues, summed.",
    "evidence_rank": "Share of the paper's sentences with less `evidence`.",
    "evidence_density": "`evidence` per 100 characters.",
    "characters": "ln(1 + characters).",
    "length_rank": "Share of the paper's sentences that are shorter.",
    "capitals": "Share of capitals among its letters.",
    "digits": "Share of digits among its characters.",
    "bm25": "BM25 for the hypothesis.",
    "bm25_rank": "Share of sentences with a lower BM25.",
    "bm25_share": "BM25 as a share of the paper's highest.",
    "terms_held": "Share of the hypothesis's words that it holds.",
    "tfidf": "TF-IDF cosine with the hypothesis.",
    "tfidf_best_neighbour": "The higher of its two neighbours' TF-IDF cosines with the hypothesis.",
    "evidence_before": "`evidence` of the sentence before.",
    "evidence_after": "`evidence` of the sentence after.",
    "evidence_around": "Mean `evidence` of it and five sentences on either side, 0 beyond the paper's ends.",
    "length_before": "ln(1 + characters) of the sentence before.",
    "length_after": "ln(1 + characters) of the sentence after.",
    "centrality": "Mean TF-IDF cosine with the paper's other sentences.",
    "centrality_rank": "Share of less central sentences.",
    "to_abstract": "Mean TF-IDF cosine with the abstract's other sentences.",
    "to_nearest_abstract": "Highest TF-IDF cosine with another sentence of the abstract.",
    "to_nearest_results": "The same for the results.",
    "to_nearest_discussion": "The same for discussion and conclusion.",
    "to_conclusion": "TF-IDF cosine with the last sentence of the abstract.",
    "to_first": "TF-IDF cosine with the first sentence of the paper, often its title.",
    "to_nearest": "Highest TF-IDF cosine with any other sentence.",
    "to_nearest_before": "Highest TF-IDF cosine with an earlier sentence, which it repeats.",
    "n_alike": "ln(1 + sentences with a TF-IDF cosine over 0.4).",
    "arms": "`intervention_held` times `comparator_held`.",
    "asks": "1 if it asks, states an aim, or says that something is unknown.",
    "of_others": "1 if it cites or names other studies and does not mention its own.",
    "of_baseline": "1 if it describes groups before anything was done, and no later time.",
    "of_other_arm": "1 if it names the comparator, not the intervention, and has no comparing word.",
    "finding": "How many of eight cues of a comparison or test it holds, dampened; 0 if it asks.",
    "match": "BM25 for the outcome, times 0.3 + that for the two arms, times 0.3 + `finding`, each relative to the "
    "highest.",
    "match_rank": "Share of sentences with a lower `match`.",
    "match_abstract_rank": "The same within the abstract; 0 outside.",
    "match_body_rank": "The same outside the abstract; 0 in it.",
    "match_around": "Highest `match` of the two sentences on either side.",
    "to_best": "TF-IDF cosine with the sentence of highest `match`.",
    "to_best_3": "Highest TF-IDF cosine with the 3 sentences of highest `match`.",
    "topic": "How much it shares the words of sentences about the hypothesis, relative to the highest.",
    "topic_wide": "Mean `topic` of it and 10 sentences on either side, relative to the highest.",
    "topic_wider": "The same with 40 sentences on either side.",
    "reports_asked": "How likely it reports the item that is asked for, such as blinding, in standard deviations of "
    "the paper's sentences; 0 if none is.",
    "reports_asked_odds": "The same as log odds; -9 if none is asked for.",
    "asks_item": "1 if an item is asked for; never for a statement.",
    "number_asked": "1 if a number is asked for and it has one.",
    "asks_number": "1 if a number is asked for.",
    "words_and_reporting": "BM25 for the whole in standard deviations, plus 1.2 times `reports_asked`, plus 0.7 times "
    "`number_asked`.",
    "is_stated": "1 if something is stated and nothing asked.",
}
FAMILIES: Mapping[str, tuple[Sequence[str], str]] = {
    "section_ROLE": (
        [role.name.lower() for role in Role],
        "1 outside the abstract, in a section of the class ROLE: {names}.",
    ),
    "abstract_ROLE": (
        [role.name.lower() for role in Role if role <= Role.CONCLUSION],
        "1 in a part of the abstract of the class ROLE, which is never back matter.",
    ),
    "cue_CUE": ([cue.name for cue in CUES], "ln(1 + how often it holds CUE, listed below)."),
}
"""Features of one meaning: what their names end in, and that meaning."""
MEANINGS_OF_PART: Mapping[str, str] = {
    "own": "`{part}_held`, of the words that no other part has.",
    "held": "Share of the {of}'s words that it holds, in any form, weighted by rarity in the paper.",
    "held_relative": "`{part}_held` relative to the paper's highest.",
    "rank": "Share of sentences with a lower BM25 for the {of}.",
    "rarest": "1 if it holds the rarest of the {of}'s words that the paper has.",
    "phrase": "Share of the {of}'s neighbouring words that are neighbours in it.",
    "focus": "Share of its words, weighted by rarity, that are the {of}'s.",
    "before": "Highest `{part}_held` of the 3 sentences before it.",
    "heading": "`{part}_held` of its heading; 0 without one.",
    "wide": "Mean BM25 for the {of} of it and 10 sentences on either side, relative to the highest.",
    "evidence": "`{part}_held_relative` times `evidence`.",
    "p_value": "`{part}_held_relative` times `cue_p_value`.",
}


def rows(features: Iterable[Feature]) -> dict[str, str]:
    """Return what features are, those of one meaning and those of the parts of a hypothesis once."""
    found: dict[str, str] = {}
    for feature in features:
        first, _, rest = feature.name.partition("_")
        family = next((name for name in FAMILIES if name.startswith(f"{first}_")), "")
        if first in PARTS:
            found[f"PART_{rest}"] = MEANINGS_OF_PART[rest].format(part="PART", of="PART")
        elif family and rest in FAMILIES[family][0]:
            found[family] = FAMILIES[family][1].format(names=", ".join(FAMILIES[family][0]))
        else:
            found[feature.name] = MEANINGS[feature.name]
    return found


def reference() -> str:
    """Return the whole document as Markdown."""
    features = [*FEATURES, *RELEVANCE_FEATURES, *REPORTING_FEATURES]
    reading = {feature.group for feature in features if feature.reads_hypothesis}
    same = [f"`{feature.name}`" for feature in features if feature.group in reading and not feature.reads_hypothesis]
    weights = (f"| `{name}` | {one.evidence} | {one.results} | {one.reason} |" for name, one in WEIGHTS.items())
    answer = ", ".join(f"`{name}` ({weight})" for name, weight in ANSWER_WEIGHTS.items())
    words = (f"* `{cue.name}`, {cue.meaning}: {_wording(cue)}" for cue in CUES)
    summed = [f"`{cue.name}`" for cue in CUES if cue.name in EVIDENCE_CUES]
    used = [f"`{one.name}`" for one in RELEVANCE_FEATURES if one.name in {**WEIGHTS, **ANSWER_WEIGHTS}]
    parts = [_HEAD.format(same=", ".join(same), cues=" and ".join(used))]
    for group in dict.fromkeys(feature.group for feature in features):
        parts += [f"## {group.capitalize()}\n"]
        parts += [_PARTS] if group == "relevance" else []
        found = rows(feature for feature in features if feature.group == group)
        parts += [*(f"* `{name}`: {meaning}" for name, meaning in found.items()), ""]
    return "\n".join(
        [
            *parts,
            _CUES.format(evidence=", ".join(summed)),
            *words,
            "",
            _WEIGHTS.format(answer=answer) + "\n".join(weights),
            "",
        ]
    )


def _wording(cue: Cue) -> str:
    parts = [cue.words, *(f'"{phrase}"' for phrase in cue.phrases), *([f"`{cue.pattern}`"] if cue.pattern else [])]
    return ", ".join(part for part in parts if part)


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
