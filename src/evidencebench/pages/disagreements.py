"""The sentences that raters judge differently, as a page: by who marked them, each between its neighbours."""

from collections import Counter
from collections.abc import Iterator, Sequence

from evidencebench.construction.people.agreement import Disagreement
from evidencebench.pages.html import Node, node, static_page
from evidencebench.wording import counted


def disagreements_page(disagreements: Sequence[Disagreement], *, title: str) -> str:
    by_pattern: dict[str, dict[str, list[Disagreement]]] = {}  # who marked and who did not -> task
    for one in disagreements:
        pattern = f"selected by {', '.join(one.marked_by)}; not by {', '.join(one.not_marked_by)}"
        by_pattern.setdefault(pattern, {}).setdefault(one.task, []).append(one)
    contents, sections = [], []
    for number, (pattern, by_task) in enumerate(by_pattern.items()):
        sorts = Counter(one.kind for of_task in by_task.values() for one in of_task)
        kinds = node("small", None, ", ".join(f"{n} {kind}" for kind, n in sorts.most_common()))
        link = node("a", {"href": f"#pattern-{number}"}, pattern)
        contents.append(node("li", {"dir": "auto"}, link, f": {sorts.total()}", kinds))
        parts = [part for of_task in by_task.values() for part in _task(of_task)]
        heading = node("h2", {"dir": "auto"}, pattern)
        sections.append(node("section", {"id": f"pattern-{number}"}, heading, *parts))
    body = node(
        "main",
        None,
        node("h1", {"dir": "auto"}, title),
        node(
            "p",
            None,
            f"{counted(len(disagreements), 'judgment')} on which raters differ, by who selected the sentence:",
        ),
        node("ul", None, *contents),
        *sections,
    )
    return static_page(title, body)


def _task(of_task: Sequence[Disagreement]) -> Iterator[Node]:
    first = of_task[0]
    yield node("h3", {"dir": "auto"}, first.aspect)
    yield node("p", {"class": "note"}, f"{first.task}, {first.paper_id}")
    for disagreement in of_task:
        number = "" if disagreement.number is None else f"sentence {disagreement.number}, "
        place = node("small", None, f"{number}{disagreement.kind}")
        around = (
            f"{disagreement.before} " if disagreement.before else "",
            node("mark", None, disagreement.sentence),
            f" {disagreement.after}",
            place,
        )
        yield node("p", {"dir": "auto"}, *around)
