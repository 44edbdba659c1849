"""The known data sets: file, size, checksum, licence. None is shipped, since two licences forbid commercial use."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from evidencebench.errors import UnreadableError
from evidencebench.files.disk import PathText, packaged_table
from evidencebench.files.places import data_folder
from evidencebench.files.remote import is_remote, local_copy
from evidencebench.wording import or_one_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """One published file, with what this version of evidencebench knows of it.

    ``sha256`` may hold only the beginning and the end of the checksum, joined by three dots (`771cc068...d18b`).
    """

    name: str  # what users call it
    file_name: str  # in the data folder, and on a mirror
    url: str
    n_instances: int
    size_bytes: int | None = None  # None: not known
    sha256: str | None = None  # in lower-case hexadecimal; None: not known
    licence: str  # as the publisher names it
    note: str = ""  # what else users must know to fetch or use it


CATALOG: Mapping[str, CatalogEntry] = MappingProxyType(
    {
        name: CatalogEntry(name=name, file_name=known["url"].rpartition("/")[2], **known)
        for name, known in packaged_table(__file__).items()
    }
)
"""Every known data set by its name, the original splits first."""


SAMPLE = "sample"


def data_path(name: PathText) -> Path:
    """Return the path of a data file, given its catalogue name, its path, or its address.

    ``"sample"`` and the names of `CATALOG` are names; text with ``://`` is an address, of which a copy is made; any
    other text, and a `Path` whatever its name, is a path. Raises
    `UnreadableError` for a catalogue name whose file is not on this machine, or text that is neither such a name nor
    like a path.

    >>> data_path("sample").name, data_path("./sample").name
    ('sample.json', 'sample')
    """
    if name == SAMPLE:
        return Path(str(files("evidencebench.data"))) / "sample" / "sample.json"
    if not isinstance(name, str):
        return Path(name)
    if is_remote(name):
        return local_copy(name)
    if name not in CATALOG:
        path, known = Path(name), (SAMPLE, *CATALOG)
        if "/" not in name and not path.suffix and not path.exists():
            raise UnreadableError(f"{name}: no such data set or file{or_one_of(name, known, other='a data file')}")
        return path
    path = data_folder(os.environ) / CATALOG[name].file_name
    if not path.exists():
        raise UnreadableError(f"{name}: not on this machine yet; fetch it with 'evidencebench data download {name}'")
    return path


def sha256_matches(known: str, computed: str) -> bool:
    """Say whether a checksum is the known one; of a known ``beginning...end``, both ends are compared.

    >>> sha256_matches("77...8b", "77" + 60 * "0" + "8b"), sha256_matches("77...8b", "78" + 60 * "0" + "8b")
    (True, False)
    """
    beginning, _, end = known.partition("...")
    return computed.startswith(beginning) and computed.endswith(end)
