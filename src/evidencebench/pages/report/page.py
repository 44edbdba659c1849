"""Report(): the page."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from shlex import join

import msgspec

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.engine.processes import engine_of
from evidencebench.engine.protocol import Engine
from evidencebench.files.disk import PathText, paths_from
from evidencebench.pages.html import (
    REPORT_SCRIPTS,
    REPORT_STYLES,
    Child,
    Node,
    as_html,
    beginning_of,
    data_elements,
    exchange_elements,
    node,
    replace_forbidden,
    script,
    security_policy,
    style,
)
from evidencebench.pages.paper import GradedInstance, ListRow
from evidencebench.pages.report.blocks import (
    by_task,
    code,
    isolated_name,
    note,
    paragraph,
    points_text,
    task_switch,
    terms_node,
)
from evidencebench.pages.report.breakdowns import breakdowns_section, picks_section
from evidencebench.pages.report.curves import curves_of, curves_section
from evidencebench.pages.report.data import (
    Findings,
    asked_of,
    findings_of,
    papers_of,
    runs_of,
    unlabelled_papers,
    unlabelled_results,
    viewer_of,
)
from evidencebench.pages.report.failures import costs_section, failures_section
from evidencebench.pages.report.hypotheses import hypotheses_section
from evidencebench.pages.report.method import method_section, papers_section, signatures_section
from evidencebench.pages.report.scores import forest, leaderboard_section, pairs_section
from evidencebench.pages.viewer import ExchangeSource, ViewerData, task_title, viewer_data_of
from evidencebench.scoring.leaderboard import Standing
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling
from evidencebench.scoring.score_runs import MIN_INSTANCES_A_JOB, Caution, cautions_of, has_labels, score_runs
from evidencebench.scoring.selection import Rules
from evidencebench.scoring.significance import p_text, percent
from evidencebench.wording import counted

# The head of the report: for each task the verdict in words, and its forest plot.


# Differences of recalls are shown in steps of 0.1 points.
_SHOWN_STEP = 0.001
_MOST_NAMED = 5


def opening(title: str, findings: Findings) -> Node:
    """Return the head of the report: its title, its cautions, and for each task the verdict and the forest plot."""
    task = findings.tasks[0]
    return node(
        "section",
        {"id": "summary", "aria-labelledby": "summary-title", "tabindex": "-1"},
        node("h1", {"id": "summary-title", "class": "foreign", "dir": "auto"}, title),
        *(
            note(node("strong", None, "Caution: "), isolated_name(caution.label), f": {caution.text}.")
            for caution in cautions_of(findings.scored)
        ),
        None if len(findings.tasks) > 1 else note(f"{task_title(task)} ", code(task.name)),
        *by_task(findings.tasks, lambda task: [*_verdict(findings, task), *forest(findings, task)]),
    )


def _verdict(findings: Findings, task: Task) -> list[Node]:
    controls = findings.label_free_controls(task)
    ranked = findings.boards[task.name].ranked
    runs = [row for row in ranked if not row.is_control and findings.name_of(row) not in controls]
    if not runs:
        return [
            paragraph(
                f"On {task.name}, no run here competes: every one is a control or knows the labels.", look="finding"
            )
        ]
    board, leader = findings.boards[task.name], runs[0]
    level = [row for row in board.level_with(leader) if row in runs]
    beaten = [row for row in runs[1:] if row not in level]
    facts: dict[str, list[Child]] = {}
    if beaten:
        facts["Beaten"] = [*_names(findings, beaten), f": significantly below {findings.name_of(leader)}."]
    if controls:
        facts["Controls"] = _against_controls(findings, task, leader, controls)
    else:
        facts["Controls"] = ["No control that reads no labels stands beside the runs on this task."]
    facts["Answers"] = _answers(findings, runs)
    if reason := why_not_significant(findings, task):
        facts["Certainty"] = [reason]
    return [node("div", {"class": "finding"}, paragraph(*_top(findings, runs, level)), terms_node(facts.items()))]


def _top(findings: Findings, runs: Sequence[Standing], level: Sequence[Standing]) -> list[Child]:
    leader = runs[0]
    if not level:
        whose = f" is the best of {len(runs)} runs" if len(runs) > 1 else ""
        covers = f"{':' if whose else ''} {'it ' if whose else ''}covers {_mean(leader)} of the aspects on average"
        than = ", significantly more than each other run." if whose else "."
        return [node("strong", None, isolated_name(findings.name_of(leader)), whose), f"{covers}{than}"]
    n_level = len(level) + 1  # the best one is level with itself
    everyone = "Both runs" if n_level == 2 else f"All {n_level} runs"  # noqa: PLR2004 - both
    whose = everyone if n_level == len(runs) else f"{n_level} of {len(runs)} runs"
    said: list[Child] = [node("strong", None, f"{whose} are level at the top"), ": "]
    for place, row in enumerate((leader, *level)[:_MOST_NAMED]):
        said += [", " if place else "", isolated_name(findings.name_of(row)), f" {_mean(row)}"]
    more = f", and {n_level - _MOST_NAMED} more" if n_level > _MOST_NAMED else ""
    return [
        *said,
        f"{more} of the aspects on average. No difference to ",
        isolated_name(findings.name_of(leader)),
        " among them is significant.",
    ]


def _mean(row: Standing) -> str:
    alone = "" if row.recall.interval else f" ({row.recall.alone}: no interval)"
    return f"{percent(row.recall, alone='')} %{alone}"


def _names(findings: Findings, rows: Sequence[Standing]) -> list[Child]:
    return [
        part for place, row in enumerate(rows) for part in (", " if place else "", isolated_name(findings.name_of(row)))
    ]


def _against_controls(findings: Findings, task: Task, leader: Standing, controls: Sequence[str]) -> list[Child]:
    board = findings.boards[task.name]
    row = next(row for row in board.ranked if findings.name_of(row) == controls[0])
    pair = board.pair(leader, row)
    difference = pair.test.difference if pair.first is leader else pair.test.difference.negated
    how = "above" if difference.mean > 0 else "below"
    p = "too few papers differ for a test" if pair.adjusted is None else p_text(pair.adjusted, "p")
    if not pair.is_significant:
        how = "level with" if is_level(difference.mean) else f"not significantly {how}"
    else:
        how = f"significantly {how}"
    return [
        isolated_name(findings.name_of(leader)),
        " is ",
        node("strong", None, how),
        " the best that reads no labels, ",
        isolated_name(controls[0]),
        f": {points_text(difference)} points, {p}.",
    ]


def _answers(findings: Findings, runs: Sequence[Standing]) -> list[Child]:
    n_all = sum(row.n for row in runs)
    said: list[Child] = []
    for name, told in (("failed", "failed"), ("empty", "are empty"), ("missing", "are missing")):
        counts = [(row, getattr(row, name)) for row in runs if getattr(row, name)]
        if not counts:
            continue
        said.append(f"{'; ' if said else ''}{sum(n for _, n in counts):,} of {counted(n_all, 'answer')} {told} (")
        for place, (row, n) in enumerate(counts):
            said += [", " if place else "", isolated_name(findings.name_of(row)), f" {n:,}"]
        said.append(")")
    return (
        [*said, ". Each scores 0."] if said else [f"None of {counted(n_all, 'answer')} failed, is empty or is missing."]
    )


def is_level(difference: float) -> bool:
    """Say whether a difference of recalls is shown as 0.0 points.

    >>> is_level(-0.0004), is_level(0.001)
    (True, False)
    """
    return abs(difference) < _SHOWN_STEP / 2


def why_not_significant(findings: Findings, task: Task) -> str:
    """Return the reason why no difference on a task can be significant; empty where one can."""
    board = findings.boards[task.name]
    if not board.pairs or board.can_tell_apart:
        return ""
    papers = board.standings[0].recall.extent
    return f"No difference can be significant here: {papers}, or those on which the systems differ, are too few."


# The report as one HTML file: the results, then the papers. It loads nothing from elsewhere.


MOST_PAPERS = 5_000
"""With up to this many instances, the page holds the papers unless ``papers`` is false."""

_PAGE_MOST_NAMED, _LONGEST_TITLE = 3, 60


def report_page(
    paths: PathText | Iterable[PathText],
    dataset: Dataset | PathText,
    tasks: TaskOrName | Iterable[TaskOrName] = (),
    *,
    rules: Rules | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
    limit: int | None = None,
    title: str = "",
    largest: int = 20,
    papers: bool | None = None,
    shown_data: str = "",
    command: str = "",
    exchanges: ExchangeSource | None = None,
    jobs: int = 1,
    engine: Engine | None = None,
    on_caution: Callable[[Caution], object] | None = None,
    on_progress: Callable[[int, int, str], object] | None = None,
) -> str:
    """Return the report as one HTML page.

    Sections on one task hold a block for each, and the page shows that of the chosen task. ``title``: empty for the
    names of the data and the runs. ``largest`` is the last budget of the curves. ``papers`` says whether the page holds
    the papers (None: if there are at most `MOST_PAPERS`). ``shown_data`` is the argument of ``--data`` in commands that
    the page shows (empty: the data's path). ``command`` is the command that makes the page. ``exchanges``
    returns what language models were asked and what they replied, to be in the page; None: it is not.
    ``on_caution`` is called with each caution at the page's head. ``on_progress`` is called with (instances done,
    instances in all, what is done with them). The other arguments are those of `score_runs`.
    """
    rules, data, paths, tasks = rules or Rules(), dataset_from(dataset), paths_from(paths), tasks_from(tasks)
    n_instances = min(limit or len(data), len(data))
    if n_instances and paths and not has_labels(data, n_instances):
        viewed = viewer_data_of(paths, data, tasks, rules=rules, exchanges=exchanges)
        viewed = replace(viewed, title=title or _title(data.name, [run.label for run in runs_of(viewed)]))
        has_papers = n_instances <= MOST_PAPERS if papers is None else papers
        page = unlabelled_results(viewed, n_instances, has_papers=has_papers)
        embedded = _embedded(viewed, n_instances, unlabelled_papers(viewed, n_instances)) if has_papers else None
        return "".join(_parts(viewed.title, page, embedded))
    scored = score_runs(
        paths,
        data,
        tasks,
        rules=rules,
        with_selections=True,
        limit=limit,
        jobs=jobs,
        engine=engine,
        on_progress=_progress_of("scoring", on_progress),
    )
    findings = findings_of(scored, resampling)
    if on_caution is not None:
        for caution in cautions_of(findings.scored):
            on_caution(caution)
    runs = findings.scored.runs
    title = title or _title(data.name, list(runs))
    has_papers = findings.n_instances <= MOST_PAPERS if papers is None else papers
    shown_data = shareable(shown_data or str(data.path))
    by_budget = _progress_of("recall by budget", on_progress)
    workers = engine_of(engine, jobs, at_most=1 + findings.n_instances // MIN_INSTANCES_A_JOB)
    sections = [
        leaderboard_section(findings),
        pairs_section(findings, has_papers=has_papers),
        hypotheses_section(findings, shown_data),
        picks_section(findings),
        curves_section(findings, curves_of(findings, largest, by_budget, engine=workers), largest),
        breakdowns_section(findings),
        failures_section(findings, has_papers=has_papers),
        costs_section(findings),
        papers_section(findings, has_papers=has_papers, view_command=_view_command(findings, shown_data)),
        method_section(findings, command),
        signatures_section(findings),
    ]
    links = (node("li", None, node("a", {"href": f"#{part.get('id')}"}, part.findtext("h2"))) for part in sections)
    contents = node("nav", {"class": "contents", "aria-label": "Contents"}, node("ul", None, *links))
    results = node(
        "main", {"id": "results"}, task_switch(findings.tasks), opening(title, findings), contents, *sections
    )
    if not has_papers:
        return "".join(_parts(title, results, None))
    viewed = viewer_of(findings, title, exchanges)
    return "".join(_parts(title, results, _embedded(viewed, findings.n_instances, papers_of(findings, viewed))))


def _progress_of(doing: str, tell: Callable[[int, int, str], object] | None) -> Callable[[int, int], None] | None:
    def tell_of(n_done: int, n_all: int) -> None:
        if tell is not None:
            tell(n_done, n_all, doing)

    return None if tell is None else tell_of


def _title(data: str, runs: Sequence[str]) -> str:
    title = f"{data}: {', '.join(runs)}"
    if len(runs) <= _PAGE_MOST_NAMED and len(title) <= _LONGEST_TITLE:
        return title
    return beginning_of(f"{counted(len(runs), 'run')} on {data}")


def _view_command(findings: Findings, data: str) -> str:
    words = ["evidencebench", "view", *(argument_of(run.path) for run in findings.scored.runs.values()), "--data", data]
    words += [word for task in findings.tasks for word in ("--task", task.name)]
    for name, choice in findings.scored.rules.unusual.items():
        words += [f"--{name.replace('_', '-')}", choice]
    return join(words)


def argument_of(path: Path) -> str:
    """Return a file as an argument of a shown command; a name that looks like an option gets ``./`` in front.

    >>> argument_of(Path("/home/ada/bm25.jsonl")), argument_of(Path("-a.jsonl"))
    ('bm25.jsonl', './-a.jsonl')
    """
    shown = shareable(str(path))
    return f"./{shown}" if shown.startswith("-") else shown


def shareable(path: str) -> str:
    """Return a path; of an absolute one only its last part, since other readers have other folders.

    >>> shareable("/home/ada/data.json"), shareable("runs/bm25.jsonl"), shareable("sample")
    ('data.json', 'runs/bm25.jsonl', 'sample')
    """
    return Path(path).name if Path(path).is_absolute() else path


def _parts(title: str, results: Node, embedded: Iterable[str] | None) -> Iterator[str]:
    script_text, style_text = script(REPORT_SCRIPTS), style(REPORT_STYLES)
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{security_policy(script_text, style_text)}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{escape(replace_forbidden(title))}</title>\n<style>{style_text}</style>\n</head>\n<body>\n"
    papers_link = None if embedded is None else node("a", {"href": "#/papers", "data-place": "papers"}, "Papers")
    results_link = node("a", {"href": "#", "data-place": "results"}, "Results")
    links = node("nav", {"aria-label": "Report"}, results_link, papers_link)
    yield as_html(node("header", {"class": "page-head"}, links))
    yield as_html(results)
    if embedded is not None:
        yield '\n<main id="viewer" hidden></main>\n'
        yield from embedded
    yield f"\n<script>{script_text}</script>\n</body>\n</html>\n"


def _embedded(viewed: ViewerData, n_instances: int, papers: Iterable[tuple[ListRow, GradedInstance]]) -> Iterator[str]:
    yield from data_elements(msgspec.structs.replace(viewed.overview(), n_instances=n_instances), papers)
    if viewed.exchanges is not None:
        yield from exchange_elements(asked_of(viewed, n_instances))
