"""The options of a system: list them, convert their text to arguments, and write them for a run's header."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from evidencebench.errors import SystemSpecError
from evidencebench.models.llm.client import ChatClient
from evidencebench.specification import elements, unbracketed
from evidencebench.system import NamedSystem
from evidencebench.wording import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option: its type, its default (`MISSING`: none), and the field that groups it, such as ``chat``."""

    type: Any
    default: Any
    group: str | None = None


def options_of(factory: Callable[..., Any]) -> dict[str, Option]:
    """Return option name -> option: the fields of a dataclass, and of dataclasses in it; a `ChatClient` is none."""
    if not (isinstance(factory, type) and is_dataclass(factory)):
        try:
            hints = get_type_hints(getattr(factory, "__init__", None) if isinstance(factory, type) else factory)
        except (TypeError, NameError):  # no annotations: a partial or a built-in
            return {}
        return {name: Option(type=hint, default=None) for name, hint in hints.items() if name != "return"}
    options: dict[str, Option] = {}
    hints = get_type_hints(factory)
    for field in fields(factory):
        hint = hints[field.name]
        if not field.init or is_client(hint):
            continue
        if is_dataclass(hint) and hint is not NamedSystem:
            types = get_type_hints(hint)
            for part in fields(hint):
                options[part.name] = Option(type=types[part.name], default=_default(part), group=field.name)
        else:
            options[field.name] = Option(type=hint, default=_default(field))
    return options


def _default(field: "Field[Any]") -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def is_client(hint: Any) -> bool:
    """Return whether a field's type is `ChatClient`, or a union with it."""
    return hint is ChatClient or ChatClient in get_args(hint)


def group_options(factory: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return option values as the factory's arguments: the options of a group become one object."""
    arguments: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}
    known = options_of(factory)
    for key, value in values.items():
        group = known[key].group if key in known else None
        (arguments if group is None else groups.setdefault(group, {}))[key] = value
    for group, parts in groups.items():
        arguments[group] = get_type_hints(factory)[group](**parts)
    return arguments


def convert_options(
    name: str, factory: Callable[..., Any], options: Mapping[str, str], make: Callable[[str], NamedSystem]
) -> dict[str, Any]:
    """Return option name -> value, made from its text; ``make`` makes nested systems. Raises `SystemSpecError`."""
    known = options_of(factory)
    values: dict[str, Any] = {}
    for key, text in options.items():
        try:
            values[key] = _value(known[key].type, text, make) if key in known else _scalar(unbracketed(text))
        except SystemSpecError as error:
            raise SystemSpecError(f"system '{name}': option '{key}': {error}").at(error.trace) from error
    return values


def require_options(name: str, factory: Callable[..., Any], options: Collection[str]) -> None:
    """Raise `SystemSpecError` if a dataclass has no option of such a name; other factories are not checked."""
    if not is_dataclass(factory):
        return
    known = options_of(factory)
    if options and not known:
        raise SystemSpecError(f"system '{name}': takes no options, got {', '.join(options)}")
    for key in options:
        if key not in known:
            meant = did_you_mean(key, known)
            raise SystemSpecError(f"system '{name}': no option '{key}'{meant}; it takes {', '.join(known)}")


def nested_specifications(option: Option, text: str) -> tuple[str, ...]:
    """Return the specifications of the systems in an option's text; empty if the option holds no system."""
    if get_origin(option.type) is tuple and NamedSystem in get_args(option.type):
        return elements(text)
    is_system = option.type is NamedSystem or NamedSystem in get_args(option.type)
    return (unbracketed(text),) if is_system else ()


def _value(hint: Any, text: str, make: Callable[[str], NamedSystem]) -> Any:
    """Return an option's value, made from its text by the annotated type."""
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return tuple(_value(get_args(hint)[0], f"[{element}]", make) for element in elements(text))
    inner = unbracketed(text)
    if hint is NamedSystem or NamedSystem in get_args(hint):
        return make(inner)
    try:
        value = msgspec.convert(inner, type=hint, strict=False, dec_hook=_path)
    except msgspec.ValidationError as error:
        if get_origin(hint) is Literal:
            known = ", ".join(map(str, get_args(hint)))
            meant = did_you_mean(inner, map(str, get_args(hint)))
            raise SystemSpecError(f"expected one of {known}, got '{inner}'{meant}") from error
        raise SystemSpecError(f"{_in_words(str(error).partition(', got')[0])}, got '{inner}'") from error
    if isinstance(value, float) and not isfinite(value):
        raise SystemSpecError(f"expected a finite number, got '{inner}'")
    return value


_TYPES = {"float": "a number", "int": "a whole number", "bool": "true or false", "str": "text", "Path": "a path"}
_TYPE_NAMES = re.compile(r"^Expected `([^`]*)`")


def _in_words(expected: str) -> str:
    """Return msgspec's message with types in words: "expected a number" for "Expected `float`"."""
    named = _TYPE_NAMES.match(expected)
    if named is None:
        return expected
    words = " or ".join(_TYPES.get(name, name) for name in named[1].split(" | "))
    return f"expected {words}{expected[named.end() :]}"


def _path(hint: type, text: str) -> Path:
    if hint is Path and text:
        return Path(text)
    raise ValueError(f"Expected `{hint.__name__}`, got `str`")


def _scalar(text: str) -> Any:
    """Return the value of the JSON text of a number, true, false or null; any other text unchanged."""
    try:
        return msgspec.json.decode(text, type=int | float | bool | None)
    except msgspec.DecodeError:
        return text


def all_options(system: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options as JSON values for a run's header; a value that JSON does not have becomes its text."""
    if not is_dataclass(system):
        return {key: _plain(value) for key, value in given.items()}
    return {
        name: _plain(getattr(system if option.group is None else getattr(system, option.group), name))
        for name, option in options_of(type(system)).items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, NamedSystem):
        return {"name": value.name, "options": dict(value.options)}
    if isinstance(value, tuple):
        return [_plain(element) for element in value]
    return msgspec.to_builtins(value, enc_hook=str)
