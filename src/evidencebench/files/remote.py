"""Copies of files that lie elsewhere: on the web, or in a store such as S3."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evidencebench.errors import EvidenceBenchError, UnreadableError
from evidencebench.files.atomic import put_in_place, whole_file
from evidencebench.files.places import cache_folder
from evidencebench.provenance import require_extra

_PATTERN = frozenset("*?[")
_STATE = ("size", "ETag", "LastModified", "Last-Modified", "mtime")  # by which a store tells a change
_EXTRAS = {"s3": ("s3", "s3fs"), "s3a": ("s3", "s3fs")}  # protocol -> extra, package


def is_remote(name: object) -> bool:
    """Whether text is an address, such as ``https://host/data.json`` or ``s3://bucket/shards/*.parquet``."""
    return isinstance(name, str) and "://" in name


def local_copy(address: str, *, on_progress: Callable[[int, int], object] = lambda *_: None) -> Path:
    """Return a file with what lies at an address, or a folder with all files that fit a pattern.

    A copy that was made before serves as long as the store tells the same size, time and tag. ``on_progress`` is called
    with the bytes that came, and with all of them. Raises `UnreadableError`, and `MissingExtraError` where the
    protocol needs a package.
    """
    import fsspec  # noqa: PLC0415 - few data sets lie elsewhere

    protocol = address.partition("://")[0]
    if protocol in _EXTRAS:
        require_extra(f"{protocol}:// addresses", *_EXTRAS[protocol])
    options = {"client_kwargs": {"trust_env": True}} if protocol in {"http", "https"} else {}
    try:
        store, place = fsspec.url_to_fs(address, **options)
        places = sorted(store.glob(place)) if _PATTERN.intersection(place) else [place]
        known = {one: store.info(one) for one in places}
        return _copied(address, store, known, on_progress)
    except EvidenceBenchError:
        raise
    except Exception as error:  # each store has its own
        cause = error if error.__cause__ is None else error.__cause__  # fsspec finds no file where nobody answers
        reason = str(cause) or type(cause).__name__
        raise UnreadableError(f"{address}: cannot be read: {reason}; correct the address, or see to the net") from error


def _copied(
    address: str, store: Any, known: dict[str, dict[str, Any]], on_progress: Callable[[int, int], object]
) -> Path:
    if not known:
        raise UnreadableError(f"{address}: no file fits this pattern")
    if len(set(map(_name_of, known))) < len(known):
        raise UnreadableError(f"{address}: expected files of different names, got two of one; name one folder of them")
    states = [[place, {name: str(info[name]) for name in _STATE if name in info}] for place, info in known.items()]
    stamp = hashlib.sha256(json.dumps([address, states]).encode()).hexdigest()[:24]
    cache = cache_folder(os.environ) or Path(tempfile.gettempdir()) / "evidencebench"
    folder = cache / "remote" / stamp
    if not folder.is_dir():
        n_held, n_all = 0, sum(info.get("size") or 0 for info in known.values())
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{stamp}.", suffix=".part", dir=folder.parent))
        try:
            for place, info in known.items():
                before, copied = n_held, part / "copied"  # by whose name nothing is packed
                with store.open(place, "rb") as source, whole_file(copied) as file:
                    while block := source.read(1 << 20):
                        file.write(block)
                        n_held += len(block)
                        on_progress(n_held, max(n_all, n_held))
                if info.get("size") not in {None, n_held - before}:
                    raise UnreadableError(f"{address}: expected {info['size']:,} bytes, got {n_held - before:,}")
                put_in_place(copied, part / _name_of(place))
            if not folder.is_dir():  # another process may have been faster
                put_in_place(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder / _name_of(next(iter(known))) if len(known) == 1 and not _PATTERN.intersection(address) else folder


def _name_of(place: str) -> str:
    return place.partition("?")[0].rstrip("/").rpartition("/")[2] or "data.json"
