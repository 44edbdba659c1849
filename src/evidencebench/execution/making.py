"""Systems from specifications: find the code of a name, make its options from text, and describe them in a header."""

import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, cast, get_args, get_origin, get_type_hints

import msgspec

from evidencebench.decoding import prepared
from evidencebench.errors import EvidenceBenchError, SystemSpecError
from evidencebench.execution.answers import (
    AnySystem,
    check_parameters,
    is_function,
    named_system,
    takes_query_and_task,
    with_named_parts,
)
from evidencebench.execution.own_code import find_own_code, is_file, trace_of
from evidencebench.execution.system_table import PACKAGED, SYSTEMS, TAKEN_AWAY, plugin_named, plugins
from evidencebench.models.llm.client import ChatClient
from evidencebench.specification import MAX_DEPTH, elements, parse_specification, unbracketed
from evidencebench.system import KNOWING_SYSTEMS, NamedSystem, System, traits_of
from evidencebench.wording import check_type, did_you_mean, or_one_of

Factory = Callable[..., Any]


class Code(NamedTuple):
    """What makes a system; its module, if the system is not of this package, and the package of a plug-in."""

    factory: Factory
    module: ModuleType | None = None
    package: str | None = None


def find_code(name: str) -> Code:
    if name in PACKAGED:
        return Code(SYSTEMS[name])
    if plugin := plugin_named(name):
        return Code(*plugin.load(), plugin.package)
    if name in TAKEN_AWAY:
        raise SystemSpecError(TAKEN_AWAY[name])
    place, colon, attribute = name.rpartition(":")
    if not colon and is_file(name):
        raise SystemSpecError(f"file '{name}': expected the class or function in it behind a colon, as in {name}:Name")
    if not colon:
        raise SystemSpecError(f"no system '{name}'{_instead(name)}{''.join(f'; {text}' for text in plugins().torn)}")
    if place in SYSTEMS:
        raise SystemSpecError(f"system '{place}': expected option=value, got '{attribute}'")
    return Code(*find_own_code(name))


def _instead(name: str) -> str:
    if Path(name).exists():
        return ": it is a file or folder; expected a system, such as bm25, or your own, file.py:name"
    return or_one_of(name, SYSTEMS, "evidencebench systems", "your own, file.py:name or package.module:name")


class Option(NamedTuple):
    """An option: its type, its default (`MISSING`: none), and the field that groups it, such as ``chat``."""

    type: Any
    default: Any
    group: str | None = None


def options_of(factory: Factory) -> dict[str, Option]:
    """Return option name -> option: the fields of a dataclass, and of dataclasses in it; a `ChatClient` is none."""
    if not (isinstance(factory, type) and is_dataclass(factory)):
        try:
            hints = get_type_hints(getattr(factory, "__init__", None) if isinstance(factory, type) else factory)
        except (TypeError, NameError):  # no annotations: a partial or a built-in
            return {}
        return {name: Option(hint, None) for name, hint in hints.items() if name != "return"}
    options: dict[str, Option] = {}
    clients, hints = _client_fields(factory), get_type_hints(factory)
    for holder in fields(factory):
        kind = hints[holder.name]
        if not holder.init or holder.name in clients:
            continue
        is_group = is_dataclass(kind) and kind is not NamedSystem
        hints_within = get_type_hints(kind) if is_group else hints
        for field in fields(kind) if is_group else (holder,):
            hint = hints_within[field.name]
            default = field.default_factory() if field.default_factory is not MISSING else field.default
            options[field.name] = Option(hint, default, holder.name if is_group else None)
    return options


def _client_fields(factory: Factory) -> list[str]:
    if not (isinstance(factory, type) and is_dataclass(factory)):
        return []
    hints = get_type_hints(factory)
    return [
        field.name
        for field in fields(factory)
        if field.init and (hints[field.name] is ChatClient or ChatClient in get_args(hints[field.name]))
    ]


def require_options(name: str, factory: Factory, options: Collection[str]) -> None:
    """Raise `SystemSpecError` if a dataclass has no option of such a name; other factories are not checked."""
    known = options_of(factory) if is_dataclass(factory) else dict.fromkeys(options)
    if options and not known:
        raise SystemSpecError(f"system '{name}': takes no options, got {', '.join(options)}")
    for key in options:
        if key not in known:
            meant = did_you_mean(key, known)
            raise SystemSpecError(f"system '{name}': no option '{key}'{meant}; it takes {', '.join(known)}")


def make_options(
    name: str,
    factory: Factory,
    texts: Mapping[str, str],
    make: Callable[[str], NamedSystem] = lambda spec: _make(spec, None, None, 1),
) -> dict[str, Any]:
    """Return a factory's arguments, made from text by the types of its fields; ``make`` makes nested systems."""
    require_options(name, factory, texts)
    known = options_of(factory)
    arguments: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}
    for key, text in texts.items():
        option = known.get(key)
        try:
            value = _scalar(unbracketed(text)) if option is None else _value(option.type, text, make)
        except SystemSpecError as error:
            raise SystemSpecError(f"system '{name}': option '{key}': {error}").at(error.trace) from error
        group = option and option.group
        (arguments if group is None else groups.setdefault(group, {}))[key] = value
    for group, parts in groups.items():
        arguments[group] = get_type_hints(factory)[group](**parts)
    return arguments


def _value(hint: Any, text: str, make: Callable[[str], NamedSystem]) -> Any:
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return tuple(_value(get_args(hint)[0], f"[{element}]", make) for element in elements(text))
    inner = unbracketed(text)
    if hint is NamedSystem or NamedSystem in get_args(hint):
        return make(inner)
    try:
        value = msgspec.convert(inner, type=prepared(hint), strict=False, dec_hook=_path)
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
    if is_dataclass(system):
        given = {
            name: getattr(system if option.group is None else getattr(system, option.group), name)
            for name, option in options_of(type(system)).items()
        }
    return {name: _plain(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, NamedSystem):
        return {"name": value.name, "options": dict(value.options)}
    if isinstance(value, tuple):
        return [_plain(element) for element in value]
    return msgspec.to_builtins(value, enc_hook=str)


def make_system(spec: str, *, seed: int | None = None, client: ChatClient | None = None) -> NamedSystem:
    """Return the system that a specification names.

    Parameters
    ----------
    spec
        ``name`` or ``name:option=value,option=value``. The name is one of `SYSTEMS`, which installed packages may add
        to, or for your own code ``file.py:name`` or ``package.module:name``: a function of query and task, or what
        takes the options and returns a system. A value in square brackets may hold commas, such as another
        specification; see `evidencebench.specification`.
    seed
        The option ``seed`` of every system that has one, nested systems included, unless the specification sets it.
    client
        Given to every system, nested ones included, that asks language models; None: they share one with the default
        limits.

    Raises
    ------
    SystemSpecError
        If there is no such system, no such option, or the value is of another type; the message lists what would fit.
    MissingExtraError
        If the system needs an optional dependency that is not installed.
    ModelError
        If the system's model is missing.

    Examples
    --------
    >>> make_system("bm25:k1=1.2").options
    {'k1': 1.2, 'b': 0.4, 'stopwords': True}
    """
    check_type(spec, str, "a specification, such as 'bm25:k1=1.2'; an object is a system as it is")
    return _make(spec, seed, client, depth=0)


def system_from(given: str | AnySystem, *, seed: int | None = None, client: ChatClient | None = None) -> NamedSystem:
    if isinstance(given, str):
        return make_system(given, seed=seed, client=client)
    if isinstance(given, NamedSystem) or inspect.isroutine(given):
        return named_system(given)
    if is_function(given):
        raise TypeError(
            f"system: expected a function made by def or lambda, got {type(given).__name__}; make it a frozen "
            "dataclass with a method rank(query, task), whose fields, its options, stand in the run's header"
        )
    named = named_system(with_named_parts(cast("System", given), system_from))
    kind: Any = type(given)
    known: dict[Any, str] = {SYSTEMS[name]: name for name in reversed(PACKAGED)}
    module = None if kind in known else sys.modules[kind.__module__]
    name = known.get(kind, f"{kind.__module__}:{kind.__qualname__}")
    options = all_options(named.system, {} if is_dataclass(given) else _attributes(given))
    return replace(named, name=name, options=options, module=module)


def _attributes(system: object) -> dict[str, Any]:
    """Return a digest of the attributes of an object that is no dataclass: they may hold a key, so none is written."""
    values = getattr(system, "__dict__", {})
    plain = str | int | float | bool | None
    told = {name: value if isinstance(value, plain) else type(value).__qualname__ for name, value in values.items()}
    digest = hashlib.sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()
    return {"attributes": f"sha256:{digest}"} if told else {}


def _make(spec: str, seed: int | None, client: ChatClient | None, depth: int) -> NamedSystem:
    if depth > MAX_DEPTH:
        raise SystemSpecError(f"systems are nested more than {MAX_DEPTH} deep")
    specification = parse_specification(spec)
    name, texts = specification.name, dict(specification.options)
    factory, module, package = find_code(name)
    known = options_of(factory)
    if seed is not None and "seed" in known:
        texts.setdefault("seed", str(seed))
    require_options(name, factory, texts)  # comes first: a misspelt option explains a missing one
    if missing := {key: option for key, option in known.items() if option.default is MISSING and key not in texts}:
        raise SystemSpecError(_describe_missing(name, missing))
    if not texts and takes_query_and_task(factory):
        return replace(named_system(factory), name=name, module=module, package=package)
    if module is not None and (needed := _needed_parameters(factory, texts)):
        raise SystemSpecError(_describe_needed(name, factory, needed))
    try:
        arguments = make_options(name, factory, texts, lambda inner: _make(inner, seed, client, depth + 1))
        clients = {} if client is None else dict.fromkeys(_client_fields(factory), client)
        system = factory(**arguments, **clients)
        _require_answering(system, spec, name)
        options = all_options(system, arguments)
        named = NamedSystem(name=name, options=options, system=system, module=module, package=package)
    except EvidenceBenchError:
        raise
    except Exception as error:  # own code may raise anything
        trace = None if name in PACKAGED else trace_of(error, {__file__, traits_of.__code__.co_filename})
        raise SystemSpecError(f"system '{spec}': {type(error).__name__}: {error}").at(trace) from error
    if named.knows_labels and name not in KNOWING_SYSTEMS:
        raise SystemSpecError(f"system '{spec}': own code is not given the labels; take knows_labels out of its traits")
    if named.knows_labels and depth:
        raise SystemSpecError(f"system '{name}' is given the labels, so no other system may ask it")
    return named


def _needed_parameters(factory: Factory, given: Collection[str]) -> list[str]:
    """Return the parameters of own code, but a dataclass, that have no default and are not given as options."""
    if is_dataclass(factory):
        return []
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (ValueError, TypeError):  # of a built-in
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [one for one in parameters if one.default is inspect.Parameter.empty and one.kind not in variable]
    return [one.name for one in required if one.name not in given]


def _describe_needed(name: str, factory: Factory, needed: Sequence[str]) -> str:
    if inspect.isfunction(factory) and needed[0].startswith("q"):
        has = f"{factory.__name__}({', '.join(needed)})"
        return f"system '{name}': expected two parameters, query and task, got {has}"
    options = ",".join(f"{parameter}=..." for parameter in needed)
    return f"system '{name}': needs {' and '.join(map(repr, needed))}; write {name}:{options}"


def _require_answering(system: object, spec: str, name: str) -> None:
    if not (hasattr(system, "rank") or name in KNOWING_SYSTEMS):
        got = repr(system) if isinstance(system, str) else type(system).__name__
        raise SystemSpecError(f"system '{spec}': expected an object with a method rank(query, task), got {got}")
    if name not in PACKAGED and hasattr(system, "rank"):
        try:
            check_parameters(system.rank)
        except TypeError as error:
            raise SystemSpecError(f"system '{spec}': {error}") from error


def _describe_missing(name: str, missing: Mapping[str, Option]) -> str:
    needed = " and ".join(f"'{key}'" for key in missing)
    examples = {
        key: "PROVIDER/NAME" if (key, option.group) == ("model", "chat") else "..." for key, option in missing.items()
    }
    written = ",".join(f"{key}={value}" for key, value in examples.items())
    return f"system '{name}': needs {needed}; write {name}:{written}, and see all options with 'evidencebench systems'"


def asks_model(spec: str) -> bool:
    """Whether the system of a specification, or one that it asks, has a `ChatClient`, which keeps the cost limit."""
    specification = parse_specification(spec)
    factory = find_code(specification.name).factory
    nested: list[str] = []
    for key, option in options_of(factory).items():
        text = specification.options.get(key)
        if text is not None and NamedSystem in (option.type, *get_args(option.type)):
            nested += elements(text) if get_origin(option.type) is tuple else [unbracketed(text)]
    return bool(_client_fields(factory)) or any(map(asks_model, nested))
