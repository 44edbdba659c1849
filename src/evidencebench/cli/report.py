"""``evidencebench report``."""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from shlex import join
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.configuration import Setting
from evidencebench.cli.options import option
from evidencebench.cli.output import print_warnings, progress, refuse_existing, tell_written
from evidencebench.data.tasks import Task
from evidencebench.errors import CacheError, EvidenceWarning
from evidencebench.files.atomic import is_stream, write_whole
from evidencebench.files.places import cache_folder
from evidencebench.pages.report.page import argument_of, report_page, shareable
from evidencebench.pages.viewer import ExchangeSource
from evidencebench.wording import counted

# Of the page. A path without one may be a pipe or a terminal.
_SUFFIXES = {".html", ".htm", ""}
# Options that change nothing in the page, so that its command line does not show them.
_NOT_SHOWN = {"progress_style", "overwrite", "jobs", "engine", "ray_address", "gpus_per_worker"}
# Options that name a file, whose folder the page does not show.
_FILES = {"data", "ids", "output"}


@options.command
def report(
    *,
    runs: options.Runs,
    data: options.Data,
    output: Annotated[Path, options.output("FILE", "The page; - is standard output.")],
    tasks: options.Tasks,
    largest: Annotated[int, options.number("--largest K", "Largest budget of the recall curves.", most=100)] = 20,
    names: options.Names,
    title: Annotated[str, option("--title TEXT", "Title of the page. Default: the data and the runs.", default="")],
    papers: Annotated[
        bool | None,
        option("--papers/--no-papers", "Include the papers; default: if there are at most 5,000.", default=None),
    ],
    exchanges: Annotated[bool, option("--exchanges", "Include the prompts and replies of language models.")],
    limit: options.Limit,
    ids: options.Ids,
    rules: options.RulesChoice,
    resampling: options.ResamplingChoice,
    place: options.WorkPlaceChoice,
    overwrite: Annotated[bool, option("--overwrite", "Replace FILE if it exists.")],
    progress_style: options.ProgressStyle,
) -> None:
    """Write a report on RUNs, with the papers, as one HTML file.

    It has the answer and all intervals, comparisons pair by pair, query controls,
    what each selection adds, recall by budget and by kind of paper, failures, cost,
    methods, and the papers with what each system selected. It needs no network and
    no other file. A run with changed queries (run --control NAME) is shown beside
    the run of its system.

    --exchanges adds the prompts and replies stored on this machine. Prompts contain
    the papers' texts, which may be private.

    \b
    Example: evidencebench report bm25.jsonl lead.jsonl -d sample -o report.html
    """
    if output.suffix.lower() not in _SUFFIXES and not is_stream(output):
        raise click.UsageError(
            f"{output}: a report is a web page: expected a name that ends in .html, got '{output.suffix}'; "
            "a browser prints the page to PDF"
        )
    if exchanges and papers is False:
        raise click.UsageError("--exchanges: prompts and replies stand beside the papers, which --no-papers leaves out")
    refuse_existing(output, overwrite=overwrite)
    name_of = options.names_of(runs, names)
    warnings: list[EvidenceWarning] = []
    dataset = options.open_part(data, ids)
    stored: AbstractContextManager[ExchangeSource | None] = nullcontext()
    if exchanges:
        from evidencebench.pages.exchanges import stored_exchanges  # noqa: PLC0415 - slow, and seldom wanted

        stored = stored_exchanges(dataset, cache_folder(os.environ))
    with stored as source, progress("report", progress_style) as on_progress:
        if exchanges and source is None:
            raise CacheError("--exchanges: no reply of a language model is stored on this machine; leave it out")
        page = report_page(
            runs,
            dataset,
            tasks,
            rules=rules,
            resampling=resampling,
            limit=limit,
            names=name_of,
            title=title,
            largest=largest,
            papers=papers,
            shown_data=data,
            command=_command_line(click.get_current_context()),
            exchanges=source,
            **place,
            on_warning=warnings.append,
            on_progress=on_progress,
        )
    content = page.encode()
    write_whole(output, content)
    tell_written(output, {}, f"{output}: {counted(len(runs), 'run')}, {len(content) / 1e6:.1f} MB", as_json=False)
    print_warnings(warnings)


def _command_line(ctx: click.Context) -> str:
    """Return the command line with all options that are not at their defaults, those from the environment included."""
    words = ["evidencebench", "report"]
    for parameter in ctx.command.params:
        value = ctx.params.get(parameter.name or "")
        if parameter.name in _NOT_SHOWN or value is None or value == parameter.get_default(ctx):
            continue
        if isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[-1])
            continue
        if parameter.name == "names":
            named = options.names_of(ctx.params["runs"], value)
            value = tuple(f"{shareable(str(path))}={name}" for path, name in named.items())
        for item in value if isinstance(value, tuple) else (value,):
            word = item.name if isinstance(item, Task) else str(item)
            if isinstance(parameter, click.Argument):
                words.append(argument_of(item))
            elif isinstance(parameter, Setting):
                words += ["--set", f"{parameter.setting}={word}"]
            else:
                words += [parameter.opts[-1], shareable(word) if parameter.name in _FILES else word]
    return join([*words, "--overwrite"])  # without it, the command would not replace the page that shows it
