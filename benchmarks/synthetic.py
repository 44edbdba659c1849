"""Make a file of the published shape, of any size, from a seed: what the other benchmarks measure on.

    python benchmarks/synthetic.py 20000 /somewhere/synthetic.json
    python benchmarks/synthetic.py 87461 /somewhere/100k.json --100k

The shape follows the measured one: 52 to 440 sentences a paper (mean about 170), 2 to 30 aspects (mean about 8),
evidence often shared between aspects, about 34 KB an instance. The optima are derived by this package.

With ``--100k`` it is that of EvidenceBench-100k: kinds with spaces, null Results, optima of which some lack their
number, texts of aspects, reviews, indices that stand twice, a third of the aspects without a sentence, one instance in
17 without any coverable aspect, one in 21 on a paper that stands before. Evidence is likelier where the abstract is and
where a sentence has a p-value or an interval, so that something can be learned from it.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from evidencebench.data.instance import Origin
from evidencebench.data.json_format import EVALUATION_KEYS, decode_instance
from evidencebench.data.optima import derive_optima

_N_WORDS = 4_000
_N_SENTENCES = 20_000
_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


Instances = Callable[[int, int], Iterator[tuple[str, dict[str, Any]]]]


def write_synthetic(path: Path, n_instances: int, seed: int = 0, *, instances: Instances | None = None) -> None:
    """Write ``n_instances`` synthetic instances as one JSON object."""
    with path.open("w", encoding="utf-8") as file:
        for position, (instance_id, instance) in enumerate((instances or synthetic_instances)(n_instances, seed)):
            file.write("{" if position == 0 else ", ")
            file.write(f"{json.dumps(instance_id)}: {json.dumps(instance)}")
        file.write("}")


def synthetic_file(folder: Path, n_instances: int) -> Path:
    """Return the file of so many instances in a folder, made if it is not there."""
    return _made(folder / f"synthetic_{n_instances}.json", n_instances, synthetic_instances)


def synthetic_100k_file(folder: Path, n_instances: int) -> Path:
    """Return the file of so many instances in the dialect of EvidenceBench-100k, made if it is not there."""
    return _made(folder / f"100k_{n_instances}.json", n_instances, synthetic_100k)


def _made(path: Path, n_instances: int, instances: Instances) -> Path:
    if not path.exists():
        part = path.with_suffix(".part")
        write_synthetic(part, n_instances, instances=instances)
        part.replace(path)
    return path


def synthetic_instances(n_instances: int, seed: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (instance id, instance without optima), reproducible from the seed."""
    generator = np.random.default_rng(seed)
    pool = _sentence_pool(generator)
    for number in range(n_instances):
        yield f"synthetic_{number}", _instance(f"synthetic_{number}", number, pool, generator)


def _sentence_pool(generator: np.random.Generator) -> list[str]:
    words = ["".join(generator.choice(_LETTERS, size)) for size in generator.integers(2, 11, _N_WORDS)]
    # Zipf-like: a few words stand in most sentences, as in text.
    weights = 1 / np.arange(1, _N_WORDS + 1)
    drawn = generator.choice(_N_WORDS, size=(_N_SENTENCES, 40), p=weights / weights.sum())
    lengths = generator.integers(8, 41, _N_SENTENCES)
    return [" ".join(words[word] for word in row[:length]) + "." for row, length in zip(drawn, lengths, strict=True)]


def _instance(instance_id: str, number: int, pool: list[str], generator: np.random.Generator) -> dict[str, Any]:
    n_sentences = int(np.clip(generator.lognormal(5.05, 0.4), 52, 440))
    n_aspects = int(np.clip(generator.lognormal(1.95, 0.5), 2, 30))
    sentences = [pool[index] for index in generator.integers(0, len(pool), n_sentences)]
    kinds = ["section_name", *["abstract"] * 10, *["normal_paragraph"] * (n_sentences - 11)]
    kinds[12::16] = ["section_name"] * len(kinds[12::16])
    evidence = generator.choice(n_sentences, size=min(n_sentences, 4 + 2 * n_aspects), replace=False)
    aspects = [f"{instance_id}_aspect_{aspect}" for aspect in range(n_aspects)]
    sources = {
        aspect: generator.choice(evidence, size=int(generator.integers(1, 7)), replace=False).tolist()
        for aspect in aspects
    }
    aspects_of: dict[str, list[str]] = {str(index): [] for index in range(n_sentences)}
    for aspect, indices in sources.items():
        for index in indices:
            aspects_of[str(index)].append(aspect)
    return {
        "hypothesis": " ".join(sentences[-1].split()[:15]),
        "paper_as_candidate_pool": sentences,
        "aspect_list_ids": aspects,
        "results_aspect_list_ids": aspects[: (n_aspects + 1) // 2],
        "aspect2sentence_indices": sources,
        "sentence_index2aspects": aspects_of,
        "sentence_types_in_candidate_pool": kinds,
        "paper_id": f"synthetic_paper_{number}",
    }


_UNCOVERED, _NONE_COVERABLE, _SAME_PAPER, _TWICE, _NO_NUMBER = 0.30, 0.058, 0.047, 0.02, 0.05
_AT_OPTIMAL, _AT_10 = EVALUATION_KEYS["er_at_optimal"], EVALUATION_KEYS["er_at_10"]


def synthetic_100k(n_instances: int, seed: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (instance id, instance) in the dialect of EvidenceBench-100k, optima included, reproducible from the seed.

    Sentences of 60 words at most; about one in seven reports a number.
    """
    generator = np.random.default_rng(seed)
    pool = _sentence_pool(generator)
    reports = generator.random(len(pool)) < 1 / 7
    for index in np.flatnonzero(reports):
        pool[index] = f"{pool[index][:-1]} ({_figure(generator)})."
    before: dict[str, Any] = {}
    for number in range(n_instances):
        paper = before if before and generator.random() < _SAME_PAPER else None
        before = _instance_100k(f"train_{number}", number, pool, reports, generator, paper=paper)
        yield f"train_{number}", before


def _figure(generator: np.random.Generator) -> str:
    ratio, width, p_value = generator.uniform(0.3, 3), generator.uniform(0.1, 0.5), generator.uniform(0.001, 0.2)
    return f"OR {ratio:.2f}, 95% CI {ratio - width:.2f} to {ratio + width:.2f}; p = {p_value:.3f}"


def _instance_100k(
    instance_id: str,
    number: int,
    pool: list[str],
    reports: np.ndarray,
    generator: np.random.Generator,
    *,
    paper: dict[str, Any] | None,
) -> dict[str, Any]:
    if paper is None:
        drawn = generator.integers(0, len(pool), int(np.clip(generator.lognormal(5.05, 0.4), 52, 440)))
        sentences, is_report = [pool[index] for index in drawn], reports[drawn]
        kinds = ["section name", *["abstract"] * 10, *["normal paragraph"] * (len(sentences) - 11)]
        kinds[12::16] = ["section name"] * len(kinds[12::16])
    else:
        sentences, kinds = paper["paper_as_candidate_pool"], paper["sentence_types_in_candidate_pool"]
        is_report = np.array(["95% CI" in sentence for sentence in sentences])
    n_sentences, n_aspects = len(sentences), int(np.clip(generator.lognormal(1.95, 0.5), 2, 30))
    weights = 1.0 + 6.0 * is_report
    weights[1:11] *= 6
    weights[[kind == "section name" for kind in kinds]] = 0.1
    n_evidence = min(n_sentences, 4 + 2 * n_aspects)
    evidence = generator.choice(n_sentences, size=n_evidence, replace=False, p=weights / weights.sum())
    uncovered = 1.0 if generator.random() < _NONE_COVERABLE else _UNCOVERED
    aspects = [f"{instance_id}_aspect_{aspect}" for aspect in range(n_aspects)]
    sources: dict[str, list[int]] = {aspect: [] for aspect in aspects}
    for aspect in aspects:
        if generator.random() >= uncovered:
            sources[aspect] = generator.choice(evidence, size=int(generator.integers(1, 7)), replace=False).tolist()
    aspects_of: dict[str, list[str]] = {str(index): [] for index in range(n_sentences)}
    for aspect, indices in sources.items():
        for index in indices:
            aspects_of[str(index)].append(aspect)
    for indices in sources.values():
        if indices and generator.random() < _TWICE:
            indices.append(indices[0])
    record = {
        "hypothesis": " ".join(sentences[int(evidence[0])].split()[:15]),
        "paper_as_candidate_pool": sentences,
        "aspect_list_ids": aspects,
        "results_aspect_list_ids": None,
        "aspect2sentence_indices": sources,
        "sentence_index2aspects": aspects_of,
        "sentence_types_in_candidate_pool": kinds,
        "paper_id": f"pmc_{number + 1_000_000}" if paper is None else paper["paper_id"],
        "systematic_review_id": f"PMC{number // 3 + 2_000_000}",
        "aspect_id2aspect": {aspect: pool[int(generator.integers(len(pool)))] for aspect in aspects},
    }
    return record | _stored_optima(instance_id, record, generator)


def _stored_optima(instance_id: str, record: dict[str, Any], generator: np.random.Generator) -> dict[str, Any]:
    instance = decode_instance(instance_id, Origin(raw=msgspec.json.encode(record)))
    found = derive_optima(instance).evaluations
    at_optimal, at_10 = found["er_at_optimal"], found["er_at_10"]
    optimal = {} if generator.random() < _NO_NUMBER else {"optimal": at_optimal.optimal}
    at = {"one_selection_of_sentences": at_optimal.sentences, "covered_aspects": at_optimal.covered}
    at_ten = {"one_selection_of_sentences": at_10.sentences, "covered_aspects": at_10.covered}
    results = dict.fromkeys(key for task, key in EVALUATION_KEYS.items() if task.startswith("result_"))
    return {_AT_OPTIMAL: optimal | at, _AT_10: at_ten, **results}


if __name__ == "__main__":
    dialect = synthetic_100k if "--100k" in sys.argv else synthetic_instances
    write_synthetic(Path(sys.argv[2]), int(sys.argv[1]), instances=dialect)
