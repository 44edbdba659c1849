"""Make a file of the published shape, of any size, from a seed: what the other benchmarks measure on.

    python benchmarks/synthetic.py 20000 /somewhere/synthetic.json

The shape follows the measured one: 52 to 440 sentences a paper (mean about 170), 2 to 30 aspects (mean about 8),
evidence often shared between aspects, about 34 KB an instance. The optima are derived by this package.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

_N_WORDS = 4_000
_N_SENTENCES = 20_000
_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def write_synthetic(path: Path, n_instances: int, seed: int = 0) -> None:
    """Write ``n_instances`` synthetic instances as one JSON object."""
    with path.open("w", encoding="utf-8") as file:
        for position, (instance_id, instance) in enumerate(synthetic_instances(n_instances, seed)):
            file.write("{" if position == 0 else ", ")
            file.write(f"{json.dumps(instance_id)}: {json.dumps(instance)}")
        file.write("}")


def synthetic_file(folder: Path, n_instances: int) -> Path:
    """Return the file of so many instances in a folder, made if it is not there."""
    path = folder / f"synthetic_{n_instances}.json"
    if not path.exists():
        part = path.with_suffix(".part")
        write_synthetic(part, n_instances)
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


if __name__ == "__main__":
    write_synthetic(Path(sys.argv[2]), int(sys.argv[1]))
