"""``evidencebench data``: everything about the files themselves."""

import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from evidencebench.catalog import CATALOG, CatalogEntry, data_folder
from evidencebench.cli.options import data_path, format_option, jobs_option, json_option, open_data, progress_option
from evidencebench.cli.output import print_json, print_table, progress
from evidencebench.dataset import Dataset, write_dataset
from evidencebench.description import Spread, describe
from evidencebench.download import fetch
from evidencebench.errors import DataError
from evidencebench.instance import Instance
from evidencebench.query import Kind
from evidencebench.sample import sample_path
from evidencebench.solving import solve_file
from evidencebench.tables import Cell, Table, printable
from evidencebench.validation import FileReport, count_by_rule, validate_files

_MAX_SHOWN = 50


@click.group
def command() -> None:
    """Validate, describe, show, solve, convert, download data.

    D is a file (.json, .jsonl, or .gz of either) or a catalogue name: sample,
    train, dev, test, 100k-train, 100k-test.
    """


@command.command
@click.argument("files", nargs=-1, required=True, metavar="D...")
@click.option("--optima", is_flag=True, help="Solve every instance again and compare the stored optima.")
@jobs_option
@json_option
@progress_option
@click.pass_context
def validate(
    ctx: click.Context, *, files: tuple[str, ...], optima: bool, jobs: int, as_json: bool, progress_style: str
) -> None:
    """Report every violation of the format, with its place.

    Given several files, a paper that stands in two of them is a violation. Exit
    code 0: valid; 1: violations; 2: a file cannot be read.

    \b
    Examples:
      evidencebench data validate sample --optima
      evidencebench data validate train.json dev.json test.json --json
    """
    paths = [data_path(name) for name in files]
    with progress("validating", progress_style) as on_progress:
        reports = validate_files(paths, optima=optima, jobs=jobs, on_progress=on_progress)
    is_valid = all(report.is_valid for report in reports)
    if as_json:
        print_json({"valid": is_valid, "files": [_report_fields(report) for report in reports]})
    else:
        for report in reports:
            _print_report(report, optima=optima)
    ctx.exit(0 if is_valid else 1)


def _report_fields(report: FileReport) -> dict[str, Any]:
    return {
        "path": report.path,
        "valid": report.is_valid,
        "n_instances": report.n_instances,
        "n_violations": len(report.violations),
        "n_warnings": len(report.warnings),
        "warnings_by_rule": count_by_rule(report.warnings),
        "violations": [asdict(violation) for violation in report.violations],
        "warnings": [asdict(violation) for violation in report.warnings],
    }


def _print_report(report: FileReport, *, optima: bool) -> None:
    verdict = "valid" if report.is_valid else f"{len(report.violations)} violations"
    solved = ", optima solved again" if optima else ""
    click.echo(f"{printable(report.path)}: {report.n_instances} instances{solved}: {verdict}")
    for violation in report.violations[:_MAX_SHOWN]:
        click.echo(f"  {printable(str(violation))}")
    if len(report.violations) > _MAX_SHOWN:
        click.echo(f"  ... and {len(report.violations) - _MAX_SHOWN} more; --json lists them all")
    for rule, n in sorted(count_by_rule(report.warnings).items()):
        first = next(warning for warning in report.warnings if warning.rule == rule)
        click.echo(f"  warning, {n} times (allowed in the 100k dialect), first: {printable(str(first))}")


@command.command
@click.argument("data", metavar="D")
@json_option
@format_option
@progress_option
def stats(*, data: str, as_json: bool, table_format: str, progress_style: str) -> None:
    """Describe a data set in numbers.

    \b
    Example: evidencebench data stats sample
    """
    dataset = open_data(data)
    with progress("reading", progress_style) as on_progress:
        found = describe(dataset, on_progress)
    if found is None:
        raise DataError(f"{dataset.path}: holds no instance")
    if as_json:
        print_json({"path": str(dataset.path), "sha256": dataset.sha256, **asdict(found)})
        return
    fields = {key: value for key, value in asdict(found).items() if key.startswith("n_")}
    counts: list[list[Cell]] = [[key.removeprefix("n_").replace("_", " "), value] for key, value in fields.items()]
    print_table(Table(columns=["how many", ""], rows=counts), table_format)
    spreads: list[list[Cell]] = []
    for name in ("sentences", "aspects", "results", "evidence", "optimum"):
        spread: Spread | None = getattr(found, name)
        if spread is not None:
            spreads.append([name, spread.minimum, spread.mean, spread.maximum])
    print_table(Table(columns=["per instance", "least", "mean", "most"], rows=spreads), table_format)
    kinds: list[list[Cell]] = [[kind, 100 * row["share"], 100 * row["evidence"]] for kind, row in found.kinds.items()]
    print_table(Table(columns=["kind", "% of sentences", "% of them evidence"], rows=kinds), table_format)


@command.command
@click.argument("data", metavar="D")
@click.argument("instance_id", metavar="[ID]", required=False)
@click.option("--evidence", is_flag=True, help="Only sentences that are a source of an aspect.")
@json_option
def show(*, data: str, instance_id: str | None, evidence: bool, as_json: bool) -> None:
    """Show one instance, or without ID a line an instance.

    ID is an instance id, or its position from 0.

    \b
    Examples:
      evidencebench data show sample
      evidencebench data show sample 0 --evidence
    """
    dataset = open_data(data)
    if instance_id is None:
        _list_instances(dataset, as_json=as_json)
        return
    is_position = instance_id.lstrip("-").isdigit() and instance_id not in dataset
    instance = dataset[int(instance_id) if is_position else instance_id]
    if as_json:
        print_json(_instance_fields(instance))
    else:
        _print_instance(instance, only_evidence=evidence)


def _list_instances(dataset: Dataset, *, as_json: bool) -> None:
    if as_json:
        print_json([{"id": query.instance_id, "hypothesis": query.hypothesis} for query in dataset.queries()])
        return
    for query in dataset.queries():
        click.echo(f"{printable(query.instance_id)}  {printable(query.hypothesis)}")


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
        "evaluations": {task: asdict(found) for task, found in labels.evaluations.items()},
    }


def _print_instance(instance: Instance, *, only_evidence: bool) -> None:
    query, labels = instance.query, instance.labels
    click.echo(f"{printable(instance.id)} (paper {printable(query.paper_id)})\n{printable(query.hypothesis)}\n")
    numbers = {aspect: number for number, aspect in enumerate(labels.aspects)}
    marks: dict[int, list[str]] = {}
    for aspect, number in numbers.items():
        results = " [results]" if aspect in labels.results else ""
        text = labels.texts.get(aspect, aspect)
        click.echo(click.wrap_text(f"{number}{results} {printable(text)}", 80, "aspect ", "       "))
        for index in labels.sources.get(aspect, ()):
            marks.setdefault(index, []).append(str(number))
    click.echo()
    signs = {Kind.HEADING: "#", Kind.ABSTRACT: ">", Kind.BODY: " "}
    for index, (kind, sentence) in enumerate(zip(query.kinds, query.sentences, strict=True)):
        if only_evidence and index not in marks:
            continue
        aspects = f"  [aspects {' '.join(marks[index])}]" if index in marks else ""
        head = f"{index:4} {signs[kind]} "
        click.echo(click.wrap_text(f"{printable(sentence)}{aspects}", 80, head, " " * len(head)))


@command.command
@click.argument("data", metavar="D")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The copy to write.")
@click.option("--overwrite", is_flag=True, help="Replace the copy where it exists.")
@jobs_option
@json_option
@progress_option
@click.pass_context
def solve(
    ctx: click.Context, *, data: str, output: Path, overwrite: bool, jobs: int, as_json: bool, progress_style: str
) -> None:
    """Derive all four optima of a data set, exactly, into a copy.

    After an interruption, the same command goes on where it stopped. Exit code 1:
    an optimum could not be proven.

    \b
    Example: evidencebench data solve labels.json -o solved.json --jobs 2
    """
    _refuse_existing(output, overwrite=overwrite)
    with progress("solving", progress_style) as on_progress:
        report = solve_file(open_data(data), output, jobs=jobs, on_progress=on_progress)
    if as_json:
        print_json({"output": str(output), **asdict(report)})
    else:
        resumed = f", {report.n_resumed} of them by an earlier call" if report.n_resumed else ""
        click.echo(f"{output}: {report.n_instances} instances solved{resumed}; {len(report.unproven)} not proven")
        for instance_id, tasks in report.unproven.items():
            click.echo(f"  not proven: {printable(instance_id)}: {', '.join(tasks)}")
    ctx.exit(1 if report.unproven else 0)


def _refuse_existing(path: Path, *, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise DataError(f"{path}: exists; choose another name, or replace it with --overwrite")


@command.command
@click.argument("data", metavar="D")
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT where it exists.")
def convert(*, data: str, output: Path, overwrite: bool) -> None:
    """Write a data set in the form that OUTPUT's suffix names.

    .json, .jsonl, .json.gz or .jsonl.gz. Nothing is lost: what this version does
    not know is kept.

    \b
    Example: evidencebench data convert sample sample.jsonl.gz
    """
    _refuse_existing(output, overwrite=overwrite)
    click.echo(f"{output}: {write_dataset(output, open_data(data))} instances")


@command.command(name="list")
@json_option
@format_option
def list_(*, as_json: bool, table_format: str) -> None:
    """List the known data sets, and which of them are here.

    \b
    Example: evidencebench data list
    """
    folder = data_folder(os.environ)
    if as_json:
        print_json(
            [
                {"name": "sample", "n_instances": 10, "licence": "MIT", "path": str(sample_path())},
                *({**asdict(entry), "path": _local(entry, folder)} for entry in CATALOG.values()),
            ]
        )
        return
    rows: list[list[Cell]] = [["sample", 10, "MIT, synthetic", "comes with the package"]]
    rows += [
        [entry.name, entry.n_instances, entry.licence, "here" if _local(entry, folder) else "not downloaded"]
        for entry in CATALOG.values()
    ]
    print_table(Table(columns=["name", "instances", "licence", "state"], rows=rows), table_format)
    if table_format == "text":
        click.echo(f"kept in {folder} (set EVIDENCEBENCH_DATA to change)")


def _local(entry: CatalogEntry, folder: Path) -> str | None:
    path = folder / entry.file_name
    return str(path) if path.exists() else None


@command.command
@click.argument("names", nargs=-1, required=True, type=click.Choice(list(CATALOG)), metavar="NAME...")
@click.option("--mirror", metavar="URL", help="Base address of a mirror that holds the files.")
@click.option("--url", metavar="URL", help="The whole address of the file.")
@click.option("--from-file", type=click.Path(path_type=Path), metavar="FILE", help="Take a local file instead.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to keep it; default: see 'data list'.")
@click.option("--attempts", type=click.IntRange(1), default=5, show_default=True, help="Tries, each resuming.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@progress_option
def download(
    *,
    names: tuple[str, ...],
    mirror: str | None,
    url: str | None,
    from_file: Path | None,
    folder: Path | None,
    attempts: int,
    force: bool,
    progress_style: str,
) -> None:
    """Fetch official data, resuming and checking size and sha256.

    NAME is train, dev, test, 100k-train or 100k-test. The files keep their own
    licences; they are never part of this package.

    \b
    Examples:
      evidencebench data download train dev test
      evidencebench data download test --mirror https://mirror.example/evidencebench
      evidencebench data download test --from-file evidencebench_test_set.json
    """
    if len(names) > 1 and (url or from_file):
        raise click.UsageError("--url and --from-file name one file, so they take one NAME")
    folder = folder or data_folder(os.environ)
    for name in names:
        entry = CATALOG[name]
        with progress(name, progress_style) as on_progress:
            fetched = fetch(
                entry,
                folder,
                mirror=mirror,
                url=url,
                source_file=from_file,
                attempts=attempts,
                force=force,
                progress=partial(_show_bytes, on_progress),
            )
        checked = "checked" if fetched.verified else "checksum not known to this version; computed"
        click.echo(f"{fetched.path}: {fetched.size_bytes} bytes, sha256 {checked}: {fetched.sha256}")
        click.echo(f"  licence: {entry.licence}. {entry.note}")


def _show_bytes(show: Callable[[int, int], None], n_done: int, n_all: int | None) -> None:
    show(n_done, n_all or n_done)
