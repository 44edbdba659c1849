"""``evidencebench construct validate``: people check the labels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, get_args

import click

from evidencebench.cli import options
from evidencebench.cli.options import PageServing, argument, option
from evidencebench.cli.output import (
    OutputFile,
    print_cautions,
    print_json,
    print_prose,
    print_table,
    progress,
    refuse_existing,
)
from evidencebench.construction.people.agreement import (
    EQUIVALENCE_ALPHA,
    CriterionReport,
    ValidationReport,
    report_answers,
)
from evidencebench.construction.people.answers import Annotations, annotation_folder
from evidencebench.construction.people.exchange import TOOLS, keep_answers
from evidencebench.construction.people.labels import Labelled, read_labels, validation_folder
from evidencebench.construction.people.marks import LABELS
from evidencebench.construction.people.sampling import draw_tasks
from evidencebench.construction.people.tasks import (
    CRITERIA,
    LABELLED_SORTS,
    TasksFile,
    TaskSort,
    read_tasks,
    write_tasks,
)
from evidencebench.errors import UndefinedScoreError, UnreadableError
from evidencebench.files.atomic import write_whole
from evidencebench.pages.disagreements import disagreements_page
from evidencebench.scoring.resampling import Resampling
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted

_DEFAULT_MARGIN = 0.05
_MOST_SHOWN = 5
_VERDICTS = (
    "Not shown does not mean different. Not worse: the model agrees with people as they do with each other, or better. "
    "Accuracy is not tested: selected sentences are rare, so all agree on most."
)

_Team = tuple[str, tuple[str, ...]]


def _team(text: str) -> _Team:
    team, _, members = text.partition("=")
    names = tuple(name.strip() for name in members.split(",") if name.strip())
    if not team.strip() or not names:
        raise ValueError(f"expected NAME=MEMBER,MEMBER, got {text!r}")
    return team.strip(), names


@options.command
def validate(
    *,
    source: Annotated[str, argument("WORK_OR_DATA", shell_complete=options.complete_data)],
    sort: Annotated[TaskSort | None, option("--sort", "What people are asked. [default: sentences]")],
    n_tasks: Annotated[int | None, options.number("-n N", "Tasks to draw. [default: 50; pairs, results: 100]")],
    folder: Annotated[
        Path | None, option("--folder", "Folder for tasks and answers. [default: WORK/validation]", options.FOLDER)
    ],
    tools: Annotated[
        tuple[str, ...], option("--for", "Write the tasks for another tool; repeatable.", click.Choice(list(TOOLS)))
    ],
    answers: Annotated[
        tuple[Path, ...], option("--answers FILE", "Import another tool's answers, and report; repeatable.")
    ],
    is_report: Annotated[bool, option("--report", "Report on the answers of people.")],
    teams: Annotated[
        tuple[_Team, ...],
        option("--team T=A,B", "Annotators who count as one; repeatable.", options.Parsed("team", _team)),
    ],
    margin: Annotated[
        float, option("--margin SHARE", "Differences up to this count as equivalent.", options.OPEN_SHARE)
    ] = _DEFAULT_MARGIN,
    disagreements: Annotated[
        Path | None, option("--disagreements FILE", "Write a page of all disagreements.", OutputFile())
    ],
    overwrite: Annotated[bool, option("--overwrite", "Replace these files if they exist.")],
    resampling: options.ResamplingChoice,
    as_json: options.AsJson,
    table_format: Annotated[str, options.output_format("text", "markdown", "latex")],
    progress_style: options.ProgressStyle,
    serving: PageServing,
) -> None:
    """Let people check the labels, and report how they agree.

    The first call draws tasks and serves the page where people answer and
    adjudicate; later calls serve it again. --report prints the report. People do
    not see the labels. --answers imports answers from another tool.

    \b
    sentences   which sentences of a paper state an aspect (50 papers)
    pairs       does this sentence state this aspect? (half are labelled yes)
    results     is this aspect a result? (half are labelled yes)
    passages    is the passage about this one paper, with a result? (WORK only)
    hypotheses  is the hypothesis worth asking, and is the paper relevant?
    aspects     can one sentence state it, and is it true to the summary?

    Intervals of agreement are from a studentised bootstrap over papers. Equivalence
    is shown if both one-sided tests reject a difference beyond the margin at the 5
    % level; choose the margin before you look.

    \b
    Examples:
      evidencebench construct validate work --open
      evidencebench construct validate work --sort pairs --open
      evidencebench construct validate work --report
      evidencebench construct validate dev --folder people --for csv
      evidencebench construct validate dev --folder people --answers ada.csv
    """
    folder = folder or validation_folder(source)
    if folder is None:
        raise click.UsageError(
            f"{printable(source)} is not the work folder of a construction; for a data file, give --folder, where "
            "tasks and answers go"
        )
    if len(dict(teams)) < len(teams):
        raise click.UsageError("--team: expected each team once")
    if is_report or answers:
        if disagreements:
            refuse_existing(disagreements, overwrite=overwrite, option="--disagreements", no_stream="has the report")
        sort = sort or ("sentences" if answers else None)
        kept, problems = _kept(folder, sort, answers) if sort and answers else ({}, [])
        report_of = partial(report_answers, resampling=resampling, margin=margin, teams=dict(teams))
        with progress("comparing", progress_style):
            reports, cautions = _reports(source, folder, sort, problems, report_of)
        if disagreements:
            differing = [one for report in reports for one in report.disagreements]
            write_whole(disagreements, disagreements_page(differing, title=f"Disagreements in {folder}"))
        print_cautions(cautions)
        if as_json:
            print_json({**{report.sort: report for report in reports}, **kept, "warnings": cautions})
        for report in () if as_json else reports:
            _print_report(report, resampling, table_format)
        return
    if as_json and not tools:
        raise click.UsageError("--json: expected --report or --for")
    with progress("drawing", progress_style):
        tasks = _drawn(source, folder, sort or "sentences", n_tasks, resampling.seed)
    if tools:
        _write_for_tools(tasks, tools, overwrite=overwrite, as_json=as_json)
        return
    with serving.listening("construct validate") as (address, serve):
        from evidencebench.pages.people.annotations import annotation_tasks  # noqa: PLC0415 - an extra

        app = annotation_tasks(tasks, folder / tasks.header.sort, source=source).make_app(address)
        serve(app, f"people answer {counted(len(tasks.records), 'task')} of {printable(str(tasks.path))}")


def _drawn(source: str, folder: Path, sort: TaskSort, n: int | None, seed: int) -> TasksFile:
    """Return the tasks of the folder, drawn if they are not yet."""
    path = folder / f"{sort}.jsonl"
    if not path.exists():
        header, drawn = draw_tasks(source, sort=sort, n=n, seed=seed)
        folder.mkdir(parents=True, exist_ok=True)
        write_tasks(path, header, drawn)
    elif n is not None:
        raise click.UsageError(f"-n: {path} is drawn already; choose another --folder to draw anew")
    return read_tasks(path)


def _kept(folder: Path, sort: TaskSort, answers: Iterable[Path]) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Keep what files hold beside the answers from the app; return the fields for machines, and problems."""
    tasks = read_tasks(folder / f"{sort}.jsonl")
    annotations = annotation_folder(folder / sort, tasks)
    counts, problems = keep_answers(answers, tasks, annotations)
    told = ", ".join(f"{n:,} {what}" for what, n in counts.items())
    print_cautions([f"answers in {annotations.folder}: {told}"], "note")
    return {"answers": dict(counts)}, problems


def _write_for_tools(tasks: TasksFile, tools: Sequence[str], *, overwrite: bool, as_json: bool) -> None:
    files = {tasks.path.with_suffix(f".{end}"): make for tool in tools for end, make in TOOLS[tool].items()}
    for file in files:
        refuse_existing(file, overwrite=overwrite)
    for file, make in files.items():
        write_whole(file, make(tasks))
    written = [str(file) for file in (tasks.path, *files)]
    if as_json:
        print_json({"files": written, "n_tasks": len(tasks.records), "header": tasks.header})
        return
    click.echo("\n".join(written))
    click.echo(f"{counted(len(tasks.records), 'task')}; --answers FILE keeps and reports what comes back")


def _reports(
    source: str,
    folder: Path,
    sort: TaskSort | None,
    problems: Iterable[str],
    report_of: Callable[[TasksFile, Annotations, Labelled | None], ValidationReport],
) -> tuple[list[ValidationReport], list[str]]:
    """Return the report of a sort, or of each that somebody has answered, and what a reader must know."""
    every: Sequence[TaskSort] = get_args(TaskSort)
    answered: list[TaskSort] = [name for name in every if any((folder / name).glob("*.jsonl"))]
    sorts: list[TaskSort] = [sort] if sort else answered
    if not sorts:
        raise UnreadableError(
            f"{folder}: expected answers of people, got none; without --report people can answer, and --answers FILE "
            "keeps what they answered in another tool"
        )
    reports, cautions = [], list(problems)
    labels = read_labels(source) if LABELLED_SORTS & set(sorts) else None
    for name in sorts:
        tasks = read_tasks(folder / f"{name}.jsonl")
        annotations = Annotations.read(annotation_folder(folder / name, tasks))
        try:
            report = report_of(tasks, annotations, labels if name in LABELLED_SORTS else None)
        except UndefinedScoreError as error:
            cautions.append(str(error))
            continue
        if report.n_changed:
            left_out = counted(report.n_changed, "task")
            cautions.append(f"{tasks.path}: {left_out} left out, on aspects that the labels no longer have")
        reports.append(report)
    if not reports:
        raise UndefinedScoreError("; ".join(cautions))
    return reports, cautions


def _print_report(report: ValidationReport, resampling: Resampling, table_format: str) -> None:
    for of_criterion in report.criteria:
        for table in _tables(report, of_criterion, resampling):
            print_table(table, table_format)
    agreements = [one.agreement for one in report.criteria if one.agreement]
    if any(one.contrasts for one in agreements):
        chosen = "the default; choose your own before you look" if report.margin == _DEFAULT_MARGIN else "as given"
        print_prose(f"The margin of equivalence is {100 * report.margin:g} points ({chosen}).")
    if agreements:
        print_prose(
            "undefined: the formula divides by 0, for example if nobody selected anything. no interval: too few papers "
            "with selections, or no spread between papers."
        )
    n = len(report.disagreements)
    click.echo(f"\n{counted(n, 'judgment')} on which raters differ")
    for row in report.disagreements[:_MOST_SHOWN]:
        click.echo()
        place = row.kind if row.number is None else f"sentence {row.number} ({row.kind})"
        print_prose(f"{row.task}, {place}: {printable(row.sentence)}")
        if row.aspect != row.sentence:
            print_prose(f"  aspect: {printable(row.aspect)}")
        print_prose(printable(f"  selected by {', '.join(row.marked_by)}; not by {', '.join(row.not_marked_by)}"))
    if n > _MOST_SHOWN:
        click.echo(f"\n... {n - _MOST_SHOWN:,} more; --disagreements FILE writes all")


def _tables(report: ValidationReport, of_criterion: CriterionReport, resampling: Resampling) -> Iterator[Table]:
    title = f"{counted(report.n_tasks, 'task')} of {counted(report.n_papers, 'paper')}"
    shares = [(one, 100 * one.n_yes / one.n_judged) for one in of_criterion.counts]
    if criterion := of_criterion.criterion:
        yield Table(
            title=f"{criterion}: {title}, exact intervals",
            columns=["labels", "rater", "yes", "% [interval]"],
            rows=[
                (one.group, one.rater, f"{one.n_yes} of {one.n_judged}", f"{share:.1f} {_interval(one.low, one.high)}")
                for one, share in shares
            ],
            notes=[one.question for one in CRITERIA[report.sort] if one.name == criterion],
        )
    else:
        raters = [(one.rater, one.n_tasks, one.n_judged, one.n_yes, share) for one, share in shares]
        columns = ["rater", "done", "sentences", "selected", "% selected"]
        yield Table(title=f"{report.sort}: {title}", columns=columns, rows=raters)
    if (agreement := of_criterion.agreement) is None:
        return
    notes = [f"Krippendorff's alpha of all people: {agreement.alpha_people}"]
    notes += [f"... and the model: {agreement.alpha_all}"] if agreement.contrasts else []
    yield Table(
        title=f"Agreement in %, with {100 * resampling.level:g} % intervals over papers",
        columns=["pair", "tasks", *LABELS.values()],
        rows=[
            (f"{pair.first} - {pair.second}", pair.n_tasks, *(str(pair.measures[name]) for name in LABELS))
            for pair in agreement.pairs
        ],
        notes=notes,
    )
    if not agreement.contrasts:
        return
    compared, tested = list[list[Cell]](), list[list[Cell]]()
    for one in agreement.contrasts:
        figures = map(str, (one.human_human, one.human_model, one.difference))
        compared.append([LABELS[one.measure], *figures, "undefined" if one.p_value is None else f"{one.p_value:.4f}"])
        if test := one.equivalence:
            verdicts = map(_verdict, (test.p_value, test.p_not_worse))
            tested.append([LABELS[one.measure], _interval(test.low, test.high) or "none", *verdicts])
    title = "People with each other, people with the model, and the difference in points"
    yield Table(title=title, columns=["measure", "human-human", "human-model", "difference", "p"], rows=compared)
    yield Table(
        title=f"Equivalence within {100 * report.margin:g} points: two one-sided tests at the 5 % level",
        columns=["measure", "90 % interval", "equivalent", "model not worse"],
        rows=tested,
        notes=[_VERDICTS],
    )


def _verdict(p_value: float | None) -> str:
    if p_value is None:
        return "undefined"
    return f"{'shown' if p_value < EQUIVALENCE_ALPHA else 'not shown'}, p {p_value:.4f}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"
