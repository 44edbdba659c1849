"""``evidencebench construct demo``."""

import tempfile
from datetime import date
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import option
from evidencebench.cli.output import print_table, progress
from evidencebench.construction.config import read_config
from evidencebench.construction.demo import expected_instances, synthetic_studies, write_synthetic_review
from evidencebench.construction.losses import loss_table
from evidencebench.construction.pipeline import Constructed, construct
from evidencebench.data.dataset import open_dataset
from evidencebench.data.sample import load_sample
from evidencebench.errors import EvidenceBenchError
from evidencebench.execution.asking import Waiting
from evidencebench.integrations.fake_model import FakeModel, Settings
from evidencebench.models.llm.client import make_client
from evidencebench.provenance import require_extra
from evidencebench.wording import counted


@options.command
def demo(
    *,
    output: Annotated[Path | None, options.output("FOLDER", "Keep all files in this folder.", options.FOLDER)],
    faults: Annotated[float, option("--faults SHARE", "Share of requests that fail.", options.Finite(0, 0.5))] = 0.2,
    progress_style: options.ProgressStyle,
) -> int:
    """Run all steps on a synthetic review, with a fake language model.

    A server on this machine acts as the language model for five invented papers: it
    knows the right answers, and fails now and then. The data set is compared with
    the expected one. No key, no cost.

    \b
    Example: evidencebench construct demo -o construction-demo
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = output or Path(scratch) / "demo"
        folder.mkdir(parents=True, exist_ok=True)
        made, n_paid = _construct(folder, Path(scratch), faults, progress_style)
        if made.dataset is None:
            raise EvidenceBenchError(f"{folder}: {made.n_failures} drafts failed; run again, or with --faults 0")
        print_table(loss_table(made.dataset.steps))
        instances = list(open_dataset(str(folder / "work" / "dataset" / "test.json")))
        is_gold = instances == expected_instances()
        click.echo(f"paid requests: {n_paid:,}; of all attempts, {100 * faults:g} % failed and were repeated")
        sameness = "identical to" if is_gold else "NOT identical to"
        click.echo(f"Built {counted(len(instances), 'instance')}, {sameness} the expected ones.")
        if output is not None:
            click.echo(f"{folder}: reviews, papers, construction.toml, work/dataset/datasheet.md")
    return 0 if is_gold else 1


def _construct(folder: Path, scratch: Path, faults: float, progress_style: str) -> tuple[Constructed, int]:
    """Write the review, run all steps against a server, and return what came of it and how many requests were paid."""
    require_extra("construct demo", "serve", "starlette", "uvicorn")
    from evidencebench.integrations.fake_server import FakeServer  # noqa: PLC0415 - an extra
    from evidencebench.web.serving import listening_socket, served_in_thread  # noqa: PLC0415 - an extra

    app = FakeServer(FakeModel(load_sample(), Settings(fault_rate=faults), synthetic_studies()))
    client = make_client(environ={"EVIDENCEBENCH_CACHE": str(scratch / "cache")}, max_attempts=12)
    bound = listening_socket("127.0.0.1", 0)
    with served_in_thread(app, bound), progress("constructing", progress_style) as shown:
        write_synthetic_review(folder, model=f"local/any,base_url=http://127.0.0.1:{bound.getsockname()[1]}/v1")
        try:
            made = construct(
                read_config(folder / "construction.toml"),
                client=client,
                waiting=Waiting(client=client),
                today=date(2026, 1, 1),
                overwrite=True,  # the server has another address each time
                on_progress=shown,
            )
        finally:
            client.close()
        return made, client.totals.now.requests
