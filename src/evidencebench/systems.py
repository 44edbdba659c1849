"""The only table of system names, and how a system is made from its name and options."""

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_args, get_origin, get_type_hints

import msgspec

from evidencebench import controls, oracle, stored
from evidencebench.errors import EvidenceBenchError, SystemSpecError
from evidencebench.retrievers import bm25, dense, dense_api, fusion, rerank, tfidf
from evidencebench.selectors import cues, diverse, selector, set_model
from evidencebench.specification import MAX_DEPTH, elements, parse_specification, unbracketed
from evidencebench.system import KNOWING_SYSTEMS, KnowingSystem, NamedSystem, System

SYSTEMS: Mapping[str, Callable[..., System | KnowingSystem]] = MappingProxyType(
    {
        "random": controls.RandomControl,
        "lead": controls.Lead,
        "lead_no_headings": controls.LeadNoHeadings,
        "abstract_first": controls.AbstractFirst,
        "abstract_backwards": controls.AbstractBackwards,
        "longest": controls.Longest,
        "most_digits": controls.MostDigits,
        "structure": controls.Structure,
        "oracle": oracle.Oracle,
        "greedy_oracle": oracle.GreedyOracle,
        "bm25": bm25.BM25,
        "bm25_abstract_first": bm25.BM25AbstractFirst,
        "tfidf": tfidf.TfIdf,
        "tfidf_char": tfidf.TfIdfChar,
        "dense": dense.Dense,
        "minilm": dense.MiniLM,
        "dense_api": dense_api.DenseApi,
        "stored": stored.Stored,
        "rerank": rerank.Rerank,
        "fuse": fusion.Fuse,
        "diverse": diverse.Diverse,
        "cues": cues.Cues,
        "selector": selector.Selector,
        "set_selector": set_model.SetSelector,
        "best": selector.Selector,
    }
)
"""System name -> its class, whose fields are its options."""


def make_system(spec: str, *, seed: int | None = None) -> NamedSystem:
    """Return the system that a specification names.

    Parameters
    ----------
    spec
        ``name`` or ``name:option=value,option=value``, where ``name`` is one of `SYSTEMS` or
        ``package.module:factory`` for own code: a callable that takes the options and returns a system. The current
        folder is searched for own code too. A value in square brackets may hold commas, as a system with options
        does; see `evidencebench.specification`.
    seed
        Given to every system, nested ones included, that has an option of that name which the specification leaves
        open.

    Raises
    ------
    SystemSpecError
        If there is no such system, or an option or its value does not fit; the message lists what would.
    MissingExtraError
        If it needs an optional dependency that is not installed.
    ModelError
        If its model is not there.

    Examples
    --------
    >>> make_system("bm25:k1=1.2").options
    {'k1': 1.2, 'b': 0.4, 'stopwords': True}
    """
    return _made(spec, seed, depth=0)


def _made(spec: str, seed: int | None, depth: int) -> NamedSystem:
    if depth > MAX_DEPTH:
        raise SystemSpecError(f"systems are nested more than {MAX_DEPTH} deep")
    specification = parse_specification(spec)
    name, options = specification.name, dict(specification.options)
    factory = factory_of(name)
    hints = _option_types(factory)
    if seed is not None and "seed" in hints:
        options.setdefault("seed", str(seed))
    if missing := [key for key in _required_options(factory) if key not in options]:
        raise SystemSpecError(
            f"system '{name}': expected {', '.join(f'{key}=...' for key in missing)}, got no such option"
        )
    values = _convert(name, factory, options, hints, lambda inner: _nested(inner, seed, depth + 1))
    try:
        system = factory(**values)
    except EvidenceBenchError:
        raise
    except Exception as error:  # own code can fail in any way
        raise SystemSpecError(f"system '{spec}': {type(error).__name__}: {error}") from error
    if not (hasattr(system, "rank") or name in KNOWING_SYSTEMS):
        raise SystemSpecError(f"system '{spec}': expected an object with a method rank(query, brief), got {system!r}")
    return NamedSystem(
        name=name, options=_all_options(system, values), system=system, knows_labels=name in KNOWING_SYSTEMS
    )


def _nested(spec: str, seed: int | None, depth: int) -> NamedSystem:
    named = _made(spec, seed, depth)
    if named.knows_labels:
        raise SystemSpecError(f"system '{named.name}' is given the labels, so no other system may ask it")
    return named


def make_options(name: str, factory: Callable[..., Any], options: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of options, made from their texts as the fields of a dataclass ask.

    Parameters
    ----------
    name
        What messages call it.
    factory
        The dataclass.
    options
        Option name -> text.

    Raises
    ------
    SystemSpecError
        If it has no such option, or the value does not fit.
    """
    return _convert(name, factory, options, _option_types(factory), lambda inner: _nested(inner, None, 1))


def factory_of(name: str) -> Callable[..., Any]:
    """Return what makes a system, or own code of any sort: an entry of `SYSTEMS`, or ``package.module:factory``.

    Raises
    ------
    SystemSpecError
        If there is none of that name.
    """
    if name in SYSTEMS:
        return SYSTEMS[name]
    if ":" not in name:
        known = ", ".join(SYSTEMS)
        raise SystemSpecError(f"no system '{name}'; expected one of {known}, or package.module:factory")
    module_name, _, attribute = name.partition(":")
    if module_name in SYSTEMS:
        raise SystemSpecError(f"system '{module_name}': expected option=value, got '{attribute}'")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        factory = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:  # own code can fail in any way
        raise SystemSpecError(f"system '{name}': cannot be imported: {error}") from error
    if not callable(factory):
        raise SystemSpecError(f"system '{name}': expected a class or function that makes a system, got {factory!r}")
    return cast("Callable[..., Any]", factory)


def _required_options(factory: Callable[..., Any]) -> list[str]:
    """Return the options without a default, as far as the factory says."""
    if not is_dataclass(factory):
        return []
    return [
        field.name
        for field in fields(factory)
        if field.init and field.default is MISSING and field.default_factory is MISSING
    ]


def _option_types(factory: Callable[..., Any]) -> dict[str, Any]:
    """Return option name -> type, as far as the factory says."""
    if isinstance(factory, type) and is_dataclass(factory):
        hints = get_type_hints(factory)
        return {field.name: hints[field.name] for field in fields(factory) if field.init}
    try:
        hints = get_type_hints(getattr(factory, "__init__", None) if isinstance(factory, type) else factory)
    except (TypeError, NameError):  # no annotations to be had, as of a partial or a built-in
        return {}
    return {name: hint for name, hint in hints.items() if name != "return"}


def _convert(
    name: str,
    factory: Callable[..., Any],
    options: Mapping[str, str],
    hints: Mapping[str, Any],
    make: Callable[[str], NamedSystem],
) -> dict[str, Any]:
    if options and not hints and factory in SYSTEMS.values():
        raise SystemSpecError(f"system '{name}': takes no options, got {', '.join(options)}")
    converted: dict[str, Any] = {}
    for key, text in options.items():
        if key not in hints and is_dataclass(factory):
            raise SystemSpecError(f"system '{name}': no option '{key}'; it takes {', '.join(hints)}")
        try:
            converted[key] = _value(hints[key], text, make) if key in hints else _scalar(unbracketed(text))
        except SystemSpecError as error:
            raise SystemSpecError(f"system '{name}': option '{key}': {error}") from error
    return converted


def _value(hint: Any, text: str, make: Callable[[str], NamedSystem]) -> Any:
    """Return an option's value, made from its text as the type asks."""
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        return tuple(_value(get_args(hint)[0], f"[{element}]", make) for element in elements(text))
    inner = unbracketed(text)
    if hint is NamedSystem or NamedSystem in get_args(hint):
        return make(inner)
    try:
        value = msgspec.convert(inner, type=hint, strict=False, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise SystemSpecError(f"{str(error).partition(', got')[0]}, got '{inner}'") from error
    if isinstance(value, float) and not isfinite(value):
        raise SystemSpecError(f"expected a finite number, got '{inner}'")
    return value


def _path(hint: type, text: str) -> Path:
    if hint is Path and text:
        return Path(text)
    raise ValueError(f"Expected `{hint.__name__}`, got `str`")


def _scalar(text: str) -> Any:
    """Return a number, true, false or null as such, and anything else as text."""
    try:
        return msgspec.json.decode(text, type=int | float | bool | None)
    except msgspec.DecodeError:
        return text


def _all_options(system: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as a run's header holds them: in JSON values, anything else as its text."""
    if not is_dataclass(system):
        return {key: _plain(value) for key, value in given.items()}
    return {field.name: _plain(getattr(system, field.name)) for field in fields(system) if field.init}


def _plain(value: Any) -> Any:
    if isinstance(value, NamedSystem):
        return {"name": value.name, "options": dict(value.options)}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return msgspec.to_builtins(value, enc_hook=str)
