"""The report as one HTML file: its opening, its sections, its method, and the papers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import join
from typing import Any

import msgspec

from evidencebench.data.dataset import Dataset, dataset_from
from evidencebench.data.tasks import Task, TaskOrName, tasks_from
from evidencebench.engine.local import engine_of
from evidencebench.engine.protocol import Engine
from evidencebench.errors import EvidenceWarning
from evidencebench.files.atomic import write_whole
from evidencebench.files.disk import PathText, paths_from
from evidencebench.pages.html import Child, Node, as_html, beginning_of, data_elements, node, one_file, report_parts
from evidencebench.pages.paper import GradedInstance, ListRow
from evidencebench.pages.report.blocks import (
    FOREIGN,
    by_task,
    code,
    folding_part,
    isolated_name,
    list_node,
    note,
    paragraph,
    section,
    table_node,
    terms_node,
)
from evidencebench.pages.report.breakdowns import breakdowns_section, curves_of, curves_section, picks_section
from evidencebench.pages.report.data import Findings, asked_of, findings_of, missed_of, papers_of, viewer_of
from evidencebench.pages.report.failures import costs_section, failures_section, spent_on
from evidencebench.pages.report.hypotheses import hypotheses_section
from evidencebench.pages.report.opening import answers_of, head
from evidencebench.pages.report.scores import forest, leaderboard_section, pairs_section
from evidencebench.pages.viewer import ExchangeSource, ViewerData, task_title, viewer_data_of
from evidencebench.runs.run import RunFile
from evidencebench.scoring.controls import CONTROLS
from evidencebench.scoring.output import signature_of
from evidencebench.scoring.resampling import DEFAULT_RESAMPLING, Resampling
from evidencebench.scoring.score_runs import MIN_INSTANCES_A_JOB, has_labels, results_of_runs, score_runs
from evidencebench.scoring.selection import RULE_TEXTS, Rules
from evidencebench.scoring.significance import score_text
from evidencebench.version import __version__
from evidencebench.wording import counted, without_folders

# The sections at the end: where the papers are, how the scores were computed, and what decides each of them.

_FILE_NAMES = "Files given with full paths are shown by name only."


def _papers_section(findings: Findings, shown_data: str, *, has_papers: bool) -> Node:
    papers = counted(findings.scored.n_instances, "instance")
    if has_papers:
        link = node("a", {"href": "#/papers"}, "read the papers")
        words = paragraph(f"This page contains {papers}, with what every system selected: ", link, ".")
        return section("papers-here", "The papers", words)
    run_files = (argument_of(run.path) for run in findings.scored.runs.values())
    view = ["evidencebench", "view", *run_files, "--data", shown_data]
    view += [word for task in findings.tasks for word in ("--task", task.name)]
    for name, choice in findings.scored.rules.unusual.items():
        view += ["--set", f"{name.replace('_', '-')}={choice}"]
    start = f"This page does not contain the {papers}. To read them, with what every system selected, start the app:"
    data = note(_FILE_NAMES, " Data: ", isolated_name(findings.dataset.name))
    return section("papers-here", "The papers", paragraph(start), _command(join(view)), data)


def _command(command: str) -> Node:
    attributes = {"class": "command", "tabindex": 0, "role": "group", "aria-label": "Command"}
    return node("pre", attributes, code(command))


def _method_section(findings: Findings, command: str) -> Node:
    resampling, rules = findings.resampling, findings.scored.rules
    over_length, ties, out_of_range = (text.choices[getattr(rules, name)] for name, text in RULE_TEXTS.items())
    how = "a two-sided sign-flip test" if resampling.test is None else f"the test '{resampling.test_name}'"
    method = {
        "Measure": (
            "aspect recall = aspects that the selected sentences state / aspects that count, including those that no "
            "sentence states; the ceiling is the highest possible value. A score is the mean over the instances to "
            "which the task applies; a failed, empty or missing answer is 0. Fewest sentences: as few as cover all "
            "aspects that can be covered."
        ),
        "Answers": (
            f"a ranking is cut at the budget; a set over the budget counts {over_length}; equal scores at "
            f"the cut count {ties}; a sentence that does not exist {out_of_range}."
        ),
        "Intervals": (
            f"{100 * resampling.level:g} % percentile intervals from {resampling.n_draws:,} bootstrap samples of "
            f"papers (or reviews, if the data names them), seed {resampling.seed}."
        ),
        "Tests and ranks": (
            f"{how} over papers, adjusted (Holm) over the pairs of a task's runs that differ in an answer and can be "
            "significant, and separately over the pairs with a baseline; ≤ marks a p that no sampled flip reached. "
            "Best rank = 1 + the number of significantly better systems; worst rank = the number of systems − that of "
            "significantly worse ones; at the 5 % level."
        ),
        "Baselines": f"{'; '.join(f'{name}: {control.meaning}' for name, control in CONTROLS.items())}.",
    }
    return section(
        "method",
        "How this was computed",
        list_node(*(node("span", None, node("strong", None, f"{name}: "), text) for name, text in method.items())),
        paragraph("This command makes the same report again, byte for byte with evidencebench ", __version__, ":"),
        _command(command),
        note(_FILE_NAMES, " Details and sources: docs/tasks-and-measures.md and docs/report.md of evidencebench."),
    )


def _signatures_section(findings: Findings) -> Node:
    rows = [
        [label, task.name, score_text(row.recall), signature_of(findings.scored, label, task, findings.resampling)]
        for task in findings.tasks
        for row in findings.best_runs(task)
        for label in row.systems
    ]
    table = table_node("Signatures", ["run", "task", "score", "signature"], rows, most=100_000)
    dataset, n, n_texts = findings.dataset, findings.scored.n_instances, findings.n_papers
    limit = "" if n == len(dataset.whole) else f"{'the first ' if n < len(dataset) else ''}{n:,} of "
    texts = (
        ""
        if n == n_texts
        else f" from {counted(n_texts, 'review or paper', 'reviews or papers')}; intervals and tests resample these"
    )
    runs = {"Runs": _runs(findings.scored.runs)}
    if findings.scored.changed:
        runs["Runs with changed queries"] = _runs({label: run for label, (run, _) in findings.scored.changed.items()})
    return section(
        "signatures",
        "Data, runs and signatures",
        _facts(dataset, f"{limit}{counted(len(dataset.whole), 'instance')}{texts}", runs),
        note(
            "A signature names everything that decides a score. Scores with the same signature are equal if the system "
            "always gives the same answers; the model or library that a name refers to may have changed."
        ),
        folding_part(f"Signatures of {counted(len(rows), 'score')}", table),
    )


def _facts(dataset: Dataset, papers: str, runs: Mapping[str, Node]) -> Node:
    data = (isolated_name(dataset.name), ", sha256 ", node("code", None, dataset.sha256))
    facts: dict[str, Child] = {"Instances": papers, **runs, "Made by": f"evidencebench {__version__}"}
    return terms_node([("Data", data), *((name, (shown,)) for name, shown in facts.items())], look="facts")


def _runs(runs: Mapping[str, RunFile]) -> Node:
    items = []
    for label, run in runs.items():
        made_by = "" if run.header else " (the file does not name its system)"
        items.append(node("span", None, isolated_name(label), ": ", code(run.signature), made_by))
    return folding_part(counted(len(runs), "run"), list_node(*items))


MOST_PAPERS = 5_000
"""With up to this many instances, the page holds the papers unless ``papers`` is false."""

_MOST_RUNS_IN_TITLE, _LONGEST_TITLE = 3, 60


def report_page(
    paths: PathText | Iterable[PathText],
    dataset: Dataset | PathText,
    tasks: TaskOrName | Iterable[TaskOrName] = (),
    *,
    rules: Rules | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
    limit: int | None = None,
    names: Mapping[PathText, str] | None = None,
    title: str = "",
    largest: int = 20,
    papers: bool | None = None,
    shown_data: str = "",
    command: str = "",
    exchanges: ExchangeSource | None = None,
    jobs: int = 1,
    engine: Engine | None = None,
    on_warning: Callable[[EvidenceWarning], object] = lambda _: None,
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
) -> str:
    """Return the report as one HTML page.

    ``largest`` is the last budget of the curves. ``papers`` says whether the page holds the papers (None: if there are
    at most `MOST_PAPERS`). ``shown_data`` is the argument of ``--data`` in the page's commands (empty: the data's
    path), ``command`` makes the page. ``on_progress`` gets (instances done, instances in all, what is done). The
    others are those of `score_runs`.
    """
    rules, data, paths, tasks = rules or Rules(), dataset_from(dataset), paths_from(paths), tasks_from(tasks)
    n_instances = min(limit or len(data), len(data))
    if n_instances and paths and not has_labels(data, n_instances):
        viewed = viewer_data_of(paths, data, tasks, rules=rules, names=names, exchanges=exchanges)
        runs = {shown.record.label: shown.run for shown in viewed.systems if shown.run is not None}
        viewed = replace(viewed, title=title or _title(data.name, list(runs)))
        has_papers = n_instances <= MOST_PAPERS if papers is None else papers
        results = _unlabelled_results(viewed, n_instances, runs, has_papers=has_papers)
        records = ((viewed.row(*one), viewed.record(*one)) for one in enumerate(data.instances(n_instances)))
        return _page(viewed, results, n_instances, records if has_papers else None)
    scored = score_runs(
        paths,
        data,
        tasks,
        rules=rules,
        with_selections=True,
        limit=limit,
        names=names,
        jobs=jobs,
        engine=engine,
        on_progress=lambda n_done, n_all: on_progress(n_done, n_all, "scoring"),
    )
    findings = findings_of(scored, resampling)
    for warning in scored.warnings:
        on_warning(warning)
    title = title or _title(data.name, list(findings.scored.runs))
    has_papers = findings.scored.n_instances <= MOST_PAPERS if papers is None else papers
    shown_data = shareable(shown_data or str(data.path))
    workers = engine_of(engine, jobs, at_most=1 + findings.scored.n_instances // MIN_INSTANCES_A_JOB)
    by_budget = curves_of(findings, largest, workers, lambda n, n_all: on_progress(n, n_all, "recall by budget"))
    viewed = viewer_of(findings, title, exchanges)
    compared = results_of_runs(findings.scored, findings.resampling)
    missed = missed_of(findings, viewed, is_listed=has_papers)
    spent = {task.name: spent_on(findings, task) for task in findings.tasks}
    sections = [
        leaderboard_section(findings),
        pairs_section(findings, has_papers=has_papers),
        hypotheses_section(findings, compared, shown_data),
        picks_section(findings),
        curves_section(findings, by_budget, largest),
        breakdowns_section(findings),
        failures_section(findings, has_papers=has_papers),
        costs_section(findings, spent, has_papers=has_papers),
        _papers_section(findings, shown_data, has_papers=has_papers),
        _method_section(findings, command),
        _signatures_section(findings),
    ]
    links = (node("a", {"href": f"#{part.get('id')}"}, part.findtext("h2")) for part in sections)
    folded = node("details", {"open": ""}, node("summary", None, "Contents"), list_node(*links))
    contents = node("nav", {"class": "contents", "aria-label": "Contents"}, folded)
    first_task = findings.tasks[0]
    sharing = {one for board in findings.boards.values() for row in board.standings for one in row.same_answers}
    cautions = [
        note(node("strong", None, "Warning: "), isolated_name(row.system), f": {without_folders(row.text)}.")
        for row in scored.warnings
        if row.system in scored.runs and not (row.kind == "same answers" and row.system in sharing)
    ]

    def opening(task: Task) -> list[Node]:
        answers = answers_of(
            findings, task, shown_data, results=compared, missed=missed[task.name], spent=spent[task.name]
        )
        return [answers, *cautions, *forest(findings, task)]

    top = head(
        title,
        None if len(findings.tasks) > 1 else note(f"{task_title(first_task)} ", code(first_task.name)),
        *by_task(findings.tasks, opening),
    )
    main = node("main", {"id": "results"}, contents, _task_switch(findings.tasks), top, *sections)
    return _page(viewed, main, findings.scored.n_instances, papers_of(findings, viewed) if has_papers else None)


def write_report(path: PathText, runs: PathText | Iterable[PathText], dataset: Dataset | PathText, **how: Any) -> Path:
    """Write everything about runs into one HTML file, and return its path.

    Parameters
    ----------
    path
        The file; one that is there is replaced.
    runs
        The run files; one that was asked changed queries stands beside the run of its system.
    dataset
        The data set, its path or its catalogue name.
    how
        ``tasks``, ``rules``, ``resampling``, ``limit``, ``title``, ``names`` (path of a run: its name), ``papers``
        (whether the page holds the papers) and ``largest`` (the last budget of the curves), as in ``evidencebench
        report``.

    Raises
    ------
    RunMismatchError
        If a run is not of this data.
    RunError
        If ``names`` has a path that is not among the runs, or one name for two.
    DataError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from evidencebench import execute
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = execute("bm25", "sample", f"{folder}/bm25.jsonl")
    ...     write_report(f"{folder}/report.html", f"{folder}/bm25.jsonl", "sample", tasks="er_at_10").name
    'report.html'
    """
    write_whole(Path(path), report_page(runs, dataset, **how).encode())
    return Path(path)


def _unlabelled_results(viewed: ViewerData, n_instances: int, runs: Mapping[str, RunFile], *, has_papers: bool) -> Node:
    see = "See what each run selected"
    command = ("The papers are not in this page; ", code("evidencebench view"), " shows what each run selected.")
    where = (node("a", {"href": "#/papers"}, see), " in each paper.") if has_papers else command
    top = head(
        viewed.title,
        paragraph("There is nothing to score: the papers have no labels.", look="finding"),
        paragraph(*where),
        note(
            "A task with a fixed number of sentences, such as er_at_10, shows that many from each answer. The number "
            "for er_at_optimal is known only with labels."
        ),
        _facts(viewed.dataset, counted(n_instances, "instance"), {"Runs": _runs(runs)}),
    )
    return node("main", {"id": "results"}, top)


def _task_switch(tasks: Sequence[Task]) -> Node | None:
    if len(tasks) == 1:
        return None
    options = (node("option", {"value": task.name}, task_title(task)) for task in tasks)
    picker = (node("span", {"class": "picker-name"}, "Task"), node("select", None, *options))
    label = node("label", {"class": "picker"}, *picker)
    name = node("code", FOREIGN | {"class": "foreign task-name"})
    status = node("span", {"class": "task-told", "role": "status"})
    return node("div", {"id": "task-switch", "hidden": ""}, label, name, status)


def _title(data: str, runs: Sequence[str]) -> str:
    title = f"{data}: {', '.join(runs)}"
    is_short = len(runs) <= _MOST_RUNS_IN_TITLE and len(title) <= _LONGEST_TITLE
    return title if is_short else beginning_of(data)


def argument_of(path: Path) -> str:
    """Return a file as an argument of a shown command; a name that looks like an option gets ``./`` in front."""
    shown = shareable(str(path))
    return f"./{shown}" if shown.startswith("-") else shown


def shareable(path: str) -> str:
    """Return a path; of an absolute one only its last part, since other readers have other folders."""
    return Path(path).name if Path(path).is_absolute() else path


def _page(
    viewed: ViewerData, results: Node, n_instances: int, papers: Iterable[tuple[ListRow, GradedInstance]] | None
) -> str:
    """Return the page with its results, and with the papers where they are given."""
    papers_link = None if papers is None else node("a", {"href": "#/papers", "data-place": "papers"}, "Papers")
    results_link = node("a", {"href": "#", "data-place": "results"}, "Results")
    links = node("nav", {"aria-label": "Report"}, results_link, papers_link)
    body = [as_html(node("header", {"class": "page-head"}, links)), as_html(results)]
    if papers is not None:
        overview = msgspec.structs.replace(viewed.overview(), n_instances=n_instances)
        asked = () if viewed.exchanges is None else asked_of(viewed, n_instances)
        body += ['\n<main id="viewer" hidden></main>\n', *data_elements(overview, papers, asked)]
    return one_file(viewed.title, body, report_parts())
