"""Log probabilities of the numbers in a reply, and scores that are weighed by them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from math import exp
from typing import Any

import msgspec

from evidencebench.models.llm.chat import ChatModel, ChatReply
from evidencebench.models.llm.providers import PROVIDERS

_MOST_ALTERNATIVES = 20  # of a token, that OpenAI and vLLM give


class _Token(msgspec.Struct):
    token: str
    logprob: float
    top_logprobs: "list[_Token]" = []  # what else might stand there


def with_logprobs(chat: ChatModel) -> ChatModel:
    """Return the model as it is asked for log probabilities too, where its server speaks of chat completions."""
    row = PROVIDERS.get(chat.model.partition("/")[0])
    if row is None or row.wire != "openai":
        return chat
    fields = {"logprobs": True, "top_logprobs": _MOST_ALTERNATIVES} | (chat.extra_fields() or {})
    return replace(chat, extra_body=msgspec.json.encode(fields).decode())


def numbers_in(served: Any, text: str) -> dict[int, dict[int, float]]:
    """Return where each number in a reply's text stands -> the numbers that might stand there -> log probability.

    Numbers are scores, each one token. Empty where the server gave nothing, or the tokens are not the text.
    """
    found, place = dict[int, dict[int, float]](), 0
    try:
        tokens = msgspec.convert(served.get("content") if isinstance(served, dict) else [], list[_Token])
    except msgspec.ValidationError:
        tokens = []
    for token in tokens if "".join(token.token for token in tokens) == text else ():
        if _is_score(token.token):
            start = place + len(token.token) - len(token.token.lstrip())
            alternatives = (token, *token.top_logprobs)
            found[start] = {
                int(other.token): min(0.0, other.logprob) for other in alternatives if _is_score(other.token)
            }
        place += len(token.token)
    return found


def _is_score(token: str) -> bool:
    return re.fullmatch(r"\s*(?:10|\d)", token, re.ASCII) is not None


def weighed_scores(scores: Mapping[int, float], reply: ChatReply) -> Mapping[int, float]:
    """Return each sentence's score as the mean of what might stand in its place, by their probabilities.

    A score that is no token of its own stays as it is. Source: the probabilities of scores as weights, Liu et al.,
    "G-Eval", EMNLP 2023.
    """
    if not reply.numbers:
        return scores
    weighed = dict(scores)
    for index, score in scores.items():
        written = rf'(?:^\W*{index}\W+|"sentence":\s*{index},\s*"score":\s*)({score:g})(?![\d.])'
        places = [match.start(1) for match in re.finditer(written, reply.text, re.MULTILINE)]
        if places and (alternatives := reply.numbers.get(places[-1])):
            best = max(alternatives.values())  # so that the largest weight is 1
            weights = {number: exp(logprob - best) for number, logprob in alternatives.items()}
            weighed[index] = sum(number * weight for number, weight in weights.items()) / sum(weights.values())
    return weighed
