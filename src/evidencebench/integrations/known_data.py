"""Which published data set a file is, so that its licence and its source can be told."""

import re

from evidencebench.data.catalog import CATALOG, CatalogEntry, sha256_matches
from evidencebench.data.dataset import Dataset

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
"""How the benchmark is cited."""


def known_entry(dataset: Dataset) -> CatalogEntry | None:
    """Return the entry of the catalogue that a data set is, or that all its instances are of; None if it is unknown.

    It is known by its checksum, by its file's name and size, or by the ids of its instances: a part of a published
    split, or the same in another format, stays under the licence of the split.
    """
    for entry in CATALOG.values():
        same_file = dataset.name == entry.file_name and len(dataset) == entry.n_instances
        if same_file and (entry.sha256 is None or sha256_matches(entry.sha256, dataset.sha256)):
            return entry
    matches = map(_ID.fullmatch, dataset.ids)
    splits = {match[1] if match else None for match in matches}
    split = splits.pop() if len(splits) == 1 else None
    return None if split is None else CATALOG[split]
