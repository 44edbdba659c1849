"""``evidencebench llm serve-fake``."""

import ipaddress
from pathlib import Path
from typing import Any

import click

from evidencebench.cli.numbers import Finite, Whole
from evidencebench.cli.options import data_option, open_data, seed_option
from evidencebench.integrations.fake_server.settings import NAMED_FAULTS, PASSING_FAULTS, Fault, Personality, Settings
from evidencebench.models.embedding.folder import require_extra

_SHARE = Finite(0, 1)
_SECONDS = Finite(0, 3600)


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
@data_option
@click.option(
    "--personality",
    type=click.Choice(list(map(str, Personality))),
    default="oracle",
    show_default=True,
    metavar="P",
    help="How the model answers; see below.",
)
@click.option("--port", type=Whole(0, 65535), required=True, metavar="N", help="0: a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--expose", is_flag=True, help="Allow a host that other machines reach. No key is asked for.")
@click.option("--faults", type=_SHARE, default=0.0, show_default=True, metavar="RATE", help="Share that fails.")
@click.option(
    "--fault-kinds",
    type=_FaultsType(),
    default=PASSING_FAULTS,
    show_default="all that pass",
    metavar="F,F",
    help="Which faults; see below.",
)
@seed_option
@click.option("--latency", type=_SECONDS, default=0.0, show_default=True, metavar="SECONDS", help="Of each reply.")
@click.option(
    "--hang-seconds", type=_SECONDS, default=30.0, show_default=True, metavar="SECONDS", help="How long a fault hangs."
)
@click.option("--retry-after", type=_SECONDS, default=0.05, show_default=True, metavar="SECONDS", help="Sent with 429.")
@click.option("--batch-delay", type=_SECONDS, default=0.0, show_default=True, metavar="SECONDS", help="Of each batch.")
@click.option("--batch-expire", type=_SHARE, default=0.0, show_default=True, metavar="RATE", help="Share of its rows.")
@click.option("--refuse-rate", type=_SHARE, default=0.0, show_default=True, metavar="RATE", help="Share refused.")
@click.option("--repairable", is_flag=True, help="wrong_format and truncated answer when asked again.")
@click.option("--log", type=click.Path(path_type=Path), metavar="FILE", help="Append a line of JSON a request.")
def command(
    *,
    data: str,
    personality: str,
    port: int,
    host: str,
    expose: bool,
    faults: float,
    fault_kinds: tuple[Fault, ...],
    seed: int,
    latency: float,
    hang_seconds: float,
    retry_after: float,
    batch_delay: float,
    batch_expire: float,
    refuse_rate: float,
    repairable: bool,
    log: Path | None,
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
    if not expose and not _is_loopback(host):
        message = f"'{host}' may be reached from other machines; expected a loopback address, or --expose"
        raise click.BadParameter(message, param_hint="--host")

    def tell(address: str) -> None:
        click.echo(f"serving {personality} on {address}/v1")  # which flushes

    settings = Settings(
        personality=Personality(personality),
        fault_rate=faults,
        fault_kinds=fault_kinds,
        seed=seed,
        latency_seconds=latency,
        hang_seconds=hang_seconds,
        retry_after_seconds=retry_after,
        batch_delay_seconds=batch_delay,
        expire_rate=batch_expire,
        refuse_rate=refuse_rate,
        repairable=repairable,
        log=log,
    )
    require_extra("llm serve-fake", "serve", "starlette", "uvicorn")
    from evidencebench.integrations.fake_server.app import FakeModelApp  # noqa: PLC0415 - an extra
    from evidencebench.integrations.fake_server.serving import serve_until_signal  # noqa: PLC0415 - an extra

    app = FakeModelApp(open_data(data), settings)
    try:
        serve_until_signal(app, host=host, port=port, on_start=tell)
    except OSError as error:
        message = f"cannot listen on port {port} of {host}: {error.strerror}; --port 0 takes a free one"
        raise click.BadParameter(message, param_hint="--port") from error


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listed() -> str:
    """Return the personalities and faults as a part of the help, a line each."""
    personalities = [f"  {name:<14}{name.meaning}" for name in Personality]
    faults = ["  " + ", ".join(PASSING_FAULTS[:5]) + ",", "  " + ", ".join(PASSING_FAULTS[5:])]
    final = "  and, where they are named, " + ", ".join(NAMED_FAULTS)
    return "\n".join(["\b", "Personalities:", *personalities, "", "\b", "Faults:", *faults, final])


command.epilog = _listed()
