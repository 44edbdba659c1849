"""The misses of `evidencebench audit` as tasks that people answer. Auditors see labels."""

import shlex
from pathlib import Path

from msgspec.structs import replace

from evidencebench.construction.people.answers import CAUSES, Verdict, verdict_folder
from evidencebench.construction.people.tasks import MissesFile
from evidencebench.pages.people.tasks import TaskApp, TaskRow, answered_tasks, done_or_begun, task_record
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
        shape=Verdict,
        rows=lambda _: rows,
        shown=lambda miss: task_record(misses.by_id[miss], "loss", "stands_for"),  # how it was drawn does not matter
        read=verdicts.answers_of,
        keep=lambda person, verdict: verdicts.append(person, replace(verdict, at="")),
        how_far=lambda verdict: done_or_begun(bool(verdict.cause)),
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
