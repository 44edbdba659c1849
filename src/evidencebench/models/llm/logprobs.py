"""Log probabilities of the scores in a reply, and scores that are weighed by them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from math import exp
from typing import Any

import msgspec

from evidencebench.decoding import prepared
from evidencebench.models.llm.chat import ChatModel, ChatReply
from evidencebench.models.llm.providers import PROVIDERS

_MOST_ALTERNATIVES = 20  # of a token, that OpenAI and vLLM give
_SCORE = re.compile(r"\s*(?:10|\d)", re.ASCII)


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


def expected_scores(served: Any, text: str) -> tuple[tuple[int, float], ...]:
    """Return where each score in a reply's text stands, and the mean of what might stand there, by probability.

    A score is one token. Empty where the server gave nothing, or the tokens are not the text. Source: Liu et al.,
    "G-Eval", EMNLP 2023.
    """
    try:
        tokens = msgspec.convert(served.get("content") if isinstance(served, dict) else [], prepared(list[_Token]))
    except msgspec.ValidationError:
        return ()
    expected, place = list[tuple[int, float]](), 0
    for token in tokens if "".join(token.token for token in tokens) == text else ():
        if _SCORE.fullmatch(token.token):
            alternatives = [other for other in (token, *token.top_logprobs) if _SCORE.fullmatch(other.token)]
            best = max(other.logprob for other in alternatives)  # so that the largest weight is 1
            weights = {int(other.token): exp(other.logprob - best) for other in alternatives}
            mean = sum(score * weight for score, weight in weights.items()) / sum(weights.values())
            expected.append((place + len(token.token) - len(token.token.lstrip()), mean))
        place += len(token.token)
    return tuple(expected)


def weighed_scores(scores: Mapping[int, float], reply: ChatReply) -> Mapping[int, float]:
    """Return each sentence's score as it is expected where it is written; one that is no token stays as it is."""
    weighed, expected = dict(scores), dict(reply.expected_scores)
    for index, score in scores.items() if expected else ():
        written = rf'(?:^\W*{index}\W+|"sentence":\s*{index},\s*"score":\s*)({score:g})(?![\d.])'
        places = [match.start(1) for match in re.finditer(written, reply.text, re.MULTILINE)]
        weighed[index] = expected.get(places[-1], score) if places else score
    return weighed
