"""The table that a selector is trained on: features of each sentence, on the disk, and what it states of aspects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from evidencebench.data.instance import Instance
from evidencebench.errors import DataError
from evidencebench.query import AspectScope
from evidencebench.systems.selectors.features import Feature, feature_table
from evidencebench.systems.selectors.paper_columns import Flags, Floats, TextEmbedder, columns_of
from evidencebench.training.progress import TrainingProgress

Indices = NDArray[np.intp]

Target = Literal["share", "relative", "any"]
"""What a model predicts for a sentence: the share of aspects that it states; that share divided by the paper's highest;
or whether it states any aspect."""

SCOPES: tuple[AspectScope, ...] = ("all", "results")

_BYTES_OF_A_NUMBER = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorTable:
    """All sentences of the instances, one after the other, as training reads them.

    ``features`` has a row for each; ``starts`` holds each instance's first row, and the number of rows at the end.
    ``shares`` maps a scope to the share of its aspects that each sentence states, ``is_labelled`` to whether an
    instance has such aspects.
    """

    features: Floats
    starts: Indices
    shares: Mapping[AspectScope, Floats]
    is_labelled: Mapping[AspectScope, Flags]
    papers: tuple[str, ...]  # of each instance

    def rows_of(self, place: int) -> slice:
        """Return the rows of an instance's sentences."""
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    def labelled(self, places: Sequence[int], scope: AspectScope) -> list[int]:
        """Return those of the instances that have aspects of the scope."""
        return [place for place in places if self.is_labelled[scope][place]]

    def rows(self, places: Sequence[int]) -> "TableRows":
        """Return the rows of the instances at these places."""
        found = [np.arange(self.starts[place], self.starts[place + 1]) for place in places]
        return TableRows(self.features, np.concatenate([*found, np.zeros(0, np.intp)]).astype(np.intp))

    def shares_of(self, places: Sequence[int], scope: AspectScope) -> list[Floats]:
        """Return the shares of each of the instances' sentences."""
        return [self.shares[scope][self.rows_of(place)] for place in places]


class TableRows:
    """Some rows of a table that lies on the disk; slices of them are read when they are asked for.

    It is what LightGBM calls a sequence, so that the table need not fit into memory.
    """

    batch_size = 1 << 14

    def __init__(self, table: Floats, rows: Indices) -> None:
        self._table, self._rows = table, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> Floats:
        found: Floats = np.asarray(self._table[self._rows[key]])
        return found


def targets_of(shares: Sequence[Floats], target: Target) -> Floats:
    """Return what is to be predicted for each sentence, given the shares of each instance's."""
    if target == "relative":
        return np.concatenate([one / max(one.max(initial=0.0), 1e-9) for one in shares])
    together = np.concatenate(shares)
    return together if target == "share" else (together > 0).astype(float)


def table_file(folder: Path) -> IO[bytes]:
    """Return an open file without a name beside a model's folder; its room is free again when it is closed."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        return TemporaryFile(dir=folder.parent)
    except OSError as error:
        raise DataError(f"{folder.parent}: cannot be written: {error.strerror}; choose another folder") from error


def write_table(
    file: IO[bytes],
    instances: Sequence[Instance],
    features: tuple[Feature, ...],
    embedder: TextEmbedder | None,
    on_progress: TrainingProgress,
) -> SelectorTable:
    """Write the features of all sentences into a file, and return the table, which reads them there.

    ``on_progress`` is called with (instances read, instances in all, ``"reading"``). Raises `DataError` where the disk
    is full.
    """
    lengths: list[int] = []
    papers: list[str] = []
    shares: dict[AspectScope, list[Floats]] = {scope: [] for scope in SCOPES}
    is_labelled: dict[AspectScope, list[bool]] = {scope: [] for scope in SCOPES}
    on_progress(0, len(instances), "reading")
    for number, instance in enumerate(instances, start=1):
        table = feature_table(columns_of(instance.query, embedder), features)
        try:
            file.write(np.ascontiguousarray(table, np.float64).data)
        except OSError as error:
            per_sentence = _BYTES_OF_A_NUMBER * len(features)
            raise DataError(
                f"the table of features cannot be written: {error.strerror}; it needs {per_sentence} bytes a sentence "
                "beside the model's folder"
            ) from error
        lengths.append(len(table))
        papers.append(instance.query.paper_id)
        for scope in SCOPES:
            shares[scope].append(_shares(instance, scope))
            is_labelled[scope].append(bool(instance.labels.that_count(scope)))
        on_progress(number, len(instances), "reading")
    file.flush()
    shape = (sum(lengths), len(features))
    return SelectorTable(
        features=np.memmap(file, np.float64, "r", shape=shape) if shape[0] else np.zeros(shape),
        starts=np.cumsum([0, *lengths]).astype(np.intp),
        shares={scope: np.concatenate([*found, np.zeros(0)]) for scope, found in shares.items()},
        is_labelled={scope: np.array(flags, bool) for scope, flags in is_labelled.items()},
        papers=tuple(papers),
    )


def _shares(instance: Instance, scope: AspectScope) -> Floats:
    aspects = instance.labels.that_count(scope)
    shares = np.zeros(len(instance.query.sentences))
    for aspect in aspects:
        shares[list(set(instance.labels.sources.get(aspect, ())))] += 1 / len(aspects)
    return shares
