"""A process that is sent a signal, or killed, at each moment of a work: what it leaves behind."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from kit.examples import IS_THOROUGH

# Of these files, every line that is executed is a moment.
_FILES = ("atomic.py", "places.py", "shutil.py", "contextlib.py", "sources.py", "dataset.py")

_SCRIPT = """
import importlib, json, os, shutil, signal, sys
from pathlib import Path

module, root, name, times, step, files = sys.argv[1:]
sys.path[:0] = [str(Path(module).parent), str(Path(module).parents[1])]
test = importlib.import_module(Path(module).stem)
os.fsync = lambda _: None  # which takes most of the time
signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command line has it


def send_at(moment):
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if not frame.f_code.co_filename.endswith(tuple(files.split())):
            return None
        if event == "line":
            seen += 1
            if seen in range(moment, moment + 5 * int(times), 5):
                os.kill(os.getpid(), signal.Signals[name])
        return trace

    sys.settrace(trace)


found, moment, ended = [], 1 - int(step), None
while ended != 0:
    moment += int(step)
    for path in Path(root).iterdir():
        shutil.rmtree(path)
    test.prepare(Path(root))
    child = os.fork()
    if child == 0:
        send_at(moment)
        try:
            test.work(Path(root))
        except BaseException:
            os._exit(1)
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    found.append(test.state(Path(root)))
print(json.dumps(found))
"""


def at_each_moment(module: Path, name: str, root: Path, *, times: int = 1) -> list[Any]:
    """Return the ``state`` behind each moment at which ``work`` is sent a signal, or several soon after one another.

    All three are functions of a test file, which get the folder ``root``; ``prepare`` makes it as it was. The last
    state is that behind a work that ended by itself.
    """
    step = 1 if IS_THOROUGH else 23
    words = [str(module), str(root), name, str(times), str(step), " ".join(_FILES)]
    ended = subprocess.run([sys.executable, "-c", _SCRIPT, *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found: list[Any] = json.loads(ended.stdout)
    assert len(found) > 100 // step
    return found
