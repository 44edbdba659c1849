"""``evidencebench llm serve-fake``."""

from functools import partial
from pathlib import Path

import click

from evidencebench.cli import options
from evidencebench.cli.options import listening, refuse_exposed
from evidencebench.construction.demo import read_gold
from evidencebench.data.dataset import open_dataset
from evidencebench.integrations.fake_server import PERSONALITIES, FakeModel, Settings
from evidencebench.provenance import require_extra


@click.command(
    name="serve-fake",
    epilog="\n".join(["\b", "Personalities:", *(f"  {name:<14}{meaning}" for name, meaning in PERSONALITIES.items())]),
)
@options.data
@options.choice("--personality", choices=PERSONALITIES, metavar="P", help="How the model answers; see below.")
@options.number("--port", least=0, most=65535, required=True, help="0: a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--expose", is_flag=True, help="Allow a host that other machines reach. No key is asked for.")
@click.option(
    "--faults", type=options.Finite(0, 1), default=0.0, show_default=True, metavar="RATE", help="Share that fails."
)
@options.seed
@click.option(
    "--latency", type=options.Finite(0, 3600), default=0.0, show_default=True, metavar="SECONDS", help="Of each reply."
)
@click.option(
    "--construction",
    type=options.EXISTING_FILE,
    metavar="GOLD",
    help="Answer the steps of 'construct' from this file of gold studies.",
)
def command(
    *,
    data: str,
    personality: str,
    port: int,
    host: str,
    expose: bool,
    faults: float,
    seed: int,
    latency: float,
    construction: Path | None,
) -> None:
    """Serve a fake language model for trials.

    It speaks OpenAI's chat completions, and answers prompts about the papers of
    D as the personality says, without a key or a cost. Any key and any model is
    taken; a model named like a personality has that personality. GET /log tells
    how much was asked and paid. It serves until Ctrl-C.

    \b
    Example: evidencebench llm serve-fake --data sample --port 8000
             evidencebench run --data sample -o run.jsonl
               llm_base:model=local/any,base_url=http://127.0.0.1:8000/v1
    """
    refuse_exposed(host, expose=expose)
    require_extra("llm serve-fake", "serve", "starlette", "uvicorn")
    from evidencebench.integrations.fake_server import FakeServer, PatientConnection  # noqa: PLC0415 - an extra
    from evidencebench.web.serving import listening_socket, serve_until_signal  # noqa: PLC0415 - an extra

    studies = [] if construction is None else read_gold(construction)
    settings = Settings(personality=personality, fault_rate=faults, latency_seconds=latency, seed=seed)
    app = FakeServer(FakeModel(open_dataset(data), settings, studies))
    with listening(host, port):
        bound = listening_socket(host, port)
    host, port = bound.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"
    serve_until_signal(app, bound, partial(click.echo, f"serving {personality} on {address}"), PatientConnection)
