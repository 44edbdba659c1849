"""The instances of data sets that a training reads, one at a time, so that memory need not hold all of them."""

from collections.abc import Iterator, Sequence
from typing import overload

from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance


class LazyInstances(Sequence[Instance]):
    """The first ``limit`` instances (None: all) of each data set, one after the other; decoded when they are read."""

    def __init__(self, datasets: Sequence[Dataset], limit: int | None = None) -> None:
        self._places = [(dataset, instance_id) for dataset in datasets for instance_id in dataset.ids[:limit]]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, key: int) -> Instance: ...
    @overload
    def __getitem__(self, key: slice) -> list[Instance]: ...
    def __getitem__(self, key: int | slice) -> Instance | list[Instance]:
        if isinstance(key, slice):
            return [dataset[instance_id] for dataset, instance_id in self._places[key]]
        dataset, instance_id = self._places[key]
        return dataset[instance_id]

    def __iter__(self) -> Iterator[Instance]:
        return (dataset[instance_id] for dataset, instance_id in self._places)
