"""``evidencebench data``: everything about the data files themselves, but `convert`."""

import os
import re
import shlex
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.main import LazyGroup
from evidencebench.cli.options import argument, completer, option
from evidencebench.cli.output import OutputFile, few, print_json, print_prose, print_table, progress, refuse_existing
from evidencebench.data.catalog import CATALOG, CatalogEntry, data_path
from evidencebench.data.dataset import open_dataset
from evidencebench.data.download import fetch
from evidencebench.data.instance import Instance
from evidencebench.data.optima import solve_file
from evidencebench.data.sample import load_sample, sample_path
from evidencebench.data.statistics import describe
from evidencebench.data.validation import FileReport, Violation, validate_files
from evidencebench.files.places import data_folder
from evidencebench.query import Kind
from evidencebench.tables import Cell, Table, printable
from evidencebench.wording import counted, or_one_of


def _entry(name: str) -> CatalogEntry:
    if name not in CATALOG:
        raise ValueError(f"no data set '{name}'{or_one_of(name, CATALOG)}")
    return CATALOG[name]


_ENTRIES = argument("NAME...", options.Parsed("name", _entry), required=True, shell_complete=completer(lambda: CATALOG))


@options.command
def download(
    *,
    entries: Annotated[tuple[CatalogEntry, ...], _ENTRIES],
    mirror: Annotated[str | None, option("--mirror URL", "Base URL of a mirror that has the files.")],
    url: Annotated[str | None, option("--url URL", "Full URL of the file.")],
    from_file: Annotated[Path | None, option("--from-file FILE", "Use a local file instead.", options.FILE)],
    folder: Annotated[Path | None, option("--folder", "Folder to save to; default: see 'data list'.")],
    attempts: Annotated[int, options.number("--attempts N", "Attempts; each one resumes.", most=100)] = 5,
    force: Annotated[bool, option("--force", "Replace an existing file.")],
    progress_style: options.ProgressStyle,
) -> None:
    """Download official data, resuming and verifying size and sha256.

    NAME is train, dev, test, 100k-train or 100k-test. The files have their own
    licences and are not part of this package.

    \b
    Examples:
      evidencebench data download train dev test
      evidencebench data download test --mirror https://mirror.example/data
      evidencebench data download test --from-file evidencebench_test_set.json
    """
    if len(entries) > 1 and (url or from_file):
        raise click.UsageError("--url and --from-file name one file, so they take one NAME")
    folder = folder or data_folder(os.environ)
    for entry in entries:
        with progress(entry.name, progress_style) as on_progress:
            fetched = fetch(
                entry,
                folder,
                mirror=mirror,
                url=url,
                source_file=from_file,
                attempts=attempts,
                force=force,
                progress=on_progress,
            )
        checked = "checked" if fetched.verified else "not known to this version, computed"
        click.echo(f"{fetched.path}\n  {fetched.size_bytes} bytes; sha256 {checked}:\n  {fetched.sha256}")
        print_prose(f"licence: {entry.licence}. {entry.note}", "  ", "  ")


@options.command
def list_(*, as_json: options.AsJson, table_format: options.TableFormat) -> None:
    """List the known data sets and which of them are downloaded.

    \b
    Example: evidencebench data list
    """
    folder, n_sample = data_folder(os.environ), len(load_sample())
    paths = {name: str(path) for name, entry in CATALOG.items() if (path := folder / entry.file_name).exists()}
    if as_json:
        sample = {"name": "sample", "n_instances": n_sample, "licence": "MIT", "path": str(sample_path())}
        print_json([sample, *(asdict(entry) | {"path": paths.get(name)} for name, entry in CATALOG.items())])
        return
    rows: list[list[Cell]] = [["sample", n_sample, "MIT, synthetic", "comes with the package"]]
    rows += [
        [name, entry.n_instances, entry.licence, "downloaded" if name in paths else "not downloaded"]
        for name, entry in CATALOG.items()
    ]
    print_table(Table(columns=["name", "instances", "licence", "state"], rows=rows), table_format)
    if table_format == "text":
        print_prose(f"stored in {folder} (set EVIDENCEBENCH_DATA to change)")


# Nine digits: no file holds more instances, and int() refuses thousands of digits.
_POSITION = re.compile(r"[0-9]{1,9}")


@options.command
def show(
    *,
    data: options.DataArgument,
    instance_id: Annotated[str | None, argument("[ID]")],
    evidence: Annotated[bool, option("--evidence", "Show only sentences that are evidence for an aspect.")],
    as_json: options.AsJson,
) -> None:
    """Show one instance, or list all of them without ID.

    ID is an instance id, or its position counted from 0. Each line is a sentence: #
    marks a heading, > the abstract, and [aspects ...] lists the aspects, counted
    from 0, that the sentence is evidence for.

    \b
    Examples:
      evidencebench data show sample
      evidencebench data show sample 0 --evidence
    """
    dataset = open_dataset(data)
    if instance_id is None:
        if as_json:
            print_json([{"id": query.instance_id, "hypothesis": query.hypothesis} for query in dataset.queries()])
        for query in () if as_json else dataset.queries():
            print_prose(printable(query.hypothesis), "    ", f"{printable(query.instance_id)}  ")
        return
    is_position = instance_id not in dataset and _POSITION.fullmatch(instance_id) is not None
    instance = dataset[int(instance_id) if is_position else instance_id]
    if as_json:
        print_json(_instance_fields(instance))
    else:
        _print_instance(instance, only_evidence=evidence)


def _instance_fields(instance: Instance) -> dict[str, Any]:
    query, labels = instance.query, instance.labels
    return {
        "id": instance.id,
        "paper_id": query.paper_id,
        "hypothesis": query.hypothesis,
        "aspects": [
            {
                "id": aspect,
                "text": labels.texts.get(aspect),
                "is_result": aspect in labels.results,
                "sentences": labels.sources.get(aspect, ()),
            }
            for aspect in labels.aspects
        ],
        "sentences": [
            {"index": index, "kind": kind, "text": sentence}
            for index, (kind, sentence) in enumerate(zip(query.kinds, query.sentences, strict=True))
        ],
        "evaluations": {
            task: {"sentences": stored.sentences, "covered": stored.covered, "optimal": stored.optimal}
            for task, stored in labels.evaluations.items()
        },
    }


def _print_instance(instance: Instance, *, only_evidence: bool) -> None:
    query, labels = instance.query, instance.labels
    click.echo(f"{printable(instance.id)} (paper {printable(query.paper_id)})")
    print_prose(printable(query.hypothesis))
    click.echo()
    marks: dict[int, list[str]] = {}
    for number, aspect in enumerate(labels.aspects):
        results = " [results]" if aspect in labels.results else ""
        print_prose(printable(f"{number}{results} {labels.texts.get(aspect, aspect)}"), "       ", "aspect ")
        for index in labels.sources.get(aspect, ()):
            marks.setdefault(index, []).append(str(number))
    click.echo()
    signs = {Kind.HEADING: "#", Kind.ABSTRACT: ">", Kind.BODY: " "}
    for index, (kind, sentence) in enumerate(zip(query.kinds, query.sentences, strict=True)):
        if only_evidence and index not in marks:
            continue
        aspects = f"  [aspects {' '.join(marks[index])}]" if index in marks else ""
        print_prose(f"{printable(sentence)}{aspects}", " " * 7, f"{index:4} {signs[kind]} ")


@options.command
def solve(
    *,
    data: options.DataArgument,
    output: Annotated[Path, option("-o, --output", "The copy to write.", OutputFile())],
    overwrite: Annotated[bool, option("--overwrite", "Replace the copy if it exists.")],
    place: options.WorkPlaceChoice,
    max_errors: options.MaxErrors,
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> int:
    """Compute the four optima of each instance, exactly, into a copy.

    After an interruption, run the same command again to resume. If an instance
    fails, the others are still solved, and the next run tries it again. Exit code
    1: an optimum could not be proven, or an instance failed and no copy was
    written.

    \b
    Example: evidencebench data solve labels.json -o solved.json --jobs 2
    """
    refuse_existing(output, overwrite=overwrite, no_stream="cannot be resumed after an interruption")
    with progress("solving", progress_style) as on_progress:
        report = solve_file(
            open_dataset(data),
            output,
            **place,
            max_errors=max_errors,
            on_progress=on_progress,
        )
    if as_json:
        print_json({"output": str(output), **asdict(report)})
    elif report.failed:
        n_failed, n_all = counted(len(report.failed), "instance"), f"{report.n_instances:,}"
        head = f"error: {output}: not written: {n_failed} of {n_all} failed; the same command tries again"
        failed = [printable(f"  failed: {instance_id}: {why}") for instance_id, why in report.failed.items()]
        click.echo("\n".join([head, *few(failed)]), err=True)
    else:
        resumed = f", {report.n_resumed} of them earlier" if report.n_resumed else ""
        click.echo(
            f"{output}: {counted(report.n_instances, 'instance')} solved{resumed}; {len(report.unproven)} not proven"
        )
        for instance_id, tasks in report.unproven.items():
            click.echo(f"  not proven: {printable(instance_id)}: {', '.join(tasks)}")
    return 1 if report.unproven or report.failed else 0


@options.command
def stats(
    *,
    data: options.DataArgument,
    as_json: options.AsJson,
    table_format: options.TableFormat,
    progress_style: options.ProgressStyle,
) -> None:
    """Print statistics of a data set.

    \b
    Example: evidencebench data stats sample
    """
    dataset = open_dataset(data)
    with progress("reading", progress_style) as on_progress:
        description = describe(dataset, on_progress)
    if as_json:
        print_json({"path": str(dataset.path), "sha256": dataset.sha256, **asdict(description)})
        return
    fields = asdict(description).items()
    counts: list[list[Cell]] = [[key[2:].replace("_", " "), value] for key, value in fields if key.startswith("n_")]
    names = ("sentences", "aspects", "results", "evidence", "optimum")
    spreads: list[list[Cell]] = [
        [name, one.minimum, one.mean, one.maximum] for name in names if (one := getattr(description, name))
    ]
    kinds: list[list[Cell]] = [
        [kind, 100 * row["share"], 100 * row["evidence"]] for kind, row in description.kinds.items()
    ]
    tables = [
        Table(columns=["how many", "n"], rows=counts),
        Table(columns=["per instance", "least", "mean", "most"], rows=spreads),
        Table(columns=["kind", "% of sentences", "% of them evidence"], rows=kinds),
    ]
    if table_format == "csv":  # one table, a row a number
        rows = [
            [what, column, value]
            for table in tables
            for what, *values in table.rows
            for column, value in zip(table.columns[1:], values, strict=True)
        ]
        tables = [Table(columns=["what", "which", "value"], rows=rows)]
    for table in tables:
        print_table(table, table_format)


@options.command
def validate(
    *,
    files: Annotated[tuple[str, ...], argument("D...", required=True, shell_complete=options.complete_data)],
    optima: Annotated[bool, option("--optima", "Solve every instance again and check the stored optima.")],
    place: options.WorkPlaceChoice,
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> int:
    """Report every violation of the format, and where it is.

    A paper that is in two of the files is a violation. Exit code 0: valid; 1:
    violations, or an instance could not be checked; 2: a file cannot be read.

    \b
    Examples:
      evidencebench data validate sample --optima
      evidencebench data validate train.json dev.json test.json --json
    """
    paths = [data_path(name) for name in files]
    with progress("validating", progress_style) as on_progress:
        reports = validate_files(paths, optima=optima, **place, on_progress=on_progress)
    is_valid = all(report.is_valid for report in reports)
    if as_json:
        print_json({"valid": is_valid, "files": list(map(_fields, reports))})
    else:
        for report in reports:
            _print_report(report, optima=optima)
    return 0 if is_valid else 1


def _fields(report: FileReport) -> dict[str, Any]:
    return {
        "path": report.path,
        "valid": report.is_valid,
        "n_instances": report.n_instances,
        "n_violations": len(report.violations),
        "n_warnings": len(report.warnings),
        "warnings_by_rule": Counter(warning.rule for warning in report.warnings),
        "unchecked": report.unchecked,
        "violations": list(map(asdict, report.violations)),
        "warnings": list(map(asdict, report.warnings)),
    }


def _violation_lines(report: FileReport) -> list[str]:
    """Return a line a violation; of the same violation in several places, one with their number and the first ones."""
    groups: dict[tuple[str, str], list[Violation]] = {}
    for violation in report.violations:
        groups.setdefault(_where_and_rule(violation), []).append(violation)
    lines = []
    for (where, _), (first, *more) in groups.items():
        ids = {violation.instance_id for violation in (first, *more)}
        within = [f"{one.instance_id}{one.path[1:] if '[' in where else ''}" for one in (first, *more)][:_N_PLACES]
        rest = f" and {1 + len(more) - _N_PLACES:,} more" if len(more) >= _N_PLACES else ""
        if where == _STORED_OPTIMA:
            command = shlex.join(["evidencebench", "data", "solve", report.path, "-o", "solved.json"])
            n_optima, n_instances = counted(1 + len(more), "optimum", "optima"), counted(len(ids), "instance")
            lines.append(f"  {n_optima} of {n_instances} not stored, first {first.instance_id}; add them: {command}")
        elif more:
            problem = f"{where}: expected {first.expected}, got {first.got}"
            lines.append(f"  {1 + len(more):,} times {problem}; in {', '.join(within)}{rest}")
        else:
            lines.append(f"  {first}")
    return list(map(printable, lines))


_N_PLACES = 3  # that are named, of all that have the same violation
_STORED_OPTIMA = "stored optima"


def _where_and_rule(violation: Violation) -> tuple[str, str]:
    """Return the field without the places within it, and the rule: what violations of one kind have in common."""
    if violation.is_missing_optimum:
        return _STORED_OPTIMA, violation.rule
    return re.sub(r"\[[^]]*\]", "[...]", violation.path), violation.rule


def _print_report(report: FileReport, *, optima: bool) -> None:
    n_violations = counted(len(report.violations), "violation") if report.violations else "no violation"
    verdict = "valid" if report.is_valid else n_violations
    solved = ", optima solved again" if optima else ""
    click.echo(f"{printable(report.path)}: {counted(report.n_instances, 'instance')}{solved}: {verdict}")
    for line in few(lines := _violation_lines(report), 50):
        click.echo(line)
    if len(lines) < len(report.violations):
        click.echo("  --json lists every place")
    for instance_id, why in report.unchecked.items():
        click.echo(f"  not checked: {printable(instance_id)}: {printable(why)}")
    for rule, n in sorted(Counter(warning.rule for warning in report.warnings).items()):
        first = next(warning for warning in report.warnings if warning.rule == rule)
        click.echo(f"  warning, {counted(n, 'time')} (allowed in this dialect), first: {printable(str(first))}")


command: LazyGroup = LazyGroup(
    "data",
    package=__name__,
    lines={"convert": "Convert a data set to the format of OUTPUT's suffix."},
    commands=[download, list_, show, solve, stats, validate],
    help="""Validate, describe, show, solve, convert and download data.

D is a file (.json, .jsonl, either with .gz, or .parquet), a folder of such files,
a quoted glob ('shards/*.parquet'), a URL (https, s3) or a catalogue name: sample,
train, dev, test, 100k-train, 100k-test.
""",
)
