"""Data whose every text tries to end the element that it stands in."""

from dataclasses import replace
from pathlib import Path

from evidencebench import Dataset, Instance, load_sample, open_dataset, write_dataset


def hostile_dataset(folder: Path) -> Dataset:
    """Write three instances whose every text tries to end the element that it stands in."""
    text = "</script><script>alert(1)</script><!--\x00\u2028"
    hostile = [
        Instance(
            query=replace(
                instance.query,
                instance_id=f"{text}{number}",
                paper_id=text,
                hypothesis=text,
                sentences=(text,) * len(instance.query.sentences),
            ),
            labels=replace(instance.labels, texts=dict.fromkeys(instance.labels.aspects, text), review_id=text),
        )
        for number, instance in enumerate(load_sample()[:3])
    ]
    write_dataset(folder / "hostile.json", hostile)
    return open_dataset(folder / "hostile.json")
