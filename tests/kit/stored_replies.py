"""What a cache of replies holds, read without the package: pairs of a request and its reply, as JSON."""

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path


def stored_replies(folder: Path) -> list[tuple[bytes, bytes]]:
    """Return the request and the reply of each row, oldest first; none where nothing was stored yet."""
    if not (folder / "replies.sqlite").exists():
        return []
    with closing(sqlite3.connect(folder / "replies.sqlite")) as connection:
        rows = connection.execute("SELECT request, reply FROM reply ORDER BY id").fetchall()
    return [(zlib.decompress(request), zlib.decompress(reply)) for request, reply in rows]
