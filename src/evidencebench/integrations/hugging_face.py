"""Folders of data that load_dataset of Hugging Face opens."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from evidencebench.data.catalog import CATALOG, SAMPLE, CatalogEntry, data_path, sha256_matches
from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.parquet_format import schema, write_parquet
from evidencebench.errors import DataError, FormatError
from evidencebench.files.atomic import whole_file, whole_folder, write_whole
from evidencebench.files.disk import file_sha256, packaged_table
from evidencebench.provenance import require_extra
from evidencebench.version import __version__

_ID = re.compile(r"evidencebench_(train|dev|test)_id_[0-9]+")

_TEXTS = packaged_table(__file__)
PAPER_URL, CITATION = _TEXTS["paper_url"], _TEXTS["citation"].strip()
COLUMNS: Mapping[str, str] = _TEXTS["columns"]  # name -> what stands in it, for the card and the metadata
_TERMS: Mapping[str, str] = _TEXTS["terms"]  # licence -> what it allows
_OTHER = "other"  # how Hugging Face names licences that it does not know


def known_entry(dataset: Dataset) -> CatalogEntry | None:
    """Return what a data set is, or is a part of, by checksum, name and size, or ids: a part keeps the licence."""
    for entry in CATALOG.values():
        same_file = dataset.name == entry.file_name and len(dataset) == entry.n_instances
        if same_file and (entry.sha256 is None or sha256_matches(entry.sha256, dataset.sha256)):
            return entry
    matches = map(_ID.fullmatch, dataset.ids)
    splits = {match[1] if match else None for match in matches}
    split = splits.pop() if len(splits) == 1 else None
    return None if split is None else CATALOG[split]


def licence_of(dataset: Dataset) -> str | None:
    if dataset.path == data_path(SAMPLE):
        return "MIT"
    entry = known_entry(dataset)
    return None if entry is None else entry.licence.partition(" ")[0]


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # in the folder
    sha256: str
    n_bytes: int
    n_bytes_unpacked: int  # of its columns before compression


class WrittenSplit(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    data: str  # the name of the file
    data_sha256: str
    licence: str
    is_published: bool  # whether it is of the published benchmark
    n_instances: int
    shards: tuple[Shard, ...]

    @property
    def n_bytes(self) -> int:
        return sum(shard.n_bytes for shard in self.shards)

    @property
    def pattern(self) -> str:
        return f"data/{self.name}-*.parquet"


_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def card(splits: Sequence[WrittenSplit]) -> str:
    rows = [
        f"| {split.name} | {split.n_instances:,} | {split.n_bytes:,} | {_plain(split.licence)} | "
        f"{_plain(split.data)}, sha256 {split.data_sha256} |"
        for split in splits
    ]
    types = {field.name: str(field.type).replace("element: ", "").replace("item: ", "") for field in schema()}
    licences = []
    for licence in dict.fromkeys(split.licence for split in splits):
        names = ", ".join(split.name for split in splits if split.licence == licence)
        licences.append(f"* {names}: {_plain(licence)}. {_terms_of(licence)}")
    text = str(_TEXTS["card"]).format(
        header=_header(splits),
        title=_plain(_title(splits)),
        version=__version__,
        first=splits[0].name,
        splits="\n".join(rows),
        columns="\n".join(f"| `{name}` | `{types[name]}` | {text} |" for name, text in COLUMNS.items()),
        licences="\n".join(licences),
    )
    cited = str(_TEXTS["cited"]).format(paper_url=PAPER_URL, citation=CITATION)
    return text + (cited if any(split.is_published for split in splits) else "")


def _terms_of(licence: str) -> str:
    return _TERMS.get(licence, "As this licence says; evidencebench does not know it.")


def _title(splits: Sequence[WrittenSplit]) -> str:
    if all(split.is_published for split in splits):
        return "EvidenceBench"
    return ", ".join(dict.fromkeys(split.data for split in splits))


def _header(splits: Sequence[WrittenSplit]) -> str:
    import datasets  # noqa: PLC0415 - an extra
    from huggingface_hub import DatasetCardData  # noqa: PLC0415 - it comes with `datasets`

    licences = list(dict.fromkeys(split.licence for split in splits))
    is_known = {licence: licence in _TERMS and licence != "CC-BY-NC-SA" for licence in licences}
    names = list(dict.fromkeys(licence.lower() if is_known[licence] else _OTHER for licence in licences))
    n_all = sum(split.n_instances for split in splits)
    n_unpacked = {split.name: sum(shard.n_bytes_unpacked for shard in split.shards) for split in splits}
    info = datasets.DatasetInfo(
        features=datasets.Features.from_arrow_schema(schema()),
        splits=[
            {"name": split.name, "num_bytes": n_unpacked[split.name], "num_examples": split.n_instances}
            for split in splits
        ],
        download_size=sum(split.n_bytes for split in splits),
        dataset_size=sum(n_unpacked.values()),
    )
    about: dict[str, Any] = {
        "pretty_name": _title(splits),
        "license": names[0] if len(names) == 1 else names,
        "size_categories": next((name for most, name in _SIZES if n_all < most), "n>1M"),
        "tags": ["evidence-retrieval"],
    }
    if _OTHER in names:
        about["license_name"] = "; ".join(licences)
    if any(split.is_published for split in splits):
        about["tags"] += ["biology", "medical"]
        about |= {"language": ["en"], "task_categories": ["text-retrieval", "text-ranking"]}
    files = [{"split": split.name, "path": split.pattern} for split in splits]
    data = DatasetCardData(**about, configs=[{"config_name": "default", "data_files": files}])
    datasets.info.DatasetInfosDict({"default": info}).to_dataset_card_data(data)
    return str(data.to_yaml())


def _plain(text: str) -> str:
    """Return text from outside so that Markdown shows it as it stands, on one line."""
    shown = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return "".join(f"\\{sign}" if sign in r"\`*_{}[]<>()#!|~&" else sign for sign in shown)


MARKER = "evidencebench.json"
"""The file of such a folder that says what it was made of, and by which it is told from other folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSplit:
    name: str
    dataset: Dataset
    licence: str


def write_hf(
    folder: Path,
    splits: Sequence[HubSplit],
    *,
    overwrite: bool = False,
    instances_in_a_shard: int = 10_000,  # some 60 MB
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
) -> tuple[WrittenSplit, ...]:
    """Write splits into a folder, whole or not at all: ``data/`` and ``README.md``."""
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
                n_bytes_unpacked=sum(groups.row_group(place).total_byte_size for place in range(groups.num_row_groups)),
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
