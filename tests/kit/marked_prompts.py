"""Prompts that hold the marks by which the server for trials reads them, and hardly anything else."""

from collections.abc import Iterable, Mapping
from typing import Any

from doors import AspectScope
from evidencebench import Query

SELECT, SCORE, ORDER = "Select", "Please score every sentence.", "Now order every sentence."
_ESCAPED = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"


def prompt(
    query: Query,
    *,
    budget: int | None = 4,
    mode: str = SELECT,
    scope: AspectScope = "all",
    shown: Iterable[int] | None = None,
    hypothesis: str | None = None,
) -> str:
    """Return a prompt that shows sentences of a query and asks for something."""
    numbers = range(len(query.sentences)) if shown is None else shown
    how_many = "as many sentences as needed" if budget is None else f"at most {budget} sentences"
    return "\n".join(
        [
            mode if mode != SELECT else f"{mode} {how_many}.",
            "Outcomes and analyses only." if scope == "results" else "",
            f"Hypothesis: {hypothesis or query.hypothesis}",
            "<paper>",
            *(f"[{number}] {on_one_line(query.sentences[number])}" for number in numbers),
            "</paper>",
            "Reply.",
        ]
    )


def on_one_line(sentence: str) -> str:
    """Return a sentence as prompts show it."""
    one_line = " ".join(sentence.split())
    return one_line.replace("<paper", f"{_ESCAPED}paper").replace("</paper", f"{_ESCAPED}/paper")


def openai_body(*texts: str, **fields: Any) -> dict[str, Any]:
    """Return the body of a chat completion; the texts are turns of user and model in turn."""
    return {"model": "fake", "messages": messages(*texts), **fields}


def messages(*texts: str) -> list[Mapping[str, str]]:
    """Return turns of user and model in turn."""
    return [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)]
