"""Serving pages from a command: the address that it listens on, and the options that say which."""

import secrets
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from evidencebench.cli import options
from evidencebench.extras import require_extra
from evidencebench.models.http import is_loopback_host

if TYPE_CHECKING:  # starlette is an extra
    from starlette.types import ASGIApp

    from evidencebench.pages.app.serving import Address
    from evidencebench.pages.people.tasks import TaskApp


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PageServing:
    """The values of the options of commands that serve pages; each field has its option's name."""

    port: int
    host: str
    expose: bool
    is_opened: bool

    def serve(self, command: str, make: "Callable[[Address], AbstractContextManager[tuple[ASGIApp, str]]]") -> None:
        """Serve an app until Ctrl-C; ``make`` yields it for its address, and a few words on what it shows."""
        require_extra(command, "view", "starlette", "uvicorn")
        from evidencebench.pages.app.serving import address_of  # noqa: PLC0415 - an extra
        from evidencebench.web.serving import listening_socket, serve_until_signal  # noqa: PLC0415 - an extra

        refuse_exposed(self.host, expose=self.expose)
        with listening(self.host, self.port):
            bound = listening_socket(self.host, self.port)
        with bound:
            token = None if is_loopback_host(self.host) else secrets.token_urlsafe(32)
            address = address_of(bound, self.host, token)
            with make(address) as (app, what):

                def tell() -> None:
                    click.echo(f"{what} on {address.url}")  # which flushes
                    if self.is_opened:
                        threading.Thread(target=webbrowser.open, args=(address.url,), daemon=True).start()

                serve_until_signal(app, bound, tell)

    def serve_tasks(self, command: str, make: "Callable[[], TaskApp]", what: str) -> None:
        """Serve tasks that people answer, until Ctrl-C; ``what`` says what they do."""

        @contextmanager
        def app(address: "Address") -> "Iterator[tuple[ASGIApp, str]]":
            from evidencebench.pages.people.tasks import make_task_app  # noqa: PLC0415 - an extra

            yield make_task_app(make(), address=address), what

        self.serve(command, app)


def serving_options(*own: Callable[[Any], Any]) -> Callable[[options.Command], options.Command]:
    """Return a decorator that adds the options. The command gets them as ``serving``, and ``own`` by their names."""
    return options.bundled_as(
        "serving",
        PageServing,
        *own,
        options.number("--port", least=0, most=65535, default=8642, help="0: a free one."),
        click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
        click.option("--expose", is_flag=True, help="Allow a host that other machines reach; a token is asked for."),
        click.option("--open/--no-open", "is_opened", default=False, show_default=True, help="Open it in a browser."),
    )
