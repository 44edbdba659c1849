"""The picks that a person has not submitted yet: one small file, written whole at every change."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from evidencebench.errors import DataError, RunError, RunFormatError
from evidencebench.storage.reading import read_whole
from evidencebench.storage.whole_file import whole_file


class PickDraft(msgspec.Struct, frozen=True, kw_only=True):
    """Picks that are not final.

    Attributes
    ----------
    opened
        When the person first saw the paper, ISO 8601, UTC.
    sentences
        0-based indices, in the order they were picked.
    seconds
        How long the person worked on it so far.
    revision
        How often the picks were changed; 0 in files of earlier versions, which did not count.
    tab
        Where they were changed last, by the name that the page gave itself.
    """

    opened: str
    sentences: tuple[int, ...] = ()
    seconds: int = 0
    revision: int = 0
    tab: str = ""


class _DraftsFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file: its format's version, and instance id -> draft."""

    evidencebench_drafts: int = 1
    drafts: dict[str, PickDraft] = {}


_decoder = msgspec.json.Decoder(_DraftsFile)


def read_drafts(path: Path) -> dict[str, PickDraft]:
    """Return instance id -> draft, none where there is no file; raise `RunFormatError` where it holds other things."""
    try:
        return _decoder.decode(read_whole(path)).drafts
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RunFormatError(f"{path}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunFormatError(f"{path}: expected drafts: {error}; move the file away to begin without them") from error


def write_drafts(path: Path, drafts: Mapping[str, PickDraft]) -> None:
    """Replace the file of drafts; raise `RunError` where it cannot be written, or is a link by now."""
    require_no_link(path)
    try:
        with whole_file(path, follows_links=False) as file:  # a link made this moment is replaced
            file.write(msgspec.json.encode(_DraftsFile(drafts=dict(drafts))))
    except DataError as error:
        raise RunError(str(error)) from error


def require_no_link(path: Path) -> None:
    """Raise `RunError` where a path is a link, which might lead anywhere."""
    if path.is_symlink():
        raise RunError(f"{path}: is a link; people's files must lie in the folder itself")
