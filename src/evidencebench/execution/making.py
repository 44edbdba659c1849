"""Make a named system from a specification or from an object; a run's header holds its name and options."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from types import ModuleType
from typing import Any, get_type_hints

from evidencebench.errors import EvidenceBenchError, SystemSpecError
from evidencebench.execution.answering import named_system, with_named_parts
from evidencebench.execution.options import (
    Option,
    all_options,
    convert_options,
    group_options,
    is_client,
    nested_specifications,
    options_of,
    require_options,
)
from evidencebench.execution.own_code import find_own_code, is_file, trace_of
from evidencebench.execution.system_table import PACKAGED, SYSTEMS, TAKEN_AWAY, plugin_named, plugins
from evidencebench.models.llm.client import ChatClient
from evidencebench.specification import MAX_DEPTH, parse_specification
from evidencebench.system import KNOWING_SYSTEMS, NamedSystem, System
from evidencebench.traits import traits_of
from evidencebench.wording import did_you_mean


def make_system(spec: str, *, seed: int | None = None, client: ChatClient | None = None) -> NamedSystem:
    """Return the system that a specification names.

    Parameters
    ----------
    spec
        ``name`` or ``name:option=value,option=value``. The name is one of `SYSTEMS`, which installed packages may add
        to, or for own code
        ``package.module:factory`` or ``file.py:factory``: a callable that takes the options and returns a system. A
        value in square brackets may hold commas, such as another specification; see `evidencebench.specification`.
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
    return _make(spec, seed, client, depth=0)


def system_from(
    given: str | NamedSystem | System, *, seed: int | None = None, client: ChatClient | None = None
) -> NamedSystem:
    """Return the system that a specification names, or an object with its name and options as in a run's header."""
    if isinstance(given, str):
        return make_system(given, seed=seed, client=client)
    if isinstance(given, NamedSystem):
        return given
    named = named_system(with_named_parts(given, system_from))
    kind = type(given)
    known = {SYSTEMS[name]: name for name in reversed(PACKAGED)}
    if not is_dataclass(given) and getattr(given, "__dict__", {}):
        raise TypeError(
            f"system: {kind.__name__} is no dataclass, so that its options cannot stand in a run's header; make it a "
            "frozen dataclass, whose fields are its options"
        )
    module = None if kind in known else sys.modules[kind.__module__]
    name = known.get(kind, f"{kind.__module__}:{kind.__qualname__}")
    return replace(named, name=name, options=all_options(named.system, {}), module=module)


def _make(spec: str, seed: int | None, client: ChatClient | None, depth: int) -> NamedSystem:
    if depth > MAX_DEPTH:
        raise SystemSpecError(f"systems are nested more than {MAX_DEPTH} deep")
    specification = parse_specification(spec)
    name, options = specification.name, dict(specification.options)
    factory = factory_of(name)
    known = options_of(factory)
    if seed is not None and "seed" in known:
        options.setdefault("seed", str(seed))
    require_options(name, factory, options)  # comes first: a misspelt option explains a missing one
    if missing := {key: option for key, option in known.items() if option.default is MISSING and key not in options}:
        raise SystemSpecError(_describe_missing(name, missing))
    values = convert_options(name, factory, options, lambda inner: _make_nested(inner, seed, client, depth + 1))
    clients = {} if client is None else dict.fromkeys(_client_fields(factory), client)
    try:
        system = factory(**group_options(factory, values), **clients)
        _require_answering(system, spec, name)
        plugin = plugin_named(name)
        named = NamedSystem(
            name=name,
            options=all_options(system, values),
            system=system,
            module=module_of(name),
            package=None if plugin is None else plugin.package,
        )
    except EvidenceBenchError:
        raise
    except Exception as error:  # own code may raise anything
        trace = None if name in PACKAGED else trace_of(error, {__file__, traits_of.__code__.co_filename})
        raise SystemSpecError(f"system '{spec}': {type(error).__name__}: {error}").at(trace) from error
    if named.knows_labels and name not in KNOWING_SYSTEMS:
        raise SystemSpecError(f"system '{spec}': own code is not given the labels; take knows_labels out of its traits")
    return named


def _make_nested(spec: str, seed: int | None, client: ChatClient | None, depth: int) -> NamedSystem:
    named = _make(spec, seed, client, depth)
    if named.knows_labels:
        raise SystemSpecError(f"system '{named.name}' is given the labels, so no other system may ask it")
    return named


def _require_answering(system: object, spec: str, name: str) -> None:
    if not (hasattr(system, "rank") or name in KNOWING_SYSTEMS):
        got = repr(system) if isinstance(system, str) else type(system).__name__
        raise SystemSpecError(f"system '{spec}': expected an object with a method rank(query, brief), got {got}")


def _describe_missing(name: str, missing: Mapping[str, Option]) -> str:
    """Return the message for a specification that lacks required options."""
    needed = " and ".join(f"'{key}'" for key in missing)
    values = {
        key: "PROVIDER/NAME" if (key, option.group) == ("model", "chat") else "..." for key, option in missing.items()
    }
    written = ",".join(f"{key}={value}" for key, value in values.items())
    return f"system '{name}': needs {needed}; write {name}:{written}, and see all options with 'evidencebench systems'"


def asks_model(spec: str) -> bool:
    """Whether the system of a specification, or one that it asks, has a `ChatClient`, which keeps the cost limit."""
    specification = parse_specification(spec)
    factory = factory_of(specification.name)
    known = options_of(factory)
    nested = (nested_specifications(known[key], text) for key, text in specification.options.items() if key in known)
    return bool(_client_fields(factory)) or any(asks_model(inner) for inners in nested for inner in inners)


def _client_fields(factory: Callable[..., Any]) -> list[str]:
    if not (isinstance(factory, type) and is_dataclass(factory)):
        return []
    hints = get_type_hints(factory)
    return [field.name for field in fields(factory) if field.init and is_client(hints[field.name])]


def make_options(name: str, factory: Callable[..., Any], options: Mapping[str, str]) -> dict[str, Any]:
    """Return option name -> value, made from text by the types of the factory's fields; messages show ``name``."""
    require_options(name, factory, options)
    return group_options(
        factory, convert_options(name, factory, options, lambda inner: _make_nested(inner, None, None, 1))
    )


def factory_of(name: str) -> Callable[..., Any]:
    """Return the class or function of this name: an entry of `SYSTEMS`, or own code as `find_own_code` finds it."""
    if name in PACKAGED or plugin_named(name) is not None:
        return SYSTEMS[name]
    if name in TAKEN_AWAY:
        raise SystemSpecError(TAKEN_AWAY[name])
    place, colon, attribute = name.rpartition(":")
    if not colon and is_file(name):
        raise SystemSpecError(f"file '{name}': expected the class or function in it behind a colon, as in {name}:Name")
    if not colon:
        raise SystemSpecError(
            f"no system '{name}'{did_you_mean(name, SYSTEMS)}; expected one of {', '.join(SYSTEMS)}, or "
            f"package.module:factory or file.py:factory{''.join(f'; {message}' for message in plugins().torn)}"
        )
    if place in SYSTEMS:
        raise SystemSpecError(f"system '{place}': expected option=value, got '{attribute}'")
    return find_own_code(name)[0]


def module_of(name: str) -> ModuleType | None:
    """Return the module of own code or a plug-in, by the name given to `factory_of`; None for one of this package."""
    if name in PACKAGED:
        return None
    plugin = plugin_named(name)
    return (find_own_code(name) if plugin is None else plugin.load())[1]
