"""Instances made by hand, and data sets of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from evidencebench import Dataset, Instance, Kind, Labels, Query, open_dataset, write_dataset


def made(
    name: str, sources: Mapping[str, Sequence[int]], lengths: Sequence[int] = (20,) * 20, review: str | None = None
) -> Instance:
    """Make an instance whose sentences have these lengths, with aspects, perhaps without sentences; it has no optimum.

    An aspect's name begins with the instance's, as data files have it.
    """
    named = {f"{name}_{aspect}": tuple(indices) for aspect, indices in sources.items()}
    query = Query(
        instance_id=name,
        paper_id=name,
        hypothesis=f"Tea lowers the pressure of {name}.",
        sentences=tuple("x" * length for length in lengths),
        kinds=(Kind.HEADING, *[Kind.BODY] * (len(lengths) - 1)),
    )
    return Instance(query=query, labels=Labels(aspects=tuple(named), sources=named, review_id=review))


def dataset_of(folder: Path, *instances: Instance) -> Dataset:
    write_dataset(folder / "made.json", instances)
    return open_dataset(folder / "made.json")
