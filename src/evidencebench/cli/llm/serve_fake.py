"""``evidencebench llm serve-fake``."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from evidencebench.cli import options
from evidencebench.cli.listening import listening, refuse_exposed
from evidencebench.construction.gold_studies import read_gold
from evidencebench.data.dataset import open_dataset
from evidencebench.extras import require_extra
from evidencebench.integrations.fake_server.settings import NAMED_FAULTS, PASSING_FAULTS, Fault, Personality, Settings

# Options for numbers; the second name of each is its field of `Settings`.
_share = partial(click.option, type=options.Finite(0, 1), show_default=True, metavar="RATE")
_seconds = partial(click.option, type=options.Finite(0, 3600), show_default=True, metavar="SECONDS")


class _FaultsType(click.ParamType[tuple[Fault, ...]]):
    name = "faults"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Fault, ...]:
        if not isinstance(value, str):
            return tuple(value)
        try:
            return tuple(Fault(name.strip()) for name in value.split(","))
        except ValueError as error:
            self.fail(f"{error}; expected some of {', '.join(Fault)}, between commas", param, ctx)


@click.command(name="serve-fake")
@options.data
@options.choice("--personality", choices=map(str, Personality), metavar="P", help="How the model answers; see below.")
@options.number("--port", least=0, most=65535, required=True, help="0: a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--expose", is_flag=True, help="Allow a host that other machines reach. No key is asked for.")
@_share("--faults", "fault_rate", default=0.0, help="Share that fails.")
@click.option(
    "--fault-kinds",
    type=_FaultsType(),
    default=PASSING_FAULTS,
    show_default="all that pass",
    metavar="F,F",
    help="Which faults; see below.",
)
@options.seed
@_seconds("--latency", "latency_seconds", default=0.0, help="Of each reply.")
@_seconds("--hang-seconds", "hang_seconds", default=30.0, help="How long a fault hangs.")
@_seconds("--retry-after", "retry_after_seconds", default=0.05, help="Sent with 429.")
@_seconds("--batch-delay", "batch_delay_seconds", default=0.0, help="Of each batch.")
@_share("--batch-expire", "expire_rate", default=0.0, help="Share of its rows.")
@_share("--refuse-rate", "refuse_rate", default=0.0, help="Share refused.")
@click.option("--repairable", is_flag=True, help="wrong_format and truncated answer when asked again.")
@click.option(
    "--construction",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="GOLD",
    help="Answer the steps of 'construct' from this file of gold studies.",
)
@click.option("--log", type=click.Path(path_type=Path), metavar="FILE", help="Append a line of JSON a request.")
def command(
    *,
    data: str,
    personality: str,
    port: int,
    host: str,
    expose: bool,
    construction: Path | None,
    **settings: Any,
) -> None:
    """Serve a fake language model for trials.

    It speaks the OpenAI and Anthropic protocols, chat and batches, and answers
    prompts about the papers of D as the personality says, without a key or a cost.
    Any key and any model is taken; a model named like a personality has that
    personality. GET /log tells what was asked and paid. It serves until Ctrl-C.

    \b
    Example: evidencebench llm serve-fake --data sample --port 8000
             evidencebench run --data sample -o run.jsonl
               llm_base:model=local/any,base_url=http://127.0.0.1:8000/v1
    """
    refuse_exposed(host, expose=expose)
    require_extra("llm serve-fake", "serve", "starlette", "uvicorn")
    from evidencebench.integrations.fake_server.app import FakeModelApp  # noqa: PLC0415 - an extra
    from evidencebench.integrations.fake_server.serving import serve_until_signal  # noqa: PLC0415 - an extra

    studies = [] if construction is None else read_gold(construction)
    app = FakeModelApp(open_dataset(data), Settings(personality=Personality(personality), **settings), studies=studies)
    with listening(host, port):
        serve_until_signal(
            app,
            host=host,
            port=port,
            on_start=lambda address: click.echo(f"serving {personality} on {address}/v1"),  # which flushes
        )


def _epilog() -> str:
    """Return the personalities, one a line, and the faults, for the end of the help."""
    personalities = [f"  {name:<14}{name.meaning}" for name in Personality]
    faults = ["  " + ", ".join(PASSING_FAULTS[:5]) + ",", "  " + ", ".join(PASSING_FAULTS[5:])]
    final = "  and, where they are named, " + ", ".join(NAMED_FAULTS)
    return "\n".join(["\b", "Personalities:", *personalities, "", "\b", "Faults:", *faults, final])


command.epilog = _epilog()
