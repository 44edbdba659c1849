"""The address that a serving command listens on: this machine alone, unless ``--expose`` lets others in."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from evidencebench.models.endpoints import is_loopback_host


def refuse_exposed(host: str, *, expose: bool) -> None:
    """Raise where other machines may reach the host without ``--expose``."""
    if not (expose or is_loopback_host(host)):
        message = f"'{host}' may be reached from other machines; expected a loopback address, or --expose"
        raise click.BadParameter(message, param_hint="--host")


@contextmanager
def listening(host: str, port: int) -> Iterator[None]:
    """Raise an `OSError` of the block as a `click.BadParameter` of ``--port``."""
    try:
        yield
    except OSError as error:
        message = f"cannot listen on port {port} of {host}: {error.strerror}; --port 0 takes a free one"
        raise click.BadParameter(message, param_hint="--port") from error
