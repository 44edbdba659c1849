"""``evidencebench construct estimate``."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from evidencebench.cli import options
from evidencebench.cli.construct.steps import print_failures
from evidencebench.cli.output import print_json, print_prose, print_table
from evidencebench.cli.progress import progress
from evidencebench.construction.config import read_config
from evidencebench.construction.estimating import (
    Assumptions,
    ConstructionEstimate,
    StepEstimate,
    estimate_construction,
)
from evidencebench.construction.model_use import LEAST_CACHED_TOKENS, ModelUse, Uses, joined
from evidencebench.construction.pipeline import harvest_inputs, steps_of
from evidencebench.construction.work_folder import input_of
from evidencebench.models.llm.prices import PriceTable
from evidencebench.models.llm.reply_cache import ReplyCache
from evidencebench.models.llm.totals import shown_usd
from evidencebench.storage.user_folders import cache_folder
from evidencebench.tables import Cell, Table
from evidencebench.wording import counted

_HOUR_MINUTES = 60

Cost = Callable[[Uses], float | None]


@click.command(name="estimate")
@click.argument("path", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="CONFIG.toml")
@options.number("--assume-aspects", default=8, help="Aspects of a summary, where none are known yet.")
@options.number("--assume-tokens", default=400, help="How long a reply is, where none are stored yet.")
@options.number("--sample", default=200, help="Drafts that are looked at, of those that wait for the same step.")
@click.option(
    "--requests-per-minute",
    type=options.Finite(0, min_open=True),
    default=500,
    show_default=True,
    metavar="N",
    help="For the hours.",
)
@options.prices
@options.as_json
@options.progress_style
def command(
    *,
    path: Path,
    assume_aspects: int,
    assume_tokens: int,
    sample: int,
    requests_per_minute: float,
    prices: Path | None,
    as_json: bool,
    progress_style: str,
) -> None:
    """Price what is left of a construction.

    Nothing is sent. Run a pilot first, such as 'construct run CONFIG.toml
    --limit 20': its stored replies say how long prompts and replies are, how many
    aspects a summary has, and how many drafts are dropped. Without one, all that
    is assumed.

    \b
    Example: evidencebench construct estimate construction.toml
    """
    config = read_config(path)
    table = PriceTable.load(prices)
    folder = cache_folder(os.environ)
    cache = None if folder is None else ReplyCache(folder)
    assumed = Assumptions(aspects=assume_aspects, completion_tokens=assume_tokens, n_sample=sample)
    with progress("estimating", progress_style) as shown:
        if not input_of(steps_of(config)[0], config.work).is_file():
            harvest_inputs(config, overwrite=False, on_progress=shown)
        found = estimate_construction(config, prices=table, cache=cache, assumptions=assumed, on_progress=shown)
    if as_json:
        print_json(_fields(found, table, requests_per_minute))
    else:
        has_second = config.file.judge.second_model is not None
        _print(found, table, requests_per_minute, assumed, has_second=has_second)


def _cost(prices: PriceTable, *, batch: bool = False, caching: bool = False) -> Cost:
    """Return the function that prices uses; its result is None where a price is not known."""

    def cost_of(uses: Uses) -> float | None:
        costs = [use.cost_usd(model, prices, batch=batch, caching=caching) for model, use in uses.items()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    return cost_of


def _fields(found: ConstructionEstimate, prices: PriceTable, per_minute: float) -> dict[str, Any]:
    def priced(uses: Uses) -> dict[str, Any]:
        return {
            "requests": round(sum(use.requests for use in uses.values())),
            "prompt_tokens": round(sum(use.prompt_tokens for use in uses.values())),
            "reply_tokens": round(sum(use.reply_tokens for use in uses.values())),
            "hours": sum(use.requests for use in uses.values()) / per_minute / _HOUR_MINUTES,
            "cost_usd": _cost(prices)(uses),
            "cost_in_batches_usd": _cost(prices, batch=True)(uses),
            "cost_with_prompt_caching_usd": _cost(prices, caching=True)(uses),
        }

    return {
        "prices_as_of": prices.dated(_all(one.uses for one in found.steps)),
        "requests_per_minute": per_minute,
        "steps": [
            {
                "step": one.step,
                "n_drafts": one.n_drafts,
                "n_pilot": one.n_pilot,
                "margin": one.margin,
                "repeated_tokens": one.repeated_tokens,
                "left": priced(one.uses),
                "used": priced(one.used),
                "models": [{"model": model, **priced({model: use})} for model, use in one.uses.items()],
            }
            for one in found.steps
        ],
        "left": priced(_all(one.uses for one in found.steps)),
        "used": priced(_all(one.used for one in found.steps)),
        "unreadable": found.unreadable,
    }


def _all(uses: Iterator[Uses]) -> Uses:
    total: Uses = {}
    for one in uses:
        total = joined(total, one)
    return total


def _print(
    found: ConstructionEstimate, prices: PriceTable, per_minute: float, assumed: Assumptions, *, has_second: bool
) -> None:
    print_failures(found.unreadable)
    left = _all(one.uses for one in found.steps)
    rows: list[list[Cell]] = [
        [
            one.step,
            one.n_drafts,
            *_priced_cells(one.uses, prices, per_minute),
            "" if one.margin is None else f"{100 * one.margin:.0f} %",
        ]
        for one in found.steps
    ]
    rows.append(["all", None, *_priced_cells(left, prices, per_minute), ""])
    columns = ["step", "drafts", "requests", "prompt", "reply", "hours", "cost", "batches", "+-"]
    print_table(Table(columns=columns, rows=rows))
    used = _all(one.used for one in found.steps)
    if used:
        spent = _cost(prices)(used)
        n_requests = round(sum(use.requests for use in used.values()))
        print_prose(
            f"So far: {counted(n_requests, 'reply', 'replies')} stored, "
            f"{'of unknown price' if spent is None else shown_usd(spent)}."
        )
    if left:
        print_prose(" ".join(_notes(found, left, prices, per_minute, assumed, has_second=has_second)))


def _priced_cells(uses: Uses, prices: PriceTable, per_minute: float) -> list[Cell]:
    total = sum(uses.values(), ModelUse())
    costs = [_cost(prices)(uses), _cost(prices, batch=True)(uses)]
    return [
        round(total.requests),
        _short(total.prompt_tokens),
        _short(total.reply_tokens),
        f"{total.requests / per_minute / _HOUR_MINUTES:.1f}",
        *("unknown" if cost is None else shown_usd(cost) for cost in costs),
    ]


def _short(tokens: float) -> str:
    for size, mark in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if tokens >= size:
            return f"{tokens / size:.3g} {mark}"
    return f"{tokens:.0f}"


def _notes(
    found: ConstructionEstimate,
    left: Uses,
    prices: PriceTable,
    per_minute: float,
    assumed: Assumptions,
    *,
    has_second: bool,
) -> Iterator[str]:
    """Yield what the numbers rest on, as sentences."""
    guessed = [one.step for one in found.steps if one.n_drafts and not one.n_pilot]
    n_pilot = max((one.n_pilot for one in found.steps), default=0)
    if n_pilot:
        yield f"Corrected by {counted(n_pilot, 'draft')} whose replies are stored; +- is half of a 95 % interval."
    if guessed:
        yield (
            f"Assumed for {', '.join(guessed)}: {assumed.aspects} aspects a summary (--assume-aspects), replies of "
            f"{assumed.completion_tokens} tokens (--assume-tokens), no draft dropped. A pilot would tell: "
            "'construct run CONFIG.toml --limit 20'."
        )
    if "judge" in guessed and has_second:
        yield "How often the second model is asked is not known without a pilot; it is left out."
    yield f"Hours at {per_minute:g} requests a minute (--requests-per-minute); batches take up to a day each."
    yield _on_caching(found.steps, left, prices)
    day = prices.dated(_all(one.uses for one in found.steps))
    yield f"Prices as of {day}: check them (--prices). Nothing was sent."


def _on_caching(steps: tuple[StepEstimate, ...], left: Uses, prices: PriceTable) -> str:
    longest = max((one.repeated_tokens for one in steps), default=0.0)
    whole, with_cache = _cost(prices)(left), _cost(prices, caching=True)(left)
    if whole is None or with_cache is None or whole == with_cache:
        return (
            f"Prompt caching saves nothing: prompts share their first {longest:.0f} tokens or fewer, and providers "
            f"cache from {LEAST_CACHED_TOKENS:,}."
        )
    return f"Prompt caching would save up to {shown_usd(whole - with_cache)}."
