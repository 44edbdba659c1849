"""``evidencebench llm serve-fake``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.options import listen, option
from evidencebench.construction.demo import read_gold
from evidencebench.data.dataset import open_dataset
from evidencebench.integrations.fake_model import BEHAVIOURS, FakeModel, Settings
from evidencebench.provenance import require_extra


@options.command
def serve_fake(
    *,
    data: options.Data,
    behaviour: Annotated[
        str, option("--behaviour P", "How the model answers; see below.", click.Choice(list(BEHAVIOURS)))
    ] = "oracle",
    port: Annotated[int, options.number("--port N", "Port to listen on; 0: any free one.", least=0, most=65535)],
    host: Annotated[str, option("--host", "Address to listen on.")] = "127.0.0.1",
    expose: Annotated[bool, option("--expose", "Allow a --host that other machines can reach. No key is required.")],
    faults: Annotated[float, option("--faults RATE", "Share of requests that fail.", options.Finite(0, 1))] = 0.0,
    seed: options.Seed,
    latency: Annotated[float, option("--latency SECONDS", "Delay of each reply.", options.Finite(0, 3600))] = 0.0,
    construction: Annotated[
        Path | None, option("--construction GOLD", "Gold studies, for the steps of 'construct'.", options.EXISTING_FILE)
    ],
) -> None:
    """Serve a fake language model, for tests.

    It speaks OpenAI's chat completions API and answers prompts about the papers of
    D according to --behaviour. Any key and any model name is accepted; a model
    named after a behaviour has that behaviour. GET /log returns counts of requests
    and payments. Serves until Ctrl-C.

    \b
    Example: evidencebench llm serve-fake --data sample --port 8000
             evidencebench run --data sample -o run.jsonl
               llm_base:model=local/any,base_url=http://127.0.0.1:8000/v1
    """
    require_extra("llm serve-fake", "serve", "starlette", "uvicorn")
    from evidencebench.integrations.fake_server import FakeServer  # noqa: PLC0415 - an extra
    from evidencebench.web.serving import serve_until_signal  # noqa: PLC0415 - an extra

    studies = [] if construction is None else read_gold(construction)
    settings = Settings(behaviour=behaviour, fault_rate=faults, latency_seconds=latency, seed=seed)
    app = FakeServer(FakeModel(open_dataset(data), settings, studies))
    bound = listen(host, port, expose=expose)
    host, port = bound.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"
    serve_until_signal(app, bound, partial(click.echo, f"serving {behaviour} on {address}"))


serve_fake.epilog = "\n".join(
    ["\b", "Behaviours:", *(f"  {name:<14}{meaning}" for name, meaning in BEHAVIOURS.items())]
)
