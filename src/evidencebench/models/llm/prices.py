"""The prices of models: a dated table in the package, which a user can replace. An unknown price stays unknown."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec

from evidencebench.errors import FormatError, UnreadableError
from evidencebench.models.llm.chat import NOTHING_USED, ChatReply, Usage
from evidencebench.models.llm.providers import PROVIDERS
from evidencebench.storage.json_lines import repeated_keys
from evidencebench.storage.reading import PathText, read_whole

_MILLION = 1_000_000
_MOST_BYTES = 16 << 20
# The end of gpt-4o-2024-08-06, claude-sonnet-4-5-20250929, mistral-large-2411, gpt-4-0613; never another model's
_DATE = re.compile(r"[-@](?:20\d\d-[01]\d-[0-3]\d|20\d{6}|[012]\d[0-3]\d|latest)")


_Usd = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prices of a model, in USD for a million tokens."""

    input: _Usd
    output: _Usd  # hidden reasoning included
    cached_input: _Usd | None = None  # of the prompt's part that the provider had in its cache; None: as `input`
    batch: _Usd | None = None  # factor on the other prices in a batch; None: not known
    as_of: str = ""  # the day it was written down; empty: that of the table


class _File(msgspec.Struct, frozen=True):
    as_of: str
    models: dict[str, Any]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """Prices by ``provider/name``.

    A name in the table fits the model of this name, also with a date behind it. A name that ends in ``*`` fits all
    models that begin so. The longest name that fits decides.
    """

    as_of: str  # the day that prices without one were written down
    models: Mapping[str, Price]

    @classmethod
    def load(cls, path: PathText | None = None) -> "PriceTable":
        """Return the table in a file of the form of ``llm/prices.json``; None: that file itself."""
        try:
            content = (
                (files("evidencebench.models.llm") / "prices.json").read_bytes()
                if path is None
                else read_whole(Path(path), at_most=_MOST_BYTES)
            )
        except OSError as error:
            raise UnreadableError(f"{path}: cannot be read: {error.strerror}; give a table of prices") from error
        return _parse_table(content, str(path or "prices.json"))

    def price_of(self, model: str) -> Price | None:
        """Return a model's price, or None where it is not known.

        Examples
        --------
        >>> table = PriceTable(as_of="2025-11-01", models={"openai/gpt-4o": Price(input=2.5, output=10.0)})
        >>> table.price_of("openai/gpt-4o-2024-08-06").output
        10.0
        >>> table.price_of("openai/gpt-4o-mini") is None
        True
        """
        if model in self.models:
            return self.models[model]
        fitting = [name for name in self.models if _fits(name, model)]
        return self.models[max(fitting, key=len)] if fitting else None

    def cost_usd(self, model: str, usage: Usage, *, batch: bool = False) -> float | None:
        """Return the cost of a reply with this usage; None where its price or its tokens are not known."""
        price = self.price_of(model)
        if price is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        factor = price.batch if batch else 1.0
        if factor is None:
            return None
        n_cached = min(usage.cached_tokens, usage.prompt_tokens)
        cached = price.input if price.cached_input is None else price.cached_input
        sum_usd = (usage.prompt_tokens - n_cached) * price.input + n_cached * cached
        return factor * (sum_usd + usage.completion_tokens * price.output) / _MILLION

    def dated(self, models: Iterable[str]) -> str:
        """Return the days of the prices of models, as one text; the table's where no price is known."""
        found = {price.as_of or self.as_of for model in models if (price := self.price_of(model)) is not None}
        return " and ".join(sorted(found)) or self.as_of

    def priced(self, model: str, reply: ChatReply, *, batch: bool = False) -> tuple[ChatReply, float | None]:
        """Return a reply with the day of its price, and its cost; 0 where it was refused before the model ran."""
        if reply.finish == "refused" and reply.usage == NOTHING_USED:
            return reply, 0.0
        provider = PROVIDERS.get(model.partition("/")[0])
        if provider is not None and provider.states_cost and reply.usage.stated_usd is not None:
            return reply, reply.usage.stated_usd
        cost_usd = self.cost_usd(model, reply.usage, batch=batch)
        day = "" if cost_usd is None else self.dated([model])
        return msgspec.structs.replace(reply, priced_as_of=day), cost_usd

    def most_usd(self, model: str, prompt_tokens: int, max_tokens: int, *, batch: bool = False) -> float | None:
        """Return the most that a request can cost, with nothing cached and the longest reply; None: not known."""
        return self.cost_usd(model, Usage(prompt_tokens=prompt_tokens, completion_tokens=max_tokens), batch=batch)


def _fits(name: str, model: str) -> bool:
    if name.endswith("*"):
        return model.startswith(name[:-1])
    return model.startswith(name) and _DATE.fullmatch(model, len(name)) is not None


def _parse_table(content: bytes, where: str) -> PriceTable:
    try:
        raw = json.loads(content, object_pairs_hook=_refuse_repeats, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # broken UTF-8 is a ValueError too
        raise UnreadableError(f"{where}: expected JSON: {error}; correct it") from error
    try:
        file = msgspec.convert(raw, _File)
    except msgspec.ValidationError as error:
        raise FormatError(f"{where}: {error}; give as_of and models, as in the package's own prices.json") from error
    models = {name: _parse_price(value, name, where) for name, value in file.models.items()}
    return PriceTable(as_of=file.as_of, models=models)


def _parse_price(value: Any, name: str, where: str) -> Price:
    try:
        price = msgspec.convert(value, Price)
    except msgspec.ValidationError as error:
        raise FormatError(f"{where}: models: {name}: {error}; give USD per million tokens") from error
    if "/" not in name:
        raise FormatError(f"{where}: models: {name}: expected a name such as openai/gpt-4o; put the provider before it")
    return price


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if repeated := repeated_keys(pairs):
        raise ValueError(f"'{repeated[0]}' stands twice")
    return dict(pairs)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
