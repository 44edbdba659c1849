"""Datasets, Hub folder, Croissant."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evidencebench.data.catalog import CATALOG, SAMPLE, CatalogEntry, data_path, sha256_matches
from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.instance import Instance
from evidencebench.data.parquet_format import row_of, schema, table_of, write_parquet
from evidencebench.errors import DataError, FormatError
from evidencebench.files.atomic import whole_file, whole_folder, write_whole
from evidencebench.files.disk import PathText, file_sha256
from evidencebench.provenance import require_extra
from evidencebench.version import __version__

if TYPE_CHECKING:
    import datasets


_ID = re.compile(r"evidencebench_(train|dev|test)_id_[0-9]+")

PAPER_URL = "https://arxiv.org/abs/2504.18736"
CITATION = """@inproceedings{wang2025evidencebench,
  title = {EvidenceBench: A Benchmark for Extracting Evidence from Biomedical Papers},
  author = {Wang, Jianyou and Cao, Weili and others},
  booktitle = {Conference on Language Modeling (COLM)},
  year = {2025},
  eprint = {2504.18736},
  archivePrefix = {arXiv}
}"""


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


# Licence -> what it allows, for the card.
_SHARE_ALIKE = (
    "The source must be named and changes said. What is made of it may be shared under the same licence only."
)
_TERMS = {
    "CC-BY-4.0": "Any use is allowed, also a commercial one, if the source is named and changes are said.",
    "CC-BY-NC-4.0": "No commercial use. The source must be named and changes said.",
    "CC-BY-NC-SA": f"No commercial use. {_SHARE_ALIKE} The publisher does not say which version of the licence.",
    "CC-BY-SA-4.0": _SHARE_ALIKE,
    "CC-BY-NC-SA-4.0": f"No commercial use. {_SHARE_ALIKE}",
    "CC0-1.0": "Any use is allowed.",
    "MIT": "Any use is allowed, if the notice of the licence is kept.",
}
_UNKNOWN_TERMS = "As this licence says; evidencebench does not know it."
_OTHER = "other"  # how Hugging Face names licences that it does not know


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


# Column -> what stands in it, for the card and the metadata.
COLUMNS = {
    "id": "Name of the instance.",
    "paper_id": "Name of the paper; two instances can share one.",
    "hypothesis": "The claim that evidence is sought for.",
    "sentences": "The paper in reading order, headings included; a sentence is named by its 0-based position.",
    "sentence_types": "One a sentence: section_name, abstract or normal_paragraph.",
    "aspects": "Ids of the study aspects, which the evidence must cover. They are labels: no system may read them.",
    "result_aspects": "Those of the aspects that are results; null where there are none. Labels.",
    "sentence_aspects": "For each sentence, the positions in aspects of those that it is a source of. Labels.",
    "er_optimal": "One smallest selection of sentences that covers all coverable aspects; null: none stored. Labels.",
    "er_10": "One selection of 10 sentences that covers the most aspects; null where none is stored. Labels.",
    "result_er_optimal": "As er_optimal, of result_aspects. Labels.",
    "result_er_5": "As er_10, of result_aspects with 5 sentences. Labels.",
    "other": "JSON of what the other columns do not say, such as texts of aspects; null: they say it all. Labels.",
}


_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


_CARD = """\
---
{header}
---

# {title}

Each instance is a hypothesis and a paper; to be found are the sentences that are evidence for or against it.
Written by evidencebench {version}; `evidencebench data validate` checks the files of `data/`.

```python
from datasets import load_dataset

rows = load_dataset("FOLDER", split="{first}")  # FOLDER: where this file lies
```

## Splits

| split | instances | bytes | licence | made of |
| --- | --- | --- | --- | --- |
{splits}

## Columns

| column | type | what it holds |
| --- | --- | --- |
{columns}

## Licences

{licences}

The sentences are of papers, which have licences of their own too.
"""
_CITED = f"""
## Citation

The benchmark is described in <{PAPER_URL}>.

```bibtex
{CITATION}
```
"""


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
        licences.append(f"* {names}: {_plain(licence)}. {_TERMS.get(licence, _UNKNOWN_TERMS)}")
    text = _CARD.format(
        header=_header(splits),
        title=_plain(_title(splits)),
        version=__version__,
        first=splits[0].name,
        splits="\n".join(rows),
        columns="\n".join(f"| `{name}` | `{types[name]}` | {text} |" for name, text in COLUMNS.items()),
        licences="\n".join(licences),
    )
    return text + (_CITED if any(split.is_published for split in splits) else "")


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


_PARQUET = "application/x-parquet"
# How Croissant spells names: the context of the format's version 1.1, in the order of its names.
_OWN_NAMES = (
    "arrayShape citeAs column containedIn equivalentProperty extract field fileObject fileProperty fileSet format "
    "includes isArray isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace "
    "samplingRate separator source subField transform"
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{name: f"cr:{name}" for name in _OWN_NAMES.split()},
}
_NESTED = {"sentence_aspects": "-1,-1"}
_NUMBERS = {"sentence_aspects": "cr:Int16"} | dict.fromkeys(
    ("er_optimal", "er_10", "result_er_optimal", "result_er_5"), "cr:Int32"
)
_SINGLE = {"id", "paper_id", "hypothesis", "other"}


def croissant(splits: Sequence[WrittenSplit], published_on: date) -> dict[str, Any]:
    published = any(split.is_published for split in splits)
    licences = list(dict.fromkeys(split.licence for split in splits))
    return {
        "@context": dict(sorted(_CONTEXT.items())),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": "EvidenceBench" if all(split.is_published for split in splits) else "evidencebench_data",
        "description": f"{_title(splits)}: hypotheses, papers cut into sentences, and which sentences are evidence.",
        "license": licences,
        "usageInfo": " ".join(f"{licence}: {_TERMS.get(licence, _UNKNOWN_TERMS)}" for licence in licences),
        "citeAs": CITATION if published else "; ".join(f"{split.data}, sha256 {split.data_sha256}" for split in splits),
        **({"url": PAPER_URL} if published else {}),
        "datePublished": published_on.isoformat(),
        "version": "1.0.0",
        "distribution": [file for split in splits for file in _files(split)],
        "recordSet": [_record_set(split) for split in splits],
    }


def _files(split: WrittenSplit) -> list[dict[str, Any]]:
    name = f"{split.name}_files"
    return [
        *(
            {
                "@type": "cr:FileObject",
                "@id": shard.name,
                "name": shard.name.rpartition("/")[2],
                "contentUrl": shard.name,
                "contentSize": f"{shard.n_bytes} B",
                "encodingFormat": _PARQUET,
                "sha256": shard.sha256,
            }
            for shard in split.shards
        ),
        {
            "@type": "cr:FileSet",
            "@id": name,
            "name": name,
            "description": f"The files of the split {split.name}.",
            "encodingFormat": _PARQUET,
            "includes": split.pattern,
        },
    ]


def _record_set(split: WrittenSplit) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": split.name,
        "name": split.name,
        "description": f"{split.n_instances:,} instances; licence {split.licence}.",
        "key": {"@id": f"{split.name}/id"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{split.name}/{name}",
                "name": name,
                "description": text,
                "dataType": _NUMBERS.get(name, "sc:Text"),
                **({} if name in _SINGLE else {"isArray": True, "arrayShape": _NESTED.get(name, "-1")}),
                "source": {"fileSet": {"@id": f"{split.name}_files"}, "extract": {"column": name}},
            }
            for name, text in COLUMNS.items()
        ],
    }


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


def to_hf(dataset: Dataset | PathText, *, cache_dir: PathText | None = None) -> "datasets.Dataset":
    """Return a data set as a `datasets.Dataset` of Hugging Face, an instance a row.

    The columns are those of our Parquet files, see docs/data-format.md. The rows are written into the cache of
    `datasets` and mapped from there, so that no more than a few are in memory; the same data is
    written once. Nothing is fetched or sent.

    Parameters
    ----------
    dataset
        The data: a data set, its path or catalogue name.
    cache_dir
        The folder for the rows; None: that of `datasets`.

    Raises
    ------
    MissingExtraError
        If `datasets` is not installed.
    DataError
        If the data cannot be read.

    Examples
    --------
    >>> rows = to_hf("sample")
    >>> rows[1]["id"], rows.features["sentences"].feature.dtype
    ('evidencebench_sample_id_1', 'string')
    """
    require_extra("to_hf", "hf", "datasets", "pyarrow")
    import datasets  # noqa: PLC0415 - an extra

    data = dataset_from(dataset)

    def rows() -> Iterator[dict[str, Any]]:
        rows = map(row_of, data)
        while batch := list(islice(rows, 64)):
            yield from table_of(batch).to_pylist()

    fingerprint = f"evidencebench-{__version__}-{data.sha256[:32]}"
    features = datasets.Features.from_arrow_schema(schema())
    folder = None if cache_dir is None else str(cache_dir)
    return datasets.Dataset.from_generator(rows, features=features, cache_dir=folder, fingerprint=fingerprint)
