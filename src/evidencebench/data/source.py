"""What a data set reads its instances from: a file of any format, as it was when it was opened."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evidencebench.data.instance import Instance
from evidencebench.storage.snapshot import FileState


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A data file as it was opened, for another process that must not read any other.

    Attributes
    ----------
    path
        The file.
    state
        By which a change of it is noticed; None of what is unpacked.
    sha256
        Its checksum; needed where there is no state.
    """

    path: Path
    state: FileState | None
    sha256: str | None


class DataSource(Protocol):
    """The instances of a file, none of them decoded before it is asked for."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the instances, in file order."""
        ...

    @property
    def repeated_ids(self) -> tuple[str, ...]:
        """Return the ids that stand more than once; one instance of each can be read."""
        ...

    @property
    def sha256(self) -> str:
        """Return the checksum of the file as it was opened, in hexadecimal; made when first asked for."""
        ...

    @property
    def is_sha256_at_hand(self) -> bool:
        """Return whether the checksum is known, or is made in moments."""
        ...

    @property
    def file(self) -> DataFile:
        """Return the description by which another process opens the same file."""
        ...

    def __contains__(self, instance_id: object) -> bool:
        """Say whether there is an instance of an id."""
        ...

    def instance(self, instance_id: str) -> Instance:
        """Return an instance; raises `FormatError` if it breaks the format, `ChangedDataError` if the file changed."""
        ...

    def fields(self, instance_id: str) -> tuple[Any, list[str]]:
        """Return what stands under an id as plain JSON values, and the keys in it that stand more than once.

        Raises `FormatError` if it is no JSON, and `UnreadableError` if it is no text.
        """
        ...
