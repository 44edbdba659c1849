"""Files of the cache that would change answers if they were damaged: each has its digest in a file beside it.

A file whose digest is missing or does not match counts as absent, and is made again.
"""

import hashlib
from pathlib import Path

from evidencebench.storage.reading import file_sha256, read_whole
from evidencebench.storage.whole_file import write_whole

# Twice the 2 GB that an ONNX model may have.
_MOST_BYTES = 4 << 30


def digest_file(path: Path) -> Path:
    """Return the path of a file's digest, such as ``model.onnx.sha256``."""
    return path.with_name(f"{path.name}.sha256")


def is_intact(path: Path) -> bool:
    """Say whether a cached file is there and matches its digest."""
    try:
        return digest_file(path).read_text(encoding="ascii").strip() == file_sha256(path)
    except (OSError, UnicodeDecodeError):
        return False


def read_cached(path: Path) -> bytes | None:
    """Return a cached file's content, or None where it is absent or damaged; these very bytes are checked."""
    try:
        content = read_whole(path, at_most=_MOST_BYTES)
        digest = digest_file(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return content if hashlib.sha256(content).hexdigest() == digest else None


def write_cached(path: Path, content: bytes) -> None:
    """Write a file, its digest first; raises `DataError` if it cannot."""
    write_whole(digest_file(path), f"{hashlib.sha256(content).hexdigest()}\n")
    write_whole(path, content)
