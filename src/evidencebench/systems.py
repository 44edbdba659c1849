"""The only table of system names, and how a system is made from its name and options."""

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_type_hints

import msgspec

from evidencebench import controls, oracle
from evidencebench.errors import EvidenceBenchError, SystemSpecError
from evidencebench.oracle import KnowingSystem
from evidencebench.retrievers import bm25, tfidf
from evidencebench.system import System

SYSTEMS: Mapping[str, Callable[..., System | KnowingSystem]] = MappingProxyType(
    {
        "random": controls.RandomControl,
        "lead": controls.Lead,
        "lead_no_headings": controls.LeadNoHeadings,
        "abstract_first": controls.AbstractFirst,
        "abstract_backwards": controls.AbstractBackwards,
        "longest": controls.Longest,
        "most_digits": controls.MostDigits,
        "oracle": oracle.Oracle,
        "greedy_oracle": oracle.GreedyOracle,
        "bm25": bm25.BM25,
        "bm25_abstract_first": bm25.BM25AbstractFirst,
        "tfidf": tfidf.TfIdf,
        "tfidf_char": tfidf.TfIdfChar,
    }
)
"""System name -> its class, whose fields are its options."""

KNOWING_SYSTEMS = frozenset({"oracle", "greedy_oracle"})
"""The systems that are given the labels: ceilings, not competitors."""

# name, or package.module:factory; then options behind another colon
_SPEC = re.compile(r"(?P<name>[A-Za-z_][\w.]*(?::[A-Za-z_]\w*(?![\w=]))?)(?::(?P<options>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSystem:
    """A system with the name and options that make it again.

    Attributes
    ----------
    name
        A name of `SYSTEMS`, or ``package.module:factory``.
    options
        Every option by name, defaults included.
    system
        The object that answers.
    """

    name: str
    options: Mapping[str, Any]
    system: System | KnowingSystem

    @property
    def reads_brief(self) -> bool:
        """Whether each task needs an answer of its own."""
        return bool(getattr(self.system, "reads_brief", False))

    @property
    def selects(self) -> bool:
        """Whether its answers end by themselves, so that tasks without a budget can be answered."""
        return bool(getattr(self.system, "selects", False))

    @property
    def knows_labels(self) -> bool:
        """Whether it is given the labels: a ceiling, not a competitor."""
        return self.name in KNOWING_SYSTEMS


def make_system(spec: str, *, seed: int | None = None) -> NamedSystem:
    """Return the system that a specification names.

    Parameters
    ----------
    spec
        ``name`` or ``name:option=value,option=value``, where ``name`` is one of `SYSTEMS` or
        ``package.module:factory`` for own code: a callable that takes the options and returns a system. The current
        folder is searched for own code too.
    seed
        Given to a system that has an option of that name which the specification leaves open.

    Raises
    ------
    SystemSpecError
        If there is no such system, or an option or its value does not fit; the message lists what would.

    Examples
    --------
    >>> make_system("bm25:k1=1.2").options
    {'k1': 1.2, 'b': 0.4, 'stopwords': True}
    """
    found = _SPEC.fullmatch(spec.strip())
    if found is None:
        raise SystemSpecError(f"system '{spec}': expected name:option=value,... or package.module:factory")
    name = found["name"]
    factory = _factory(name)
    options = _parse_options(name, found["options"] or "")
    hints = _option_types(factory)
    if seed is not None and "seed" in hints:
        options.setdefault("seed", str(seed))
    try:
        system = factory(**_convert(name, factory, options, hints))
    except EvidenceBenchError:
        raise
    except Exception as error:  # own code can fail in any way
        raise SystemSpecError(f"system '{spec}': {type(error).__name__}: {error}") from error
    if not (hasattr(system, "rank") or name in KNOWING_SYSTEMS):
        raise SystemSpecError(f"system '{spec}': expected an object with a method rank(query, brief), got {system!r}")
    return NamedSystem(name=name, options=_all_options(system, options), system=system)


def _factory(name: str) -> Callable[..., Any]:
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


def _parse_options(name: str, text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise SystemSpecError(f"system '{name}': expected option=value, got '{part}'")
        if key.strip() in options:
            raise SystemSpecError(f"system '{name}': option '{key.strip()}' is given twice")
        options[key.strip()] = value.strip()
    return options


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


def _convert(name: str, factory: Callable[..., Any], options: dict[str, str], hints: dict[str, Any]) -> dict[str, Any]:
    if options and not hints and factory in SYSTEMS.values():
        raise SystemSpecError(f"system '{name}': takes no options, got {', '.join(options)}")
    converted: dict[str, Any] = {}
    for key, text in options.items():
        if key not in hints and is_dataclass(factory):
            raise SystemSpecError(f"system '{name}': no option '{key}'; it takes {', '.join(hints)}")
        try:
            value = msgspec.convert(text, type=hints[key], strict=False) if key in hints else _scalar(text)
        except msgspec.ValidationError as error:
            expected = str(error).partition(", got")[0]
            raise SystemSpecError(f"system '{name}': option '{key}': {expected}, got '{text}'") from error
        if isinstance(value, float) and not isfinite(value):
            raise SystemSpecError(f"system '{name}': option '{key}': expected a finite number, got '{text}'")
        converted[key] = value
    return converted


def _scalar(text: str) -> Any:
    """Return a number, true, false or null as such, and anything else as text."""
    try:
        return msgspec.json.decode(text, type=int | float | bool | None)
    except msgspec.DecodeError:
        return text


def _all_options(system: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as a run's header holds them: in JSON values, anything else as its text."""
    options = {field.name: getattr(system, field.name) for field in fields(system)} if is_dataclass(system) else given
    plain: dict[str, Any] = msgspec.to_builtins(dict(options), enc_hook=str)
    return plain
