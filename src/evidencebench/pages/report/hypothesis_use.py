"""Whether systems use the hypothesis, as a table: a word for each, how their choice changes, and their recall."""

from collections.abc import Mapping, Sequence

from evidencebench.data.tasks import Task
from evidencebench.pages.figures import RowAxis, bar_of, reach_of, row_axis, row_mark
from evidencebench.pages.markup import Child, Node, node
from evidencebench.pages.report.blocks import framed, isolated_name, note, points_text, terms_node
from evidencebench.pages.report.findings import Findings
from evidencebench.scoring.control_results import MOST_CHANGED, USES, ControlResult, use_of_hypothesis
from evidencebench.scoring.score_texts import p_text, percent, signed

NEVER_READS = "it never reads the hypothesis, so its answers would be the same"

_WRONG, _NEVER, _NOT_MEASURED = "wrong hypothesis", "cannot", "not measured"
_PLOT, _VALUE, _HIDDEN = {"class": "forest-plot"}, {"class": "forest-value"}, {"class": "visually-hidden"}
_SHARES = RowAxis(low=0.0, high=1.0, ticks=tuple((tick / 100, str(tick)) for tick in (0, 25, 50, 75, 100)))


def use_blocks(
    findings: Findings, task: Task, results: Sequence[ControlResult], unmeasured: Mapping[str, str]
) -> list[Child]:
    """Return the verdict on a task in words, and a table for each kind of changed queries."""
    places = [row.system for row in findings.standings[task.name] if not row.is_control]
    here = sorted(
        (result for result in results if result.comparison.task == task), key=lambda result: places.index(result.system)
    )
    by_control = {
        name: [result for result in here if result.control == name]
        for name in dict.fromkeys(r.control for r in results)
    }
    wrong = by_control.get(_WRONG, [])
    words: dict[str, str] = {
        label: _NEVER if reason == NEVER_READS else _NOT_MEASURED for label, reason in unmeasured.items()
    }
    words |= {result.system: use_of_hypothesis(result) for result in wrong}
    blocks: list[Child] = [_told({label: words[label] for label in places if label in words})]
    blocks += [
        _table(findings, control, its, has_words=control == _WRONG) for control, its in by_control.items() if its
    ]
    return [*blocks, _meaning()] if wrong else blocks


def _told(words: Mapping[str, str]) -> Node:
    said: list[tuple[Child, Sequence[Child]]] = []
    for word in (*USES, _NOT_MEASURED):
        if labels := [label for label, its in words.items() if its == word]:
            names = [part for label in labels for part in (", ", isolated_name(label))][1:]
            said.append((node("strong", None, word), names))
    return node("div", {"class": "finding"}, terms_node(said))


def _table(findings: Findings, control: str, results: Sequence[ControlResult], *, has_words: bool) -> Node:
    reach = reach_of([bar_of("", result.comparison.test.difference) for result in results])
    ticks = [(end, signed(100 * end, "+.0f") if end else "0") for end in (-reach, 0.0, reach)]
    points = RowAxis(low=-reach, high=reach, ticks=ticks, rule=0.0)

    def row(result: ControlResult) -> Node:
        difference, overlap = result.comparison.test.difference, result.comparison.overlap
        series = findings.series_of(result.system, is_control=False)
        return node(
            "tr",
            None,
            node("th", {"scope": "row", "class": "forest-name"}, isolated_name(result.system)),
            node("td", {"class": "use-word"}, use_of_hypothesis(result)) if has_words else None,
            node(
                "td",
                _PLOT,
                None if overlap is None else row_mark(_SHARES, bar_of(result.system, overlap, series=series)),
            ),
            node("td", _VALUE, percent(overlap, alone="")),
            node("td", _PLOT, row_mark(points, bar_of(result.system, difference, series=series))),
            node("td", _VALUE, points_text(difference)),
            node("td", _VALUE, p_text(result.adjusted)),
        )

    def head(name: str, *inner: Child, look: Mapping[str, str] | None = None) -> Node:
        return node("th", {"scope": "col", **(look or {})}, node("span", _HIDDEN if inner else None, name), *inner)

    columns = (
        head("system"),
        head("verdict") if has_words else None,
        head("plot of the overlap", row_axis(_SHARES), look=_PLOT),
        head("overlap, %"),
        head("plot of the difference", row_axis(points), look=_PLOT),
        head("own − changed, points"),
        head("p"),
    )
    name = f"Own against changed queries: {control}"
    inner = (node("caption", None, name), node("thead", None, node("tr", None, *columns)))
    return framed(name, node("table", {"class": "forest uses"}, *inner, node("tbody", None, *map(row, results))))


def _meaning() -> Node:
    return note(
        "Overlap: of the sentences chosen with the own or the wrong hypothesis, those chosen with both. Reads it: "
        "recall is significantly higher with the own one. Changes little: that is not shown, and the overlap lies "
        f"above {100 * MOST_CHANGED:g} % with its whole interval. Cannot: it chooses the same sentences whatever is "
        "asked. No gain shown is no proof that there is none: the interval says how large it may be. A system that "
        "answers differently each time changes its choice without reading anything; only its recall tells."
    )
