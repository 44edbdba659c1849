"""Settings, which many commands share: given by --set NAME=VALUE, the environment or evidencebench.toml."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from evidencebench.errors import UnreadableError
from evidencebench.files.disk import read_text
from evidencebench.wording import did_you_mean, or_one_of

FILE = "evidencebench.toml"
NAMES = (
    *("draws", "level", "over-length", "ties", "out-of-range", "progress"),
    *("engine", "ray-address", "gpus-per-worker"),
    *("prices", "assume-tokens", "max-connections", "requests-per-minute", "tokens-per-minute", "timeout"),
    "max-attempts",
)
_GIVEN, _IN_FILE = f"{__name__}.given", f"{__name__}.in_file"


class Given(NamedTuple):
    """A value of a setting, and where it was given."""

    value: str
    where: str


class Setting(click.Option):
    """A parameter of a command without an option of its own."""

    @property
    def setting(self) -> str:
        return self.opts[0].removeprefix("--")

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add nothing: `--set` takes it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:  # noqa: ARG002 - click's signature
        return None

    def get_error_hint(self, ctx: click.Context | None) -> str:
        given = None if ctx is None else self.given(ctx)
        return self.setting if given is None else f"{self.setting} ({given.where})"

    def given(self, ctx: click.Context) -> Given | None:
        """Return what is given: by --set, else in the environment, else in the file of the current folder."""
        by_name: Mapping[str, str] = ctx.meta.get(_GIVEN, {})
        if self.setting in by_name:
            return Given(by_name[self.setting], "--set")
        variable = variable_of(self.setting)
        if variable in os.environ:
            return Given(os.environ[variable], variable)
        if _IN_FILE not in ctx.meta:  # read once for all settings of a call
            ctx.meta[_IN_FILE] = read_file(Path(FILE))
        in_file: Mapping[str, str] = ctx.meta[_IN_FILE]
        return Given(in_file[self.setting], FILE) if self.setting in in_file else None

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        given = self.given(ctx)
        if given is None:
            return super().consume_value(ctx, opts)
        return given.value, ParameterSource.COMMANDLINE


def variable_of(setting: str) -> str:
    return f"EVIDENCEBENCH_{setting.replace('-', '_').upper()}"


def read_file(path: Path) -> Mapping[str, str]:
    """Return the settings of a file; raises `UnreadableError`."""
    if not path.exists():
        return {}
    try:
        values = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise UnreadableError(f"{path}: expected settings, such as 'draws = 2000': {error}") from error
    for name, value in values.items():
        if name not in NAMES:
            raise UnreadableError(f"{path}: no setting '{name}'{did_you_mean(name, NAMES)}; 'evidencebench settings'")
        if isinstance(value, bool | dict | list):
            raise UnreadableError(f"{path}: {name}: expected a number or a text, got {value!r}")
    return {name: str(value) for name, value in values.items()}


def set_option(settings: Sequence[Setting]) -> click.Option:
    """Return the option that takes the settings of a command."""

    def take(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> None:
        names = [setting.setting for setting in settings]
        given: dict[str, str] = {}
        for text in values:
            name, sign, value = text.partition("=")
            if not sign:
                raise click.BadParameter(f"expected NAME=VALUE, such as {names[0]}=..., got '{text}'", ctx, param)
            if name not in names:
                hint = or_one_of(name, names, "evidencebench settings")
                raise click.BadParameter(f"no setting '{name}' here{hint}", ctx, param)
            given[name] = value
        ctx.meta[_GIVEN] = given

    names = ", ".join(setting.setting for setting in settings)
    return click.Option(
        ["settings", "--set"],
        metavar="NAME=VALUE",
        help=f"Set {names}. See 'settings'.",
        multiple=True,
        is_eager=True,
        expose_value=False,
        callback=take,
    )
