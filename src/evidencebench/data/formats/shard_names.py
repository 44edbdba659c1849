"""Several files as one data set: which files a folder or a pattern names, and in which order; how new ones are written.

>>> shard_name("train.parquet", 2, 5)
'train-00002-of-00005.parquet'
"""

import glob
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evidencebench.errors import DataError, UnreadableError
from evidencebench.storage.whole_file import put_in_place
from evidencebench.storage.whole_folder import locked_part
from evidencebench.wording import counted

# Files beside the data that describe them, and are no data.
_DESCRIPTIONS = re.compile(r"(?:croissant|dataset_infos?|state)\.json|.*\.placement\.json")
_NUMBERED = re.compile(r"(?P<name>.+)-(?P<number>\d{5})-of-(?P<n>\d{5})(?P<suffix>\..+)")
_MAGIC = re.compile(r"[*?[]")
_MOST_SHOWN = 3
_WHOLE = "whole"  # the folder of all new shards, none of which is missing; while it is there, some are in place


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
        matches = sorted(map(Path, glob.glob(str(path), recursive=True)), key=_natural)  # noqa: PTH207 - of any depth
        files = tuple(match for match in matches if not match.is_dir())
        if not files:
            raise UnreadableError(f"{path}: no file fits this pattern; expected data files")
        _require_in_place(path, {one.parent for one in files})
        return files
    try:
        inside = sorted(path.iterdir(), key=_natural)
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    _require_in_place(path, [path])
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
    matches = (_NUMBERED.fullmatch(file.name) for file in path.parent.iterdir())
    return sorted(path.parent / match[0] for match in matches if match and match["name"] + match["suffix"] == path.name)


@contextmanager
def new_shards(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a folder for the shards of a file, which replace all that are there when the block has ended well.

    Until all have their names, `shards_in` refuses them; after a kill in between, the next call goes on.
    """
    with locked_part(path.with_name(f".{path.name}.part"), path) as (made, _):
        whole = made.with_name(_WHOLE)
        was_stopped = whole.exists()
        _put_in_place(whole, path)
        if (there := shards_named(path)) and not overwrite and not was_stopped:
            raise DataError(f"{there[0]}: exists; choose another name, or replace all shards with --overwrite")
        try:
            yield made
            put_in_place(made, whole)
            _put_in_place(whole, path)
        finally:
            _put_in_place(whole, path)  # what Ctrl-C has cut short


def _put_in_place(whole: Path, path: Path) -> None:
    """Remove the shards of before, then move the new ones out of a folder, and remove that last."""
    if whole.exists():
        new = list(whole.iterdir())
        for shard in shards_named(path) if new else ():
            if not shard.name.endswith(new[0].name.rpartition("-of-")[2]):
                shard.unlink()
        for shard in new:
            put_in_place(shard, path.with_name(shard.name))
        whole.rmdir()


def _require_in_place(place: Path, folders: Iterable[Path]) -> None:
    """Raise where files may be shards of before, since a process puts new ones in place there, or was stopped at it."""
    for whole in (found for folder in folders for found in folder.glob(f".*.part/{_WHOLE}")):
        raise UnreadableError(
            f"{place}: expected the shards of one data set, got old and new ones of {whole.parent.name[1:-5]}: a "
            "command that replaces them works, or was stopped; give the same one again"
        )


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", str(path))]


def _require_one_whole_set(folder: Path, files: Iterable[Path]) -> None:
    """Raise where names such as ``train-00000-of-00005.parquet`` are of several sets, or one of a set is missing."""
    numbers: dict[tuple[str, str, int], set[int]] = {}
    for match in filter(None, (_NUMBERED.fullmatch(file.name) for file in files)):
        numbers.setdefault((match["name"], match["suffix"], int(match["n"])), set()).add(int(match["number"]))
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
