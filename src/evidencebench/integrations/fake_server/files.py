"""Files that clients upload and batches write, in memory; and the form in which they are uploaded."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from evidencebench.integrations.fake_server.calls import BadCallError

MAX_STORED_BYTES = 2 << 30
"""All files together; a client that uploads more must delete some first."""

_BOUNDARY = re.compile(r'^multipart/form-data\b.*?;\s*boundary="?([^";,]{1,70})"?', re.IGNORECASE)
_NAME = re.compile(rb'[;\s]name="([^"]*)"')
_FILE_NAME = re.compile(rb'[;\s]filename="([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One file, with what is told about it."""

    id: str
    name: str
    purpose: str
    created: int
    content: bytes

    @property
    def as_object(self) -> dict[str, Any]:
        """The provider's JSON object of it."""
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.content),
            "created_at": self.created,
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
        }


class Files:
    """All files of one server.

    Parameters
    ----------
    clock
        Seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._files: dict[str, StoredFile] = {}
        self._n_made = 0

    def __iter__(self) -> Iterator[StoredFile]:
        return iter(self._files.values())

    def add(self, content: bytes, *, name: str, purpose: str) -> StoredFile:
        """Keep a file and return it.

        Raises
        ------
        BadCallError
            If all files together are too long.
        """
        if len(content) + sum(len(file.content) for file in self) > MAX_STORED_BYTES:
            raise BadCallError(f"the files are over {MAX_STORED_BYTES} bytes together; delete some first", status=413)
        self._n_made += 1
        file_id = f"file-{self._n_made:08x}"
        file = StoredFile(id=file_id, name=name, purpose=purpose, created=int(self._clock()), content=content)
        self._files[file_id] = file
        return file

    def find(self, file_id: str) -> StoredFile:
        """Return a file.

        Raises
        ------
        BadCallError
            If there is none of that id.
        """
        if file_id not in self._files:
            raise BadCallError(f"No such File object: {file_id}", param="id", status=404)
        return self._files[file_id]

    def delete(self, file_id: str) -> None:
        """Forget a file, with the same error as `find`."""
        del self._files[self.find(file_id).id]


def read_upload(content_type: str, body: bytes) -> tuple[bytes, str, str]:
    """Return the content, name and purpose of an uploaded file.

    Parameters
    ----------
    content_type, body
        Of the request.

    Raises
    ------
    BadCallError
        If it is no form, or has no file or no purpose.

    Source
    ------
    RFC 7578, multipart/form-data.
    """
    found = _BOUNDARY.match(content_type)
    if found is None:
        raise BadCallError("expected multipart/form-data with a boundary", param="file")
    fields: dict[bytes, tuple[bytes, bytes]] = {}
    for part in (b"\r\n" + body).split(b"\r\n--" + found[1].encode("latin-1"))[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        if name := _NAME.search(head):
            fields[name[1]] = (head, content)
    if b"file" not in fields or b"purpose" not in fields:
        raise BadCallError("expected the fields file and purpose", param="file")
    (head, content), purpose = fields[b"file"], fields[b"purpose"][1].decode("utf-8", "replace")
    file_name = _FILE_NAME.search(head)
    return content, file_name[1].decode("utf-8", "replace") if file_name else "upload", purpose
