"""The sentences that raters judge differently, as a page: by who marked them, each between its neighbours."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from evidencebench.construction.people.agreement import Disagreement
from evidencebench.pages.html import Node, node, static_page
from evidencebench.wording import counted

_Pattern = tuple[tuple[str, ...], tuple[str, ...]]
"""Who marked a sentence, and who did not."""


def disagreements_page(disagreements: Sequence[Disagreement], *, title: str) -> str:
    by_pattern: dict[_Pattern, list[Disagreement]] = defaultdict(list)
    for disagreement in disagreements:
        by_pattern[disagreement.marked_by, disagreement.not_marked_by].append(disagreement)
    contents, sections = [], []
    for number, (pattern, members) in enumerate(by_pattern.items()):
        kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(member.kind for member in members).most_common())
        link = node("a", {"href": f"#pattern-{number}"}, _words(pattern))
        contents.append(node("li", {"dir": "auto"}, link, f": {len(members)}", node("small", None, kinds)))
        by_task: dict[str, list[Disagreement]] = defaultdict(list)
        for disagreement in members:
            by_task[disagreement.task].append(disagreement)
        parts = [part for of_task in by_task.values() for part in _task(of_task)]
        heading = node("h2", {"dir": "auto"}, _words(pattern))
        sections.append(node("section", {"id": f"pattern-{number}"}, heading, *parts))
    body = node(
        "main",
        None,
        node("h1", {"dir": "auto"}, title),
        node("p", None, f"{counted(len(disagreements), 'sentence')} on which raters differ, by who marked them:"),
        node("ul", None, *contents),
        *sections,
    )
    return static_page(title, body)


def _task(of_task: Sequence[Disagreement]) -> Iterator[Node]:
    first = of_task[0]
    yield node("h3", {"dir": "auto"}, first.aspect)
    yield node("p", {"class": "note"}, f"{first.task}, {first.paper_id}")
    for disagreement in of_task:
        place = node("small", None, f"sentence {disagreement.number}, {disagreement.kind}")
        around = (
            f"{disagreement.before} " if disagreement.before else "",
            node("mark", None, disagreement.sentence),
            f" {disagreement.after}",
            place,
        )
        yield node("p", {"dir": "auto"}, *around)


def _words(pattern: _Pattern) -> str:
    marked, unmarked = (", ".join(names) for names in pattern)
    return f"marked by {marked}; not by {unmarked}"
