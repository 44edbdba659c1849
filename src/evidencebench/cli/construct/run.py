"""The commands that run a construction, and say where it stands."""

import shlex
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec

from evidencebench.cli import options
from evidencebench.cli.asking import Asking, opened_client, tell_asked
from evidencebench.cli.construct.show import PAGE, write_page
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import few, print_cautions, print_json, print_prose, print_table, progress
from evidencebench.cli.papers import wait_for_service
from evidencebench.construction.config import Config, read_config
from evidencebench.construction.draft import STEP_FILES
from evidencebench.construction.losses import loss_table
from evidencebench.construction.noise import LabelNoise
from evidencebench.construction.pipeline import Constructed, construct, construction_status, harvest_inputs, noise_in
from evidencebench.papers.fetching import BASE_URL, EuropePmc, FetchedPaper, fetch_papers, read_index
from evidencebench.papers.ids import public_id
from evidencebench.tables import Cell, Table, printable
from evidencebench.web.fetch import require_web_address
from evidencebench.wording import counted

_MOST_FAILURES = 5
_FETCHED_AT_ONCE = 50  # papers, behind which their index is written

_WorkFolder = Annotated[Path, argument("WORK", kind=options.EXISTING_FOLDER)]


def print_noise(noise: LabelNoise | None, *, as_json: bool) -> None:
    """Print what is known of the labels' noise, unless what is printed is JSON, and warn of doubtful labels."""
    if noise is not None:
        if not as_json:
            print_prose(printable(noise.text))
        print_cautions([noise.warning] if noise.warning else [])


def print_failures(failures: Mapping[str, str]) -> None:
    for draft_id, why in list(failures.items())[:_MOST_FAILURES]:
        click.echo(f"{printable(draft_id)}: {printable(why)}", err=True)


def _tell_unreadable(papers: Mapping[str, str]) -> None:
    """Warn of files of papers that cannot be read, each with why and what to do."""
    if papers:
        told = f"warning: {counted(len(papers), 'file')} of papers cannot be read, and count as missing; repair them,"
        print_prose(f"{told} or delete them and give --fetch to `construct run`:", "  ", err=True)
    for line in few([f"{name}: {why}" for name, why in papers.items()], _MOST_FAILURES):
        print_prose(printable(line), "    ", "  ", err=True)


@options.command
def run(
    *,
    path: Annotated[Path, argument("CONFIG.toml", kind=options.EXISTING_FILE)],
    fetch: Annotated[bool, option("--fetch", "First download the cited papers that are missing.")],
    limit: Annotated[
        int | None, options.number("--limit N", "Only N drafts in each step that asks a model (a pilot).")
    ],
    until: Annotated[str | None, option("--until STEP", "Stop after this step.", click.Choice(list(STEP_FILES)))],
    partial: Annotated[bool, option("--partial", "Write a data set of the finished drafts, though others wait.")],
    overwrite: Annotated[bool, option("--overwrite", "Redo steps made with other settings; stored replies are free.")],
    drop_failed: Annotated[bool, option("--drop-failed", "Drop drafts whose request failed in all attempts.")],
    base_url: Annotated[str, option("--base-url URL", "Base URL of Europe PMC, for --fetch.")] = BASE_URL,
    place: options.WorkPlaceChoice,
    asking: Asking,
) -> int:
    """Run all steps and write the data set.

    CONFIG.toml is what 'construct init' writes. After Ctrl-C, a cost limit or a
    failed server, run it again to resume. --fetch downloads open-access papers from
    Europe PMC; with --limit, only as many as the pilot needs. --partial without
    --limit asks no model. Exit code 1: a review could not be read, nothing was
    kept, or drafts failed (the next run asks for them again).

    \b
    Examples:
      evidencebench construct run construction.toml --fetch --limit 20
      evidencebench construct run construction.toml --until aspects
      evidencebench construct run construction.toml --max-cost-usd 100 --batch
    """
    if asking.estimate:
        raise click.UsageError("--estimate: use 'evidencebench construct estimate'")
    config, more = read_config(path), dict[str, Any]()
    if fetch:
        more["not_fetched"] = _fetch_papers(config, require_web_address(base_url), limit, asking.progress_style)
    with opened_client(asking, "constructing", asks=True) as (client, waiting, shown):
        assert client is not None
        made = construct(
            config,
            client=client,
            waiting=waiting,
            today=date.today(),  # noqa: DTZ011 - the user's day
            limit=limit,
            until=until,
            partial=partial,
            overwrite=overwrite,
            drops_failed=drop_failed,
            **place,
            on_progress=shown,
        )
    tell_asked(client)
    noise = made.noise and made.noise.fields()
    _tell(made, config, asking, {"asked": client.totals.fields(), "noise": noise, **more})
    print_noise(made.noise, as_json=asking.as_json)
    if limit is not None:
        write_page(config.work / PAGE, config.work, config.papers, made.noise)
        if not asking.as_json:
            click.echo(f"{config.work / PAGE}: all drafts as a page")
    if not (asking.as_json or made.explained):
        print_prose(printable(f"next: {_next(made, config, path, is_pilot=limit is not None)}"), "  ")
    is_proven = made.dataset is None or not made.dataset.unproven
    return 1 if made.n_failures or made.unreadable or made.explained or not is_proven else 0


def _fetch_papers(config: Config, base_url: str, limit: int | None, style: str) -> dict[str, int]:
    """Fetch cited papers that are not at hand, in the order in which a pilot takes their passages.

    Return why papers could not be had, and how many for each reason. Those that a service said no to are asked for by
    the first run only.
    """
    service, reasons = EuropePmc(base_url=base_url, sleep=wait_for_service), Counter[str]()
    n_asked = n_had = 0
    with progress("fetching", style) as shown:
        report = harvest_inputs(config, on_progress=shown)
        refused = {one.id: one.reason for one in read_index(config.papers).values() if one.reason and not one.file}
        silent = [name for name, reason in refused.items() if reason.startswith(base_url)]
        wanted = [public_id(name) for name in report.ids if name in silent or name not in refused]
        reasons.update(refused[name] for name in report.ids if name in refused and name not in silent)

        def on_paper(paper: FetchedPaper) -> None:
            nonlocal n_asked, n_had
            n_asked, n_had = n_asked + 1, n_had + (not paper.reason)
            reasons.update(filter(None, [paper.reason]))
            shown(n_asked, len(wanted), "papers")

        while n_asked < len(wanted) and (limit is None or report.n_kept + n_had < limit):
            n_next = _FETCHED_AT_ONCE if limit is None else min(_FETCHED_AT_ONCE, limit - report.n_kept - n_had)
            fetch_papers(service, wanted[n_asked : n_asked + n_next], config.papers, on_paper=on_paper)
    print_prose(printable(f"fetched {counted(n_had, 'paper')} into {config.papers}"), err=True)
    for reason, n in reasons.most_common(_MOST_FAILURES):
        print_prose(printable(f"not fetched: {counted(n, 'paper')}: {reason}"), "  ", err=True)
    return dict(reasons)


def _tell(made: Constructed, config: Config, asking: Asking, more: dict[str, Any]) -> None:
    print_cautions(made.unreadable, "error")
    _tell_unreadable(made.unreadable_papers)
    print_failures({draft_id: why for step in made.steps for draft_id, why in step.failures.items()})
    if made.n_failures:
        click.echo(f"{counted(made.n_failures, 'draft')} failed; run again to ask for them again", err=True)
    for sentence in made.explained:
        print_prose(printable(sentence), "  ", err=True)
    dataset = made.dataset
    if asking.as_json:
        fields = ("unreadable", "unreadable_papers", "steps", "dataset", "explained")
        print_json({name: getattr(made, name) for name in fields} | more)
        return
    print_table(loss_table(construction_status(config.work).steps if dataset is None else dataset.steps))
    if dataset is not None:
        print_cautions(dataset.warnings)
        splits = ", ".join(f"{name} {split.n_instances:,}" for name, split in dataset.splits.items())
        click.echo(f"{dataset.folder}: {counted(dataset.n_instances, 'instance')} ({splits})")


def _next(made: Constructed, config: Config, path: Path, *, is_pilot: bool) -> str:
    """Return what to do behind a run."""
    again = f"'evidencebench construct run {shlex.quote(str(path))}'"
    if made.n_failures:
        return f"{again} asks again for what failed"
    if made.dataset is not None:
        return f"let people check it: 'evidencebench construct validate {config.work} --open'"
    if is_pilot:
        shows = f"'evidencebench construct show {config.work} --open'"
        rest = f"'evidencebench construct estimate {shlex.quote(str(path))}'"
        return f"look at them: {shows}; price the rest: {rest}; then {again}"
    return f"{construction_status(config.work).next_step}, with {again}"


@options.command
def status(*, folder: _WorkFolder, as_json: options.AsJson) -> None:
    """Show the progress of a construction.

    WORK, the work folder, is only read, also while a step runs.

    \b
    Example: evidencebench construct status work
    """
    status, noise = construction_status(folder), noise_in(folder)
    _tell_unreadable(status.unreadable_papers)
    if as_json:
        print_json({**msgspec.to_builtins(status), "noise": noise and noise.fields()})
        print_noise(noise, as_json=True)
        return
    rows: list[list[Cell]] = []
    for step in status.steps:
        given = "?" if step.n_given is None else f"{step.n_given:,}"
        state = "done" if step.is_finished else "not finished"
        state += f"; {step.n_edited:,} edited by people" if step.n_edited else ""
        state += f"; {step.n_stale:,} to be made again" if step.n_stale else ""
        rows.append([step.step, f"{step.n_drafts:,} of {given}", step.n_drafts - step.n_kept, step.n_kept, state])
    print_table(Table(columns=["step", "drafts", "dropped", "kept", ""], rows=rows))
    if status.next_step is None:
        click.echo(f"{folder / 'dataset'}: made")
    else:
        click.echo(f"next: {status.next_step}")
    for sentence in status.explained:
        print_prose(printable(sentence), "  ")
    print_noise(noise, as_json=False)
