"""``evidencebench construct estimate``."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from evidencebench.cli import options
from evidencebench.cli.construct.run import print_failures
from evidencebench.cli.options import Finite, WholeNumber, argument, number, setting
from evidencebench.cli.output import print_json, print_prose, print_table, progress
from evidencebench.construction.config import read_config
from evidencebench.construction.draft import input_of
from evidencebench.construction.estimate import Assumptions, ModelUse, StepEstimate, Uses, estimate_construction, joined
from evidencebench.construction.pipeline import harvest_inputs, steps_of
from evidencebench.models.llm.costs import PriceTable, shown_usd
from evidencebench.models.llm.replies import open_cache
from evidencebench.tables import Cell, Table
from evidencebench.wording import counted

_HOUR_MINUTES = 60
_TOKENS = "Assumed tokens per reply, until replies are stored."


@options.command
def estimate(
    *,
    path: Annotated[Path, argument("CONFIG.toml", kind=options.EXISTING_FILE)],
    assume_aspects: Annotated[int, number("--assume-aspects N", "Aspects per summary, until some are known.")] = 8,
    assume_tokens: Annotated[int, setting("assume-tokens", _TOKENS, WholeNumber(1))] = 400,
    sample: Annotated[int, number("--sample N", "Drafts to look at for each step.")] = 200,
    requests_per_minute: Annotated[
        float, setting("requests-per-minute", "Most requests per minute.", Finite(0, min_open=True))
    ] = 500,
    prices: options.Prices,
    as_json: options.AsJson,
    progress_style: options.ProgressStyle,
) -> None:
    """Estimate what the rest of a construction costs.

    Nothing is sent. Run a pilot first, with 'construct run CONFIG.toml --limit 20':
    its stored replies give the lengths of prompts and replies, the number of
    aspects per summary and the share of dropped drafts. Without a pilot, these are
    assumed.

    \b
    Example: evidencebench construct estimate construction.toml
    """
    config = read_config(path)
    table = PriceTable.load(prices)
    assumed = Assumptions(aspects=assume_aspects, completion_tokens=assume_tokens, n_sample=sample)
    with progress("estimating", progress_style) as shown:
        if not input_of(steps_of(config)[0], config.work).is_file():
            harvest_inputs(config, on_progress=shown)
        steps, unreadable = estimate_construction(
            config, prices=table, cache=open_cache(), assumptions=assumed, on_progress=shown
        )

    def priced(uses: Uses) -> dict[str, Any]:
        return _priced(uses, table, requests_per_minute)

    left, used = (joined(getattr(step, name) for step in steps) for name in ("uses", "used"))
    day, interval = table.dated(left), _interval(steps, table)
    if as_json:
        print_json(
            {
                "prices_as_of": day,
                "requests_per_minute": requests_per_minute,
                "steps": [
                    {
                        "step": step.step,
                        "n_drafts": step.n_drafts,
                        "n_pilot": step.n_pilot,
                        "factor": None if step.factor is None else min(step.factor, MOST_FACTOR),
                        "left": priced(step.uses),
                        "used": priced(step.used),
                        "models": [{"model": model, **priced({model: use})} for model, use in step.uses.items()],
                    }
                    for step in steps
                ],
                "left": {**priced(left), "cost_interval_usd": interval},
                "used": priced(used),
                "unreadable": unreadable,
            }
        )
        return
    print_failures(unreadable)
    rows: list[list[Cell]] = [
        [step.step, step.n_drafts, *_cells(priced(step.uses)), _range(_interval([step], table))] for step in steps
    ]
    rows.append(["all", None, *_cells(priced(left)), _range(interval)])
    columns = ["step", "drafts", "requests", "prompt", "reply", "hours", "cost", "between"]
    print_table(Table(columns=columns, rows=rows))
    if used:
        spent = priced(used)
        cost = "of unknown price" if spent["cost_usd"] is None else shown_usd(spent["cost_usd"])
        print_prose(f"So far: {counted(spent['requests'], 'reply', 'replies')} stored, {cost}.")
    if left:
        batches = priced(left)["cost_in_batches_usd"]
        in_batches = "unknown" if batches is None else shown_usd(batches)
        notes = [
            *_notes(steps, assumed),
            f"In batches, which take up to a day each: {in_batches}.",
            f"Hours at {requests_per_minute:g} requests a minute (--set requests-per-minute=N).",
            f"Prices as of {day}: check them (--set prices=FILE). Nothing was sent.",
        ]
        print_prose(" ".join(notes))


def _priced(uses: Uses, prices: PriceTable, per_minute: float) -> dict[str, Any]:
    """Return the figures of what models are asked; a cost is None where a price is not known."""
    total = sum(uses.values(), ModelUse())

    def cost(*, batch: bool = False) -> float | None:
        costs = [use.cost_usd(model, prices, batch=batch) for model, use in uses.items()]
        known = [usd for usd in costs if usd is not None]
        return sum(known) if len(known) == len(costs) else None

    return {
        "requests": round(total.requests),
        "prompt_tokens": round(total.prompt_tokens),
        "reply_tokens": round(total.reply_tokens),
        "hours": total.requests / per_minute / _HOUR_MINUTES,
        "cost_usd": cost(),
        "cost_in_batches_usd": cost(batch=True),
    }


def _cells(figures: dict[str, Any]) -> list[Cell]:
    tokens = (_short(figures[name]) for name in ("prompt_tokens", "reply_tokens"))
    cost = "unknown" if figures["cost_usd"] is None else shown_usd(figures["cost_usd"])
    return [figures["requests"], *tokens, f"{figures['hours']:.1f}", cost]


MOST_FACTOR = 100.0  # a wider interval says nothing


def _interval(steps: Sequence[StepEstimate], prices: PriceTable) -> tuple[float, float] | None:
    """Return what the steps cost with 95 %, as if all erred to the same side; None where that is not known."""
    ends = [0.0, 0.0]
    for step in steps:
        costs = [use.cost_usd(model, prices) for model, use in step.uses.items()]
        known = [cost for cost in costs if cost is not None]
        if len(known) < len(costs) or (known and (step.factor is None or step.factor > MOST_FACTOR)):
            return None
        ends[0] += sum(known) / (step.factor or 1)
        ends[1] += sum(known) * (step.factor or 1)
    return (ends[0], ends[1]) if ends[1] else None


def _range(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{shown_usd(interval[0])} - {shown_usd(interval[1]).removeprefix('$')}"


def _short(tokens: int) -> str:
    for size, mark in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if tokens >= size:
            return f"{tokens / size:.3g} {mark}"
    return f"{tokens}"


def _notes(steps: Sequence[StepEstimate], assumed: Assumptions) -> Iterator[str]:
    guessed = [step.step for step in steps if step.n_drafts and not step.n_pilot]
    if n_pilot := max(step.n_pilot for step in steps):
        yield f"Corrected by {counted(n_pilot, 'draft')} whose replies are stored. Between: a 95 % interval."
    if guessed:
        yield (
            f"Assumed for {', '.join(guessed)}: {assumed.aspects} aspects a summary (--assume-aspects), replies of "
            f"{assumed.completion_tokens} tokens (--set assume-tokens=N), no draft dropped. A pilot measures these: "
            "'construct run CONFIG.toml --limit 20'."
        )
    if "recheck" in guessed:
        yield "How often doubtful sentences are asked again is unknown without a pilot, and not included."
