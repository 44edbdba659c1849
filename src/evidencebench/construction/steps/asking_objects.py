"""Ask a model one question of a step, and read the JSON object that it answers with."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from evidencebench.construction.draft import ReplySource
from evidencebench.construction.prompts import step_prompt
from evidencebench.models.llm.chat import ChatReply, fault_of_end
from evidencebench.models.llm.parsing.json_answers import json_at
from evidencebench.models.llm.parsing.text import ShownSentences
from evidencebench.models.llm.parsing.visible import visible_text
from evidencebench.systems.strategies.asking_again import ask_until_read
from evidencebench.systems.strategies.conversation import Asker

FORM_PROMPTS = ("form_object", "again")
"""The names of the prompts that are parts of every such question."""

_MOST_PLACES = 200  # braces of a reply that are tried as the beginning of its object
_DECODER = json.JSONDecoder(strict=False)
_OBJECT_BEGINS = re.compile(r"\{\s*(?:[\"'/#]|\w+\s*:)")  # {"keeps", {'keeps', {keeps:, {// it does; but not {any}

Answered = TypeVar("Answered", bound=msgspec.Struct)


def ask_object(
    asker: Asker,
    prompt: str,
    fields: Mapping[str, str],
    *,
    example: Answered,
    stand_in: Answered,
    check: Callable[[Answered], str],
    what: str,
) -> tuple[Answered, ReplySource]:
    """Return the object that a model answers with, and the reply that it was read from.

    ``fields`` are those of the prompt but for ``form``, which shows the ``example``: a reply that repeats it must not
    pass the ``check``, which returns what is wrong with an object, in words for the model. ``stand_in`` is what
    estimates take for the reply. ``what`` is missing where no reply can be used, in messages. Raises as
    `ask_until_read`.
    """
    shown = {"reasoning": "your thinking", **msgspec.to_builtins(example)}
    form = step_prompt("form_object").render(example=json.dumps(shown, ensure_ascii=False))
    stand_in_text = msgspec.json.encode(stand_in).decode()
    kind = type(example)

    def read(reply: ChatReply) -> tuple[Answered, str]:
        if reply.text == stand_in_text:
            return stand_in, ""
        found = read_object(reply, kind)
        return (example, found) if isinstance(found, str) else (found, check(found))

    read_reply = ask_until_read(
        asker,
        step_prompt(prompt).render(**fields, form=form),
        schema=_schema_of(kind),
        stand_in=stand_in_text,
        read=read,
        again=lambda why: step_prompt("again").render(why=why, form=form),
        what=what,
    )
    source = ReplySource(prompt=step_prompt(prompt).digest, model=asker.chat.model, request=read_reply.request_key)
    return read_reply.answer, source


def read_object(reply: ChatReply, kind: type[Answered]) -> Answered | str:
    r"""Return the last object of a kind in a reply, or why there is none; no reply makes it raise.

    A comma too many is forgiven. Another object that is malformed takes back those before it, and those within it: only
    one that begins a later line counts then.

    >>> class Kept(msgspec.Struct):
    ...     keeps: bool
    >>> read_object(ChatReply(text='{"keeps": false}? It does.\n```json\n{"keeps": true,}\n```'), Kept)
    Kept(keeps=True)
    >>> read_object(ChatReply(text='{"keeps": false}? It does: {"keeps": true'), Kept)
    'its JSON object is malformed'
    """
    if fault := fault_of_end(reply.finish, reply.text):
        return fault
    text = visible_text(reply.text, ShownSentences({}))
    found: Answered | str = "the reply holds no JSON object"
    is_broken, end = False, 0
    starts = [place for place, letter in enumerate(text) if letter == "{"]
    for start in starts[-_MOST_PLACES:]:
        if start < end:  # within the object before
            continue
        value = json_at(text, start, _DECODER)
        if value is None:
            if _OBJECT_BEGINS.match(text, start):
                found, is_broken = "its JSON object is malformed", True
            continue
        end = value[1]
        if is_broken and text[text.rfind("\n", 0, start) + 1 : start].strip(" \t`"):
            continue
        one = _converted(value[0], kind)
        if isinstance(found, str) or not isinstance(one, str):
            found = one
    return found


def _converted(value: object, kind: type[Answered]) -> Answered | str:
    """Return an object of a kind, or why it is none."""
    try:
        converted = msgspec.convert(value, kind)
        msgspec.json.encode(converted)  # no half of a character, which no file can hold
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
        return f"its JSON object is of another form: {error}"
    return converted


def _schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON schema of a reply, as providers that promise one want it: all keys required, no others."""
    (root,), parts = msgspec.json.schema_components((kind,), ref_template="#/$defs/{name}")
    own = parts.pop(root["$ref"].rpartition("/")[2])
    for part in (own, *parts.values()):
        part |= {"additionalProperties": False, "required": list(part["properties"])}
    own["properties"] = {"reasoning": {"type": "string"}, **own["properties"]}
    own["required"] = list(own["properties"])
    return {**own, "$defs": parts} if parts else own
