"""One at a time holds a file or a folder, and whoever ends lets go of it."""

import threading
from pathlib import Path

from evidencebench.storage.locks import locked_file, locked_folder


def test_a_file_that_is_held_is_not_waited_for_and_is_free_again_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for _ in range(2):
        with locked_file(path) as is_held, locked_file(path) as is_held_twice:
            assert (is_held, is_held_twice) == (True, False)
    with locked_file(path) as is_held:
        assert is_held


def test_a_folder_that_is_held_is_waited_for(tmp_path: Path) -> None:
    told: list[str] = []

    def wait() -> None:
        with locked_folder(tmp_path):
            told.append("second")

    with locked_folder(tmp_path):
        thread = threading.Thread(target=wait)
        thread.start()
        told.append("first")
    thread.join()
    assert told == ["first", "second"]
