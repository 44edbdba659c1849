"""What a right embeddings server answers, and how a test changes that."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from kit.hostile_server import Behaviour, Exchange, answer


def vector_of(text: str, dimension: int = 4) -> list[float]:
    drawn = np.random.default_rng(sum(text.encode())).normal(size=dimension)
    return [float(number) for number in drawn.astype(np.float32)]


def reply(texts: list[str], dimension: int = 4) -> dict[str, Any]:
    return {"data": [{"index": at, "embedding": vector_of(text, dimension)} for at, text in enumerate(texts)]}


def embeddings(change: Callable[[dict[str, Any]], object] = lambda _: None, *, dimension: int = 4) -> Behaviour:
    """Answer as a right server does, then let the reply be changed."""

    def behave(exchange: Exchange) -> None:
        found = reply(json.loads(exchange.asked.body)["input"], dimension)
        change(found)
        answer(200, json.dumps(found).encode())(exchange)

    return behave


def put(value: object, *place: object) -> Callable[[dict[str, Any]], None]:
    def change(found: Any) -> None:
        for key in place[:-1]:
            found = found[key]
        found[place[-1]] = value

    return change
