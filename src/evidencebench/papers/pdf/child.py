"""What opens PDFs: a process of its own, with little time and memory."""

import subprocess
import sys
from contextlib import suppress

from evidencebench.errors import UnreadableError

SECONDS = 60
"""How long a PDF may take; one of 20 pages takes under half a second."""

_MEMORY_BYTES = 3 << 30


def limit_process() -> None:
    try:
        import resource  # noqa: PLC0415 - not on Windows, where only the time is limited
    except ImportError:
        return
    for limit, most in ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):  # not every system knows every limit
            resource.setrlimit(limit, (most, most))


def ask_process(module: str, content: bytes, name: str) -> bytes:
    """Return what a module of this package, run as a program, writes for bytes; ``name`` is that of the PDF."""
    try:
        ended = subprocess.run(  # noqa: S603 our own program
            [sys.executable, "-P", "-m", module], input=content, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UnreadableError(
            f"{name}: PDF: expected to be read in {SECONDS} seconds, got no end; it may be damaged: open it "
            "in a viewer and print it to a new PDF"
        ) from error
    if ended.returncode or not ended.stdout:
        raise UnreadableError(
            f"{name}: PDF: damaged: its reader ended with status {ended.returncode}; open it in a viewer and "
            "print it to a new PDF"
        )
    return ended.stdout
