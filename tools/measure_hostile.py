"""Say what becomes of a draft whose model replies with anything: a Markdown table, by shape of the reply and prompt.

    EVIDENCEBENCH_TESTS=thorough PYTHONPATH=tests python tools/measure_hostile.py

The shapes are those of tests/construction/test_hostile.py. Shapes of which the same becomes are one row. Then it runs
whole constructions whose server answers one question so (tests/construction/test_hostile_server.py), and counts.
"""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from construction.test_hostile import HOSTILE, READ
from construction.test_hostile_server import FAILURES, QUESTIONS, REPLIES, HostileServer, constructed, tried
from construction.test_writing import ANSWERS, PROMPTS, given_to, run, step_of, written
from evidencebench.construction.draft import DATASET_FOLDER
from evidencebench.construction.pipeline import Constructed
from evidencebench.models.llm.chat import ChatRequest
from evidencebench.tables import Cell, Table, as_markdown
from kit.trial_constructions import files_in


def outcome(folder: Path, prompt: str, reply: Any) -> str:
    """Return what becomes of the draft."""
    folder.mkdir()
    step = step_of(prompt, folder)
    made, _, sender = run(folder, step, given_to(step, folder), ANSWERS | {prompt: reply})
    if made is None:
        return "failed"
    if made.dropped:
        return str(made.dropped)
    rounds = made.judging.rounds if made.judging is not None else ()
    if any(vote.sentences is None for judged in rounds for votes in judged.votes for vote in votes):
        return "unread"
    return "asked again" if any(len(request.messages) > 1 for request in sender.asked) else "read"


def outcomes(folder: Path, prompt: str, shape: str) -> str:
    """Return what becomes of it where the model replies so once, and where it always does."""
    reply = (HOSTILE | READ)[shape](written(prompt))

    def at_first(request: ChatRequest) -> Any:
        return reply if len(request.messages) == 1 else ANSWERS[prompt]

    once, always = outcome(folder / "once", prompt, at_first), outcome(folder / "always", prompt, reply)
    return always if always == once else f"{once}, then {always}"


def count_whole_runs() -> None:
    """Print what became of the drafts of whole constructions, and whether a second run makes the same data."""
    classes, same, sound = Counter[str](), Counter[bool](), b""
    for question, shape in [("", ""), *((question, shape) for question in QUESTIONS for shape in REPLIES | FAILURES)]:
        with TemporaryDirectory() as scratch:
            folder = Path(scratch)
            server = HostileServer(question, [(REPLIES | FAILURES)[shape]]) if shape else HostileServer()
            made = tried(folder, server)
            if isinstance(made, Constructed):
                for step in made.steps:
                    classes.update(step.dropped)
                    classes["failed"] += len(step.failures)
            else:
                classes["runs that stopped"] += 1
            if shape in FAILURES:
                server.question = ""
                constructed(folder, server)
                same[repr(files_in(folder / "work" / DATASET_FOLDER)).encode() == sound] += 1
            elif not shape:
                sound = repr(files_in(folder / "work" / DATASET_FOLDER)).encode()
    print(f"{len(QUESTIONS) * len(REPLIES | FAILURES)} constructions of 3 drafts: {dict(classes)}")
    print(f"after failures, the same data: {same[True]} of {same.total()}")


def main() -> None:
    """Print the table."""
    found: dict[str, list[str]] = {}
    for shape in (*HOSTILE, *READ):
        with TemporaryDirectory() as scratch:
            folders = [Path(scratch) / str(number) for number in range(len(PROMPTS))]
            for folder in folders:
                folder.mkdir()
            found[shape] = [outcomes(*one, shape) for one in zip(folders, PROMPTS, strict=True)]
    alike: dict[tuple[str, ...], list[str]] = {}  # what becomes of a draft, shape by shape -> prompts
    for prompt, column in zip(PROMPTS, zip(*found.values(), strict=True), strict=True):
        alike.setdefault(column, []).append(prompt)
    rows: dict[tuple[str, ...], list[str]] = {}
    for shape, row in zip(found, zip(*alike, strict=True), strict=True):
        rows.setdefault(row, []).append(shape)
    cells: list[list[Cell]] = [[", ".join(shapes), *row] for row, shapes in rows.items()]
    print(as_markdown(Table(columns=["reply", *map(", ".join, alike.values())], rows=cells)))
    count_whole_runs()


if __name__ == "__main__":
    main()
