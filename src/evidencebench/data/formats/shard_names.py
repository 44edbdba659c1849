"""Several files as one data set: which files a folder or a pattern names, and in which order; the names of new shards.

>>> shard_name("train.parquet", 2, 5)
'train-00002-of-00005.parquet'
"""

import glob
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from evidencebench.errors import UnreadableError
from evidencebench.wording import counted

# Files beside the data that describe them, and are no data.
_DESCRIPTIONS = re.compile(r"(?:croissant|dataset_infos?|state)\.json|.*\.placement\.json")
_NUMBERED = re.compile(r"(?P<name>.+)-(?P<number>\d{5})-of-(?P<n>\d{5})(?P<suffix>\..+)")
_MAGIC = re.compile(r"[*?[]")
_MOST_SHOWN = 3


def is_sharded(path: Path) -> bool:
    """Say whether a path names several files: a folder, or a pattern such as ``shards/*.parquet``."""
    return path.is_dir() or (_MAGIC.search(str(path)) is not None and not path.exists())


def shards_in(path: Path, is_data: Callable[[Path], bool]) -> tuple[Path, ...]:
    """Return the data files of a folder or a pattern, numbers in their names in order of size: 2 before 10.

    Of a folder, these are the files directly in it for whose names ``is_data`` is true, without hidden files and
    descriptions of the data. Raises `UnreadableError` where there is none, or where the names of a folder's files say
    that they are of several data sets, or that one is missing.
    """
    if not path.is_dir():
        found = sorted(map(Path, glob.glob(str(path), recursive=True)), key=_natural)  # noqa: PTH207 - of any depth
        files = tuple(one for one in found if not one.is_dir())
        if not files:
            raise UnreadableError(f"{path}: no file fits this pattern; expected data files")
        return files
    try:
        inside = sorted(path.iterdir(), key=_natural)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    files = tuple(
        one for one in inside if is_data(one) and one.name[0] not in "._" and not _DESCRIPTIONS.fullmatch(one.name)
    )
    if not files:
        raise UnreadableError(f"{path}: is a folder without a data file; expected .parquet, .jsonl or .json in it")
    _require_one_whole_set(path, files)
    return files


def shard_name(name: str, number: int, n_shards: int) -> str:
    """Return the name of a shard as Hugging Face's tools write it; ``number`` counts from 0."""
    stem, dot, suffix = name.partition(".")
    return f"{stem}-{number:05d}-of-{n_shards:05d}{dot}{suffix}"


def shards_named(path: Path) -> list[Path]:
    """Return the files that stand where shards of a file would, whatever their number."""
    found = (_NUMBERED.fullmatch(one.name) for one in path.parent.iterdir())
    return sorted(path.parent / one[0] for one in found if one and one["name"] + one["suffix"] == path.name)


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", str(path))]


def _require_one_whole_set(folder: Path, files: Iterable[Path]) -> None:
    """Raise where names such as ``train-00000-of-00005.parquet`` are of several sets, or one of a set is missing."""
    numbers: dict[tuple[str, str, int], set[int]] = {}
    for found in filter(None, (_NUMBERED.fullmatch(file.name) for file in files)):
        numbers.setdefault((found["name"], found["suffix"], int(found["n"])), set()).add(int(found["number"]))
    if len(numbers) > 1:
        sets = ", ".join(f"{name}-*-of-{n:05d}{suffix}" for name, suffix, n in sorted(numbers))
        raise UnreadableError(f"{folder}: expected the shards of one data set, got {sets}; give one of these patterns")
    for (name, suffix, n), there in numbers.items():
        missing = [shard_name(name + suffix, number, n) for number in range(n) if number not in there]
        if missing:
            shown = ", ".join(missing[:_MOST_SHOWN]) + (", ..." if len(missing) > _MOST_SHOWN else "")
            raise UnreadableError(
                f"{folder}: expected {counted(n, 'shard')}, but {counted(len(missing), 'shard is', 'shards are')} "
                f"missing: {shown}; to read the others alone, give a pattern such as '{folder}/{name}-*{suffix}'"
            )
