"""Commands that serve pages, as processes of their own that can be killed and started again on the same port."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

Serving = Callable[..., AbstractContextManager[tuple[str, int]]]
"""Runs a command as `serving_command` does, and has its pages left before it is killed."""


@contextmanager
def serving_command(*arguments: str, port: int = 0, folder: Path | None = None) -> Iterator[tuple[str, int]]:
    """Run a command that serves pages during the block, then kill it with SIGKILL; yield its address and port."""
    words = [sys.executable, "-m", "evidencebench", *arguments, "--port", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if " on http://" not in line:
            process.kill()
            pytest.fail(f"the command said {line!r}, then {process.communicate()[1]}")
        url = line.rpartition(" on ")[2].strip()
        yield url, int(url.rstrip("/").rpartition(":")[2])
    finally:
        process.kill()
        process.communicate()
