"""Objects in a model's reply: found, and brought to the form that was asked for where they can mean it alone."""

import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from evidencebench.decoding import prepared
from evidencebench.models.llm.chat import ChatReply, fault_of_end
from evidencebench.models.llm.grammar import by_comparable_key, json_at, visible_text
from evidencebench.models.llm.grammar_lists import MARKS, ShownSentences, read_numbers, refuses, says_none

_MOST_PLACES = 200  # braces of a reply that are tried as the beginning of its object
_MOST_CHARACTERS = 200_000  # of a reply, from its end, that are looked at
_OBJECT_BEGINS = re.compile(r"\{\s*(?:[\"'/#]|\w+\s*:)")  # {"keeps", {'keeps', {keeps:, {// it does; but not {any}
_FENCED_LIST = re.compile(r"\s*(?:```\w*\s*)?(\[.*\])\s*(?:```)?\s*", re.DOTALL)
_NUMBER = re.compile(r"[\W_]*?(?:(?:sentence|aspect|number|no|s)[\W_]*?)?(-?\d{1,9})(?:\.0+)?[^\w-]*", re.IGNORECASE)
_YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_OPPOSITE = re.compile(r"[\W_]*(?:no|un|in(?!clu|d)|exclu|reject|other|omit|drop|ir)", re.IGNORECASE)
_THOUGHTS = frozenset(("reasoning", "thinking", "thought", "thoughts", "explanation", "rationale", "why", "notes"))

Kind = TypeVar("Kind", bound=msgspec.Struct)


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raise where a key occurs twice with two values, which means one or the other."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise ValueError(f"the key {key} occurs twice")
        found[key] = value
    return found


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=without_repeats)


def is_refusal(reply: ChatReply) -> bool:
    """Whether the provider withheld a reply, or its words decline to answer and it holds no object."""
    return reply.finish == "refused" or ("{" not in reply.text and refuses(_visible(reply)))


def _visible(reply: ChatReply) -> str:
    return visible_text(reply.text[-_MOST_CHARACTERS:], ShownSentences({}))


def read_object(reply: ChatReply, kind: type[Kind]) -> Kind | str:
    r"""Return the last object of a kind in a reply, or why there is none; no reply makes it raise.

    A comma too many is forgiven. Another object that is malformed takes back those before it, and those within it: only
    one that begins a later line counts then. Values in another form are brought to it where they mean one thing only.

    >>> class Kept(msgspec.Struct):
    ...     keeps: bool
    >>> read_object(ChatReply(text='{"keeps": false}? It does.\n```json\n{"Keeps it": "yes",}\n```'), Kept)
    Kept(keeps=True)
    >>> read_object(ChatReply(text='{"keeps": false}? It does: {"keeps": true'), Kept)
    'its JSON object is malformed'
    """
    fault = fault_of_end(reply.finish, reply.text)
    if fault and reply.finish != "other":  # a server that gives no reason, or one of its own: a whole object will do
        return fault
    text = _visible(reply)
    result: Kind | str = "the reply holds no JSON object"
    is_broken, end = False, 0
    starts = [index for index, letter in enumerate(text) if letter == "{"]
    alone = _FENCED_LIST.fullmatch(text)  # a list and nothing else may lack its wrapper
    for start in [alone.start(1)] if alone else starts[-_MOST_PLACES:]:
        if start < end:  # within the object before
            continue
        value = json_at(text, start, _DECODER)
        if value is None:
            if _OBJECT_BEGINS.match(text, start):
                result, is_broken = "its JSON object is malformed", True
            continue
        end = value[1]
        if is_broken and text[text.rfind("\n", 0, start) + 1 : start].strip(" \t`"):
            continue
        try:
            converted = msgspec.convert(brought(value[0], kind), prepared(kind))
            msgspec.json.encode(converted)  # no half of a character, which no file can hold
            result = converted
        except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
            if isinstance(result, str):
                result = f"its JSON object is of another form: {error}"
    return fault if fault and (isinstance(result, str) or text[end:].strip(MARKS + "\n")) else result


def brought(value: Any, kind: Any) -> Any:
    """Return a JSON value in the form of a type where it can mean one thing only, else as it is, to be refused.

    >>> brought({"1": "[3]"}, list[int]), brought(["sentence 3", {"id": 4}], list[int]), brought({"text": "Tea"}, str)
    ([3], [3, 4], 'Tea')
    """
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _as_struct(value, kind)
    if get_origin(kind) is list:
        return _as_list(value, get_args(kind)[0])
    if kind not in (int, bool, str):
        return value
    if isinstance(value, dict):
        told = [inner for key, inner in by_comparable_key(value).items() if key not in _THOUGHTS]
        if kind is str:  # {"id": 1, "text": "..."}
            told = [inner for inner in told if isinstance(inner, str)]
        value = told[0] if len(told) == 1 else value
    elif isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str | int) and kind is bool:
        return _YES_OR_NO.get(str(value).strip(MARKS + "\n").casefold(), value)
    if isinstance(value, str) and kind is int:
        number = _NUMBER.fullmatch(value)
        return int(number[1]) if number else value
    return value


def _as_struct(value: Any, kind: type[msgspec.Struct]) -> Any:
    fields = msgspec.structs.fields(kind)
    only = fields[0] if len(fields) == 1 else None
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0] if only is None or get_origin(only.type) is not list or only.name in value[0] else value
    if not isinstance(value, dict):  # without its wrapper
        return {only.name: brought(value, only.type)} if only and isinstance(value, list) else value
    made: dict[str, Any] = {}
    left = {key: inner for key, inner in value.items() if _letters(key) not in _THOUGHTS}
    for field in fields:
        key = field.name if field.name in left else _only(left, partial(_is_meant, name=field.name))
        if key is not None:
            made[field.name] = brought(left.pop(key), field.type)
    if not made and len(left) == 1:
        (inner,) = left.values()
        if isinstance(inner, dict) and (only is None or get_origin(only.type) is not list or not _numbered(inner)):
            return _as_struct(inner, kind)
        if only is not None and not any(map(_OPPOSITE.match, left)):  # whatever it is called
            return {only.name: brought(inner, only.type)}
    return made or value


def _as_list(value: Any, item: Any) -> Any:
    """Return a list: of one, of numbers in words, or of an object whose keys are the numbers of its items."""
    if isinstance(value, str) and item is int:
        numbers = read_numbers(value, 0, len(value))
        if says_none(value) or (numbers and not numbers.spans and not numbers.is_open):
            return []
        if numbers and not numbers.is_open and numbers.end == len(value.rstrip(" .")):
            value = [n for span in numbers.spans for n in _numbers_from(*span)]
    elif isinstance(value, dict) and isinstance(item, type) and issubclass(item, msgspec.Struct):
        value = _items_by_number(value, item)
    elif isinstance(value, dict) and item is str and _numbered(value):
        value = list(value.values())
    if value is None and item is int:  # null
        return []
    if isinstance(value, str | int | dict) and not (item is str and isinstance(value, dict) and len(value) > 1):
        value = [value]
    if not isinstance(value, list) or any(isinstance(inner, list) for inner in value):
        return value
    return [brought(inner, item) for inner in value]


def _numbers_from(first: int, last: int | None) -> Iterable[int | None]:
    return range(first, last + 1) if last is not None and first <= last < first + _MOST_PLACES else (first, last)


def _items_by_number(value: dict[str, Any], item: type[msgspec.Struct]) -> Any:
    number, *others = msgspec.structs.fields(item)
    if not _numbered(value) or number.type is not int:
        return value
    if len(others) == 1:
        value = {key: inner if isinstance(inner, dict) else {others[0].name: inner} for key, inner in value.items()}
    return [{**inner, number.name: key} if isinstance(inner, dict) else inner for key, inner in value.items()]


def _numbered(value: dict[str, Any]) -> bool:
    return bool(value) and all(_NUMBER.fullmatch(key) for key in value)


def _letters(key: str) -> str:
    return re.sub("[^a-z]+", "", key[:80].lower())


def _is_meant(key: str, name: str) -> bool:
    """Whether a key is the name in another form: "Hypothesis", "hypothesis_statement", "aspect_list"."""
    return _letters(name).removesuffix("s") in _letters(key) and not _OPPOSITE.match(key)


def _only(keys: dict[str, Any], is_meant: Callable[[str], bool]) -> str | None:
    meant = [key for key in keys if is_meant(key)]
    return meant[0] if len(meant) == 1 else None


def schema_of_object(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON schema of a reply, as providers that promise one want it: all keys required, no others."""
    (root,), parts = msgspec.json.schema_components((kind,), ref_template="#/$defs/{name}")
    whole = parts.pop(root["$ref"].rpartition("/")[2])
    for part in (whole, *parts.values()):
        part |= {"additionalProperties": False, "required": list(part["properties"])}
    whole["properties"] = {"reasoning": {"type": "string"}, **whole["properties"]}
    whole["required"] = list(whole["properties"])
    return {**whole, "$defs": parts} if parts else whole
