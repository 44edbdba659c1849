"""Read papers' files in a process of their own, which is ended where it takes more time or memory than it may.

A reader that hangs, even in C, is then a failure with the file's name, and no test that never ends.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from doors import UnreadableError
from evidencebench import read_paper


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one file: the sentences of its paper, or the error in words."""

    path: str
    sentences: tuple[str, ...] = ()
    error: str = ""


def read_apart(paths: Sequence[Path]) -> list[Verdict]:
    """Return what became of each file; fails where one is answered by neither a result nor an error in words."""
    done = subprocess.run(
        [sys.executable, __file__],
        input="\n".join(map(str, paths)),
        capture_output=True,
        text=True,
        check=False,
    )
    verdicts = [Verdict(**json.loads(line)) for line in done.stdout.splitlines()]
    stopped_at = paths[len(verdicts)] if len(verdicts) < len(paths) else "none"
    assert (done.returncode, done.stderr) == (0, ""), f"exit code {done.returncode} at {stopped_at}: {done.stderr}"
    return verdicts


def _main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    for path in sys.stdin.read().splitlines():
        sys.stdout.write(json.dumps(asdict(_verdict(path))) + "\n")
        sys.stdout.flush()


def _verdict(path: str) -> Verdict:
    try:
        paper = read_paper(Path(path))
    except UnreadableError as error:
        return Verdict(path=path, error=str(error))
    assert len(paper.sentences) == len(paper.kinds) == len(paper.places) == len(paper.spans) > 0
    assert all(sentence.strip() == sentence != "" for sentence in paper.sentences)
    assert all(0 <= span.start <= span.stop for span in paper.spans)
    return Verdict(path=path, sentences=paper.sentences)


if __name__ == "__main__":
    _main()
