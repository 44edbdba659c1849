"""Data sets as a folder that ``load_dataset`` of Hugging Face opens with its splits: Parquet, card, metadata."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path

import msgspec

from evidencebench.data.dataset import Dataset
from evidencebench.data.formats.parquet_file import write_parquet
from evidencebench.data.instance import Instance
from evidencebench.errors import DataError, FormatError
from evidencebench.extras import require_extra
from evidencebench.integrations.hugging_face.card import card
from evidencebench.integrations.hugging_face.croissant import croissant
from evidencebench.integrations.hugging_face.written_split import Shard, WrittenSplit
from evidencebench.integrations.known_data import known_entry
from evidencebench.storage.reading import file_sha256
from evidencebench.storage.whole_file import whole_file, write_whole
from evidencebench.storage.whole_folder import whole_folder
from evidencebench.version import __version__

MARKER = "evidencebench.json"
"""The file of such a folder that says what it was made of, and by which it is told from other folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSplit:
    """A split to write."""

    name: str
    dataset: Dataset
    licence: str


def write_hf(
    folder: Path,
    splits: Sequence[HubSplit],
    *,
    published_on: date,
    overwrite: bool = False,
    instances_in_a_shard: int = 10_000,  # some 60 MB
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
) -> tuple[WrittenSplit, ...]:
    """Write splits into a folder, whole or not at all: ``data/``, ``README.md``, ``croissant.json``."""
    require_extra("export hf", "hf", "datasets", "pyarrow")
    for split in splits:
        if not re.fullmatch(r"[A-Za-z0-9_]{1,64}", split.name):
            raise DataError(
                f"split '{split.name}': expected a name of letters, digits and underscores, such as 'train'"
            )
    names = [split.name for split in splits]
    if len(set(names)) < len(names):
        raise DataError(f"splits {', '.join(names)}: expected each name once")
    n_done, n_all = 0, sum(len(split.dataset) for split in splits)

    def counted_instances(split: HubSplit) -> Iterator[Instance]:
        nonlocal n_done
        for instance in split.dataset:
            yield instance
            n_done += 1
            on_progress(n_done, n_all, split.name)

    with whole_folder(folder, marker=MARKER, overwrite=overwrite) as (made, _):
        (made / "data").mkdir()
        written = tuple(_write_split(made, split, counted_instances(split), instances_in_a_shard) for split in splits)
        write_whole(made / "README.md", card(written))
        write_whole(
            made / "croissant.json",
            msgspec.json.format(msgspec.json.encode(croissant(written, published_on)), indent=2),
        )
        about = {"evidencebench": __version__, "splits": written}
        write_whole(made / MARKER, msgspec.json.format(msgspec.json.encode(about), indent=2))
    return written


def _write_split(made: Path, split: HubSplit, instances: Iterator[Instance], n_at_once: int) -> WrittenSplit:
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    n_shards, shards = -(-len(split.dataset) // n_at_once), []
    for number in range(n_shards):
        name = f"data/{split.name}-{number:05d}-of-{n_shards:05d}.parquet"
        path = made / name
        try:
            with whole_file(path) as file:
                write_parquet(file, islice(instances, n_at_once))
        except FormatError as error:
            raise FormatError(f"{split.dataset.path}: {error}") from error
        groups = pq.read_metadata(path)
        shards.append(
            Shard(
                name=name,
                sha256=file_sha256(path),
                n_bytes=path.stat().st_size,
                n_bytes_unpacked=sum(groups.row_group(one).total_byte_size for one in range(groups.num_row_groups)),
            )
        )
    return WrittenSplit(
        name=split.name,
        data=split.dataset.name,
        data_sha256=split.dataset.sha256,
        licence=split.licence,
        is_published=known_entry(split.dataset) is not None,
        n_instances=len(split.dataset),
        shards=tuple(shards),
    )
