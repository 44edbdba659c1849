"""``evidencebench view``."""

import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import PageServing, argument, option
from evidencebench.data.tasks import TASKS
from evidencebench.execution.finding import DEFAULT_FINDER
from evidencebench.files.places import cache_folder
from evidencebench.tables import printable


@options.command
def view(
    *,
    runs: Annotated[tuple[Path, ...], argument("[RUN]...")],
    data: Annotated[str | None, options.data_option("Data file, or a catalogue name.")],
    tasks: options.Tasks,
    rules: options.RulesChoice,
    folder: Annotated[
        Path | None, option("--people FOLDER", "Let people select, blind; their runs go to FOLDER.", options.FOLDER)
    ],
    limit: options.Limit,
    ids: options.Ids,
    serving: PageServing,
) -> None:
    """View papers, their evidence and what each RUN selected.

    Serves a page with the papers of D: the evidence for each aspect, the selections
    of the baselines and of each RUN, and the prompts and replies of its language
    model. Data of any size opens at once. Serves until Ctrl-C, to this machine
    only.

    Without --data, serves a page for your own papers: drop or paste a paper, type a
    hypothesis, and see the evidence marked.

    With --people, people sign in with a name and select as many sentences as one
    --task allows (default: er_at_optimal). They see what they missed after they
    submit. FOLDER gets one run per person.

    \b
    Examples:
      evidencebench view --open
      evidencebench view --data train bm25.jsonl llm.jsonl --task er_at_10
      evidencebench view --data train --people picks --limit 20
    """
    if folder is None and limit is not None:
        raise click.UsageError("--limit needs --people")
    if folder is not None and len(tasks) > 1:
        raise click.UsageError("--people takes one --task")
    shown_tasks = tasks if folder is None else tasks or (TASKS["er_at_optimal"],)
    if data is None and (runs or shown_tasks or folder is not None or ids is not None):
        raise click.UsageError("expected --data: the data that RUN, --task, --ids or --people are about")

    with serving.listening("view") as (address, serve), ExitStack() as opened:
        if data is None:
            from evidencebench.execution.making import make_system  # noqa: PLC0415 - beside what shows it
            from evidencebench.pages.app.find import make_finding_app  # noqa: PLC0415 - an extra

            app = make_finding_app(make_system(DEFAULT_FINDER), address=address)
            serve(app, "finding evidence in your own papers")
            return
        from evidencebench.pages.app.search import BackgroundScan  # noqa: PLC0415 - beside what shows it
        from evidencebench.pages.app.viewer import make_app  # noqa: PLC0415 - an extra
        from evidencebench.pages.exchanges import stored_exchanges  # noqa: PLC0415 - slow
        from evidencebench.pages.people.assignments import pick_tasks  # noqa: PLC0415 - an extra
        from evidencebench.pages.viewer import viewer_data_of  # noqa: PLC0415 - beside what shows it

        dataset = options.open_part(data, ids)
        exchanges = opened.enter_context(stored_exchanges(dataset, cache_folder(os.environ)))
        viewed = viewer_data_of(runs, dataset, shown_tasks, rules=rules, exchanges=exchanges)
        if folder is not None:
            picking = opened.enter_context(closing(pick_tasks(viewed, folder, shown_tasks[0], limit=limit)))
            serve(picking.make_app(address), f"people select sentences in {printable(viewed.title)}")
        else:
            scan = opened.enter_context(closing(BackgroundScan(viewed)))
            scan.start()
            serve(make_app(viewed, scan, address=address), f"viewing {printable(viewed.title)}")
