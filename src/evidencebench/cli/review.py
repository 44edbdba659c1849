"""``evidencebench review``."""

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated

from evidencebench.cli import options
from evidencebench.cli.options import PageServing, argument, option
from evidencebench.cli.papers import paper_files
from evidencebench.engine.processes import Processes
from evidencebench.execution.finding import DEFAULT_FINDER
from evidencebench.execution.making import make_system
from evidencebench.review.desk import DeskPaper, open_desk, system_key
from evidencebench.tables import printable
from evidencebench.wording import counted


@options.command
def review(
    *,
    folder: Annotated[Path, argument("FOLDER", options.EXISTING_FOLDER)],
    questions: Annotated[
        Path | None, option("--questions FILE", "Questions, one a line; kept in FOLDER.", options.EXISTING_FILE)
    ],
    is_blind: Annotated[bool, option("--blind", "Show nobody what others decide.")],
    spec: Annotated[
        str, option("--system SYSTEM", "What finds the evidence.", shell_complete=options.complete_systems)
    ] = DEFAULT_FINDER,
    seed: options.Seed,
    serving: PageServing,
) -> None:
    """Review a folder of papers: ask questions, decide, export.

    In a browser: a table of the papers in FOLDER and the questions, which fills as
    evidence is found. In each cell people accept, reject and add sentences,
    decide what the paper reports, and write a note. All is saved at once in
    FOLDER/evidencebench-review, and the table goes on after a stop.

    \b
    Examples:
      evidencebench review papers --questions questions.txt --open
    """
    system = make_system(spec, seed=seed)
    with serving.listening("review") as (address, serve):
        from evidencebench.pages.people.review import review_tasks  # noqa: PLC0415 - an extra

        papers = _papers(folder, questions)
        desk = open_desk(folder, papers, questions, system_key(system))
        with closing(review_tasks(desk, is_blind=is_blind)) as tasks:
            desk.fill(Processes(max(1, min(4, (os.cpu_count() or 2) - 1))), spec, seed=seed)
            what = f"{counted(len(papers), 'paper')} x {counted(len(desk.questions), 'question')}"
            serve(tasks.make_app(address), f"reviewing {printable(folder.name)}, {what},")


def _papers(folder: Path, questions: Path | None) -> list[DeskPaper]:
    found = []
    for file in paper_files([str(folder)]):
        path = Path(file.name)
        if questions is not None and path.exists() and path.samefile(questions):
            continue
        inside = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name
        problem = "" if file.error is None else str(file.error)
        found.append(DeskPaper(path=path, file=inside, title=file.title, ids=file.ids, problem=problem))
    return found
