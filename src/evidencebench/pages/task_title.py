"""The title of a task, the same on every page; its name stands beside it, in small letters."""

from evidencebench.data.tasks import Task
from evidencebench.wording import counted


def task_title(task: Task) -> str:
    """Return a task in words: which aspects count, and how many sentences.

    >>> from evidencebench.data.tasks import TASKS
    >>> task_title(TASKS["er_at_optimal"]), task_title(TASKS["result_er_at_5"])
    ('All aspects, fewest sentences', 'Results aspects, 5 sentences')
    """
    scope = "All aspects" if task.scope == "all" else "Results aspects"
    if task.budget is None:
        return f"{scope}, any number of sentences"
    return f"{scope}, {'fewest sentences' if task.budget == 'optimal' else counted(task.budget, 'sentence')}"
