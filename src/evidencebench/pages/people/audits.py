"""The misses of `evidencebench audit` as tasks that people answer. Auditors see labels."""

import shlex
from pathlib import Path

from evidencebench.construction.people.answers import CAUSES, verdict_folder
from evidencebench.construction.people.tasks import MissesFile
from evidencebench.pages.people.tasks import TaskApp, TaskRow, answered_tasks, done_or_begun, from_page, task_record
from evidencebench.runs.answers import DecisionAnswer
from evidencebench.wording import counted


def audit_tasks(misses: MissesFile, folder: Path) -> TaskApp:
    verdicts = verdict_folder(folder, misses)
    verdicts.read_all()  # raises at once where a file there is damaged, or of other misses
    header = misses.header
    rows = {
        miss.id: TaskRow(
            id=miss.id,
            text=miss.aspect or miss.hypothesis,
            facts=f"{miss.instance_id} · {counted(len(miss.sentences), 'sentence')}",
        )
        for miss in misses.records
    }
    tasks = answered_tasks(
        shape=DecisionAnswer,
        rows=lambda _: rows,
        shown=lambda miss: task_record(misses.by_id[miss], "loss", "stands_for"),  # how it was drawn does not matter
        read=verdicts.answers_of,
        keep=lambda person, verdict: verdicts.save(person, from_page(verdict)),
        how_far=lambda verdict: done_or_begun(bool(verdict.choice)),
    )
    report = ["evidencebench", "audit", "report", str(misses.path), "--folder", str(folder)]
    return TaskApp(
        kinds={"tasks": tasks},
        about={
            "sort": "misses",
            "n_tasks": len(rows),
            "title": f"Audit {misses.path.name}",
            "system": header.system,
            "causes": list(CAUSES.values()),
            "report": shlex.join([*report, "--run", header.run.name, "--data", header.data.name]),
        },
        folder=folder,
    )
