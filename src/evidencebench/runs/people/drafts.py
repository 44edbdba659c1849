"""What a person picks, and the picks that are not submitted yet: one small file, written whole at every change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from evidencebench.errors import DataError, PeopleError, RunError, RunFormatError
from evidencebench.storage.reading import BROKEN_JSON, read_whole
from evidencebench.storage.whole_file import whole_file
from evidencebench.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """What a person picks in one tab of a browser: 0-based indices, in the order they were picked."""

    sentences: tuple[int, ...]
    reached: int = 0  # the sentence that the person has got to
    seconds: int = 0  # how long the person worked on it, as the page says
    revision: int = 0  # of the draft that the tab has changed
    tab: str = ""  # a name that only this tab has, and another one after it was loaded again


class PickDraft(msgspec.Struct, frozen=True, kw_only=True):
    """Picks that are not final."""

    opened: str  # when the person first saw the paper, ISO 8601, UTC
    sentences: tuple[int, ...] = ()
    reached: int = 0  # the sentence that the person had got to; 0 in files of earlier versions
    seconds: int = 0
    revision: int = 0  # counts the changes of the picks; 0 in files of earlier versions
    tab: str = ""  # that made the last change


class _DraftsFile(msgspec.Struct, frozen=True, kw_only=True):
    evidencebench_drafts: int = 1
    drafts: dict[str, PickDraft] = {}  # by instance, the one that was worked on last at the end


def checked_picks(sentences: Sequence[int], *, n_sentences: int, budget: int) -> tuple[int, ...]:
    """Return picks as they are; raise `PeopleError` where one does not exist or repeats, or they are too many."""
    for index in sentences:
        if not 0 <= index < n_sentences:
            raise PeopleError(f"sentence {index}: the paper has sentences 0..{n_sentences - 1}")
    if len(set(sentences)) < len(sentences):
        raise PeopleError("a sentence is picked twice")
    if len(sentences) > budget:
        raise PeopleError(f"{counted(len(sentences), 'sentence')} picked, but at most {budget} count; remove some")
    return tuple(sentences)


def read_drafts(path: Path) -> dict[str, PickDraft]:
    """Return instance id -> draft, none where there is no file; raise `RunFormatError` for another file."""
    try:
        return msgspec.json.decode(read_whole(path), type=_DraftsFile).drafts
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RunFormatError(f"{path}: cannot be read: {error.strerror}") from error
    except BROKEN_JSON as error:
        raise RunFormatError(f"{path}: expected drafts: {error}; move the file away to begin without them") from error


def write_drafts(path: Path, drafts: Mapping[str, PickDraft]) -> None:
    """Replace the file of drafts; raise `RunError` where it cannot be written, or is a link by now."""
    require_no_link(path)
    try:
        with whole_file(path, follows_links=False) as file:  # a link that was made since is replaced
            file.write(msgspec.json.encode(_DraftsFile(drafts=dict(drafts))))
    except DataError as error:
        raise RunError(str(error)) from error


def require_no_link(path: Path) -> None:
    """Raise `RunError` where a path is a link, which might lead anywhere."""
    if path.is_symlink():
        raise RunError(f"{path}: is a link; people's files must lie in the folder itself")
