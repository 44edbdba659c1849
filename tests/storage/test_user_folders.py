"""Where files are kept is never the root of the disk, and what cannot be found out is said in words."""

import os
import pwd
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from evidencebench.errors import EvidenceBenchError
from evidencebench.files.places import cache_folder, data_folder

FOLDERS: list[tuple[Callable[[Mapping[str, str]], Path | None], str, str]] = [
    (cache_folder, "EVIDENCEBENCH_CACHE", ".cache"),
    (data_folder, "EVIDENCEBENCH_DATA", ".local/share"),
]


@pytest.mark.parametrize(("folder", "own", "default"), FOLDERS)
@pytest.mark.parametrize("home", [{}, {"HOME": ""}])
def test_an_empty_home_is_as_good_as_none(
    folder: Callable[[Mapping[str, str]], Path | None],
    own: str,
    default: str,
    home: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "")  # which the system's own answer must not fall back on
    by_the_system = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert folder(home) == by_the_system / default / "evidencebench"
    assert folder({own: "~/x", **home}) == by_the_system / "x"
    assert folder({own: "~/x", "HOME": "/home/ada"}) == Path("/home/ada/x")


@pytest.mark.parametrize(("folder", "own", "default"), FOLDERS)
def test_a_home_that_is_not_known_is_said_in_words(
    folder: Callable[[Mapping[str, str]], Path | None], own: str, default: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EvidenceBenchError, match=f"{own}: expected a folder, got '~nobody-here/x', whose home folder"):
        folder({own: "~nobody-here/x"})
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)  # as in a container
    words = f"HOME: expected this user's home folder, got nothing, .* set HOME, or {own} to a folder"
    with pytest.raises(EvidenceBenchError, match=words):
        folder({})
    assert folder({"HOME": "/home/ada"}) == Path("/home/ada") / default / "evidencebench"
