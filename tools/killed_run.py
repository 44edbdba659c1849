"""Run a construction, and end with SIGKILL where a step writes: in half of a line, before a sync or before a rename.

    python tools/killed_run.py STEP N CONFIG.toml

Dies at the N-th of these moments in STEP, which are counted anew in each run; N = 0: not at all. A run that came to its
end prints how many moments STEP had. `assemble` is a step here, too.
"""

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evidencebench.cli.main import main as evidencebench
from evidencebench.construction.draft import DATASET_FOLDER, STEP_FILES

CALLS = ("write", "fsync", "replace", "rename", "mkdir", "unlink")


def step_of(target: Any) -> str:
    """Return the step that writes a file, given by its path or descriptor; empty for any other."""
    try:
        path = Path(f"/proc/self/fd/{target}").readlink() if isinstance(target, int) else Path(os.fsdecode(target))
    except OSError:
        return ""
    if any(part in (DATASET_FOLDER, f"{DATASET_FOLDER}.part") for part in path.parts):
        return "assemble"
    return next((step for step, name in STEP_FILES.items() if name in path.name), "")


def main() -> None:
    """Run it."""
    wanted, n, config = sys.argv[1:]
    counts = Counter[str]()

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(target: Any, *more: Any, **options: Any) -> Any:
            step = step_of(target)
            counts[step] += 1
            if step == wanted and counts[step] == int(n):
                if call.__name__ == "write":
                    call(target, more[0][: len(more[0]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(target, *more, **options)

        return called

    for name in CALLS:
        setattr(os, name, dying(getattr(os, name)))
    sys.argv = ["evidencebench", "construct", "run", config]
    try:
        evidencebench()
    finally:
        print(counts[wanted])


if __name__ == "__main__":
    main()
