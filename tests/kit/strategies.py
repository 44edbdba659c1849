"""Random material of every shape that the tests need: the hypothesis strategies, all in one place."""

from random import Random
from typing import Any, Literal

from hypothesis import strategies as st

from doors import EVALUATION_KEYS, Coverage, Evaluation, Selection, coverage_from
from evidencebench import Instance, Kind, Labels, Query, Ranking

Dialect = Literal["original", "100k"]

# Few words, so that sentences share them; among them stop words, numbers, marks and letters beyond ASCII.
WORDS = ("tea", "Tea", "pressure", "fell", "by", "the", "of", "3", "p<0.05", "β-blocker", "naïve", "n=12", "—")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
"""Any JSON value."""

sentence_texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join) | st.text(max_size=12)
"""Sentences, some of them empty or odd, many of them alike."""


@st.composite
def sources(
    draw: st.DrawFn, *, max_aspects: int = 6, n_sentences: int = 8, may_repeat: bool = True
) -> dict[str, list[int]]:
    """Draw aspect -> sentences, possibly none, possibly with an index twice."""
    index = st.integers(0, n_sentences - 1)
    n_aspects = draw(st.integers(0, max_aspects))
    return {f"a{n}": draw(st.lists(index, max_size=4, unique=not may_repeat)) for n in range(n_aspects)}


def random_coverage(random: Random, n_aspects: int, n_sentences: int, density: float) -> Coverage:
    """Make a coverage in which each sentence covers each aspect with the same probability."""
    return coverage_from(
        {f"a{n}": [index for index in range(n_sentences) if random.random() < density] for n in range(n_aspects)}
    )


@st.composite
def coverages(draw: st.DrawFn, *, max_aspects: int = 6, n_sentences: int = 8) -> Coverage:
    """Draw coverages from sparse, where most sentences cover nothing, to dense, where large ones overlap."""
    if draw(st.booleans()):
        return coverage_from(draw(sources(max_aspects=max_aspects, n_sentences=n_sentences)))
    random, density = draw(st.randoms(use_true_random=True)), draw(st.floats(0.1, 0.7))
    return random_coverage(random, draw(st.integers(1, max_aspects)), n_sentences, density)


@st.composite
def queries(draw: st.DrawFn, *, min_sentences: int = 0, max_sentences: int = 10) -> Query:
    """Draw a query of a small paper, its kinds in any order."""
    sentences = draw(st.lists(sentence_texts, min_size=min_sentences, max_size=max_sentences))
    kinds = draw(st.lists(st.sampled_from(Kind), min_size=len(sentences), max_size=len(sentences)))
    return Query(
        instance_id=draw(st.text(max_size=6)),
        paper_id=draw(st.sampled_from(["p1", "p2", "p3"])),
        hypothesis=draw(sentence_texts),
        sentences=tuple(sentences),
        kinds=tuple(kinds),
    )


@st.composite
def evaluations(draw: st.DrawFn, aspects: tuple[str, ...], n_sentences: int, *, at_optimal: bool) -> Evaluation:
    """Draw a stored evaluation: well formed, not optimal."""
    return Evaluation(
        sentences=tuple(sorted(draw(st.sets(st.integers(0, n_sentences - 1))))),
        covered=tuple(draw(st.lists(st.sampled_from(aspects), unique=True))) if aspects else (),
        optimal=draw(st.integers(0, 9)) if at_optimal else None,
    )


@st.composite
def labels(draw: st.DrawFn, *, n_sentences: int = 8) -> Labels:
    """Draw labels with uncoverable aspects, few or no Results, and stored evaluations or none."""
    covering = draw(sources(n_sentences=n_sentences))
    aspects = tuple(covering)
    is_result = draw(st.lists(st.booleans(), min_size=len(aspects), max_size=len(aspects)))
    stored = draw(st.sets(st.sampled_from(sorted(EVALUATION_KEYS))))
    return Labels(
        aspects=aspects,
        results=tuple(aspect for aspect, counts in zip(aspects, is_result, strict=True) if counts),
        sources={aspect: tuple(indices) for aspect, indices in covering.items()},
        texts={aspect: draw(st.text(max_size=8)) for aspect in aspects} if draw(st.booleans()) else {},
        review_id=draw(st.none() | st.text(min_size=1, max_size=6)),
        evaluations={
            task: draw(evaluations(aspects, n_sentences, at_optimal=task.endswith("optimal")))
            for task in EVALUATION_KEYS
            if task in stored
        },
    )


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Draw an instance made by hand, read from no file."""
    query = draw(queries(min_sentences=1))
    return Instance(query=query, labels=draw(labels(n_sentences=len(query.sentences))))


@st.composite
def records(draw: st.DrawFn, dialect: Dialect | None = None) -> dict[str, Any]:
    """Draw an instance as a published file spells it, unknown keys among its own, in any order.

    The 100k dialect has spaces in the sentence types, duplicate indices, aspects without a sentence, no Results
    fields (null or missing), evaluations without ``optimal``, and two keys more.
    """
    dialect = dialect or draw(st.sampled_from(["original", "100k"]))
    is_100k = dialect == "100k"
    pool = draw(st.lists(sentence_texts, min_size=1, max_size=8))
    covering = draw(sources(n_sentences=len(pool), may_repeat=is_100k))
    if not is_100k:
        covering = {aspect: indices or [0] for aspect, indices in covering.items()}
    aspects = list(covering)
    kinds = draw(st.lists(st.sampled_from(Kind), min_size=len(pool), max_size=len(pool)))
    record: dict[str, Any] = {
        "hypothesis": draw(sentence_texts),
        "paper_as_candidate_pool": pool,
        "aspect_list_ids": aspects,
        "aspect2sentence_indices": covering,
        "sentence_index2aspects": {
            str(index): [aspect for aspect in aspects if index in covering[aspect]] for index in range(len(pool))
        },
        "sentence_types_in_candidate_pool": [kind.replace("_", " ") if is_100k else kind.value for kind in kinds],
        "paper_id": draw(st.text(max_size=6)),
    }
    record |= draw(_nullable_fields(aspects, len(pool), is_100k=is_100k))
    if is_100k:
        record["aspect_id2aspect"] = {aspect: draw(st.text(max_size=8)) for aspect in aspects}
        record["systematic_review_id"] = draw(st.integers(0, 10**7) | st.text(min_size=1, max_size=6))
    unknown = draw(st.dictionaries(st.text(max_size=6).map("x_{}".format), json_values, max_size=3))
    return dict(draw(st.permutations([*record.items(), *unknown.items()])))


@st.composite
def _nullable_fields(draw: st.DrawFn, aspects: list[str], n_sentences: int, *, is_100k: bool) -> dict[str, Any]:
    results = draw(st.lists(st.sampled_from(aspects), unique=True)) if aspects and not is_100k else []
    fields: dict[str, Any] = {"results_aspect_list_ids": results or None}
    for task, key in EVALUATION_KEYS.items():
        if task.startswith("result") and not results:
            fields[key] = None
            continue
        stored = draw(evaluations(tuple(aspects), n_sentences, at_optimal=task.endswith("optimal")))
        fields[key] = {
            "one_selection_of_sentences": list(stored.sentences),
            "covered_aspects": list(stored.covered),
            **({} if stored.optimal is None or (is_100k and draw(st.booleans())) else {"optimal": stored.optimal}),
        }
    return {key: value for key, value in fields.items() if value is not None or not is_100k or draw(st.booleans())}


def files(dialect: Dialect | None = None) -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    """Draw the contents of a data file: instance id -> record."""
    return st.dictionaries(st.text(max_size=8), records(dialect), max_size=3)


@st.composite
def rankings(draw: st.DrawFn, *, n_sentences: int = 8, repeats: bool = True, scored: bool = False) -> Ranking:
    """Draw an answer; a scored one has many equal scores, in descending order."""
    size = st.lists(st.integers(0, n_sentences - 1), max_size=n_sentences, unique=not repeats)
    sentences = tuple(draw(size))
    if not scored:
        return Ranking(sentences=sentences, ordered=draw(st.booleans()))
    scores = draw(st.lists(st.integers(0, 2), min_size=len(sentences), max_size=len(sentences)))
    return Ranking(sentences=sentences, scores=tuple(map(float, sorted(scores, reverse=True))))


@st.composite
def selections(draw: st.DrawFn, *, n_sentences: int = 8) -> Selection:
    """Draw what counts of an answer: some sentences for certain, some of a tied set."""
    order = draw(st.permutations(range(n_sentences)))
    n_certain = draw(st.integers(0, n_sentences))
    tied = tuple(order[n_certain : draw(st.integers(n_certain, n_sentences))])
    n_drawn = draw(st.integers(0, len(tied)))
    return Selection(certain=tuple(order[:n_certain]), tied=tied, n_drawn=n_drawn)
