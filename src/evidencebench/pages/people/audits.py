"""The misses of `evidencebench audit` as tasks that people answer. Auditors see labels."""

import shlex
from pathlib import Path

import msgspec

from evidencebench.construction.people.answers import CAUSES, Verdict, verdict_folder
from evidencebench.construction.people.tasks import Miss, MissesFile
from evidencebench.pages.paper import kind_letters
from evidencebench.pages.people.tasks import TaskApp, TaskRow, journal_tasks
from evidencebench.wording import counted


def audit_tasks(misses: MissesFile, folder: Path) -> TaskApp:
    verdicts = verdict_folder(folder, misses)
    verdicts.read_all()  # raises at once where a file there is damaged, or of other misses
    header = misses.header
    rows = [
        TaskRow(
            id=miss.id,
            text=miss.aspect or miss.hypothesis,
            facts=f"{miss.instance_id} · {counted(len(miss.sentences), 'sentence')}",
        )
        for miss in misses.records
    ]
    report = ["evidencebench", "audit", "report", str(misses.path), "--folder", str(folder)]
    return TaskApp(
        kinds={
            "tasks": journal_tasks(
                rows=lambda _: rows,
                shown=lambda miss: _shown(misses.by_id[miss]),
                shape=Verdict,
                read=verdicts.answers_of,
                append=lambda person, verdict: verdicts.append(person, msgspec.structs.replace(verdict, at="")),
                is_done=lambda verdict: bool(verdict.cause),
            )
        },
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


def _shown(miss: Miss) -> dict[str, object]:
    left_out = {"loss", "stands_for"}  # how it was drawn does not matter to an auditor
    fields = {name: value for name, value in msgspec.structs.asdict(miss).items() if name not in left_out}
    return {**fields, "kinds": kind_letters(miss.kinds)}
