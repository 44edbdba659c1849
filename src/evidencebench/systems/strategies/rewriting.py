"""Hypotheses negated or paraphrased by a language model, to ask systems with."""

import re
from functools import partial
from typing import Any

import msgspec

from evidencebench.models.llm.chat import ChatReply, fault_of_end
from evidencebench.models.llm.parsing.text import ShownSentences
from evidencebench.models.llm.parsing.visible import visible_text
from evidencebench.systems.strategies.asking_again import ask_until_read
from evidencebench.systems.strategies.conversation import Asker
from evidencebench.systems.strategies.prompts import prompt_named

LONGEST = 2000
"""The most characters of a rewritten hypothesis: more is a reply that was misread."""

_LINE = re.compile(r"^[\s*_#>]{0,20}hypothesis[\s*_]{0,20}:[\s*_]{0,20}(\S.*)$", re.IGNORECASE | re.MULTILINE)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"hypothesis": {"type": "string"}},
    "required": ["hypothesis"],
    "additionalProperties": False,
}
_EXAMPLE = "the rewritten hypothesis"  # in the prompts' forms


class _Rewritten(msgspec.Struct):
    hypothesis: str


def rewrite(asker: Asker, hypothesis: str, how: str) -> str:
    """Return a hypothesis as a model rewrites it; ``how`` is ``negated`` or ``paraphrased``."""
    own = " ".join(hypothesis.split())
    form = prompt_named("hypothesis_json" if asker.chat.structured else "hypothesis_line").text
    other = f"In other words: {own}"
    read = ask_until_read(
        asker,
        prompt_named(f"rewrite_{how}").render(hypothesis=own, form=form),
        schema=_SCHEMA,
        stand_in=msgspec.json.encode(_Rewritten(other)).decode() if asker.chat.structured else f"HYPOTHESIS: {other}",
        read=partial(read_rewritten, own=own),
        again=lambda _: prompt_named("rewrite_again").render(form=form),
        what="rewritten hypothesis",
    )
    return read.answer


def read_rewritten(reply: ChatReply, own: str) -> tuple[str, str]:
    r"""Return the rewritten hypothesis of a reply, and why there is none; one of the two is empty.

    >>> read_rewritten(ChatReply(text="It lowers it.\n**Hypothesis:** Tea does not help."), "Tea helps.")
    ('Tea does not help.', '')
    """
    if fault := fault_of_end(reply.finish, reply.text):
        return "", fault
    text = visible_text(reply.text, ShownSentences({})).strip()
    try:
        found = msgspec.json.decode(text, type=_Rewritten).hypothesis
    except (msgspec.DecodeError, RecursionError):
        lines = _LINE.findall(text)
        found = lines[-1] if lines else ""
    found = " ".join(found.split()).strip("*_ ")
    if not found or found.casefold().strip("<>[]. ") == _EXAMPLE:
        return "", "the reply holds none"
    if len(found) > LONGEST:
        return "", f"it has {len(found):,} characters, more than {LONGEST:,}"
    if found.casefold() == own.casefold():
        return "", "it is the hypothesis itself"
    return found, ""
