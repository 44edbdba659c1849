"""Numbers as options take them."""

import re
from math import isfinite
from typing import Any

import click

_MOST = 2**63 - 1  # what machines count with
_PLAIN = re.compile(r"[-+.0-9a-zA-Z]*", re.ASCII)


class WholeNumber(click.IntRange):
    """A whole number in a range, in plain digits: Python would read ``1_0`` too."""

    name = "whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, or fail in words."""
        _require_plain(self, value, param, ctx)
        found: int = super().convert(value, param, ctx)
        if abs(found) > _MOST:
            self.fail(f"{found} is too large.", param, ctx)
        return found


class Finite(click.FloatRange):
    """A finite number in a range; ``nan`` and ``inf`` are refused."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail in words."""
        _require_plain(self, value, param, ctx)
        found: float = super().convert(value, param, ctx)
        if not isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


def _require_plain(
    kind: click.ParamType[Any], value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> None:
    if isinstance(value, str) and _PLAIN.fullmatch(value) is None:
        kind.fail(f"{value!r} is not a valid {kind.name}.", param, ctx)
