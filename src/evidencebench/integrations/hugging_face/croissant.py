"""Croissant metadata of a folder: which files there are, and which records and fields they hold.

`Source <https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html>`_: version 1.1 of the format.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any

from evidencebench.integrations.hugging_face.card import title_of
from evidencebench.integrations.hugging_face.licences import terms_of
from evidencebench.integrations.hugging_face.written_split import COLUMNS, WrittenSplit
from evidencebench.integrations.known_data import CITATION, PAPER_URL

_PARQUET = "application/x-parquet"
# How Croissant spells names: the context of the format's version 1.1, in the order of its names.
_OWN_NAMES = (
    "arrayShape citeAs column containedIn equivalentProperty extract field fileObject fileProperty fileSet format "
    "includes isArray isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace "
    "samplingRate separator source subField transform"
)
_CONTEXT: dict[str, Any] = dict(
    sorted(
        {
            **{name: f"cr:{name}" for name in _OWN_NAMES.split()},
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
        }.items()
    )
)
_NESTED = {"sentence_aspects": "-1,-1"}
_NUMBERS = {"sentence_aspects": "cr:Int16"} | dict.fromkeys(
    ("er_optimal", "er_10", "result_er_optimal", "result_er_5"), "cr:Int32"
)
_SINGLE = {"id", "paper_id", "hypothesis", "other"}


def croissant(splits: Sequence[WrittenSplit], published_on: date) -> dict[str, Any]:
    """Return the content of croissant.json: a record set a split, named as the split."""
    published = any(split.is_published for split in splits)
    licences = list(dict.fromkeys(split.licence for split in splits))
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": "EvidenceBench" if all(split.is_published for split in splits) else "evidencebench_data",
        "description": f"{title_of(splits)}: hypotheses, papers cut into sentences, and which sentences are evidence.",
        "license": licences,
        "usageInfo": " ".join(f"{licence}: {terms_of(licence)}" for licence in licences),
        "citeAs": CITATION if published else "; ".join(f"{split.data}, sha256 {split.data_sha256}" for split in splits),
        **({"url": PAPER_URL} if published else {}),
        "datePublished": published_on.isoformat(),
        "version": "1.0.0",
        "distribution": [part for split in splits for part in _files(split)],
        "recordSet": [_record_set(split) for split in splits],
    }


def _files(split: WrittenSplit) -> list[dict[str, Any]]:
    objects: list[dict[str, Any]] = [
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
    ]
    whole = {
        "@type": "cr:FileSet",
        "@id": f"{split.name}_files",
        "name": f"{split.name}_files",
        "description": f"The files of the split {split.name}.",
        "encodingFormat": _PARQUET,
        "includes": split.pattern,
    }
    return [*objects, whole]


def _record_set(split: WrittenSplit) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": split.name,
        "name": split.name,
        "description": f"{split.n_instances:,} instances; licence {split.licence}.",
        "key": {"@id": f"{split.name}/id"},
        "field": [_field(split, name) for name in COLUMNS],
    }


def _field(split: WrittenSplit, name: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{split.name}/{name}",
        "name": name,
        "description": COLUMNS[name],
        "dataType": _NUMBERS.get(name, "sc:Text"),
        **({} if name in _SINGLE else {"isArray": True, "arrayShape": _NESTED.get(name, "-1")}),
        "source": {"fileSet": {"@id": f"{split.name}_files"}, "extract": {"column": name}},
    }
