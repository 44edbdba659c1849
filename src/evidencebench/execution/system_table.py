"""The table of systems, and those of installed packages."""

import importlib
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, is_dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import distributions
from types import MappingProxyType, ModuleType
from typing import Any, get_type_hints

from evidencebench.errors import SystemSpecError
from evidencebench.execution.own_code import trace_of
from evidencebench.files.disk import packaged_table
from evidencebench.models.model_card import SELECTORS_ARE_GONE
from evidencebench.system import KnowingSystem, System
from evidencebench.tables import printable

GROUP = "evidencebench.systems"
_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """An entry point: the name of a system, the package that declares it, and ``module:factory``, where it is."""

    name: str
    package: str
    place: str

    def load(self) -> tuple[Callable[..., Any], ModuleType]:
        """Import it, its prints on standard error; return what makes the system, and its module."""
        where = f"system '{self.name}' of package '{self.package}'"
        module_name, _, attribute = self.place.partition(":")
        try:
            with redirect_stdout(sys.stderr):
                module = importlib.import_module(module_name)
            factory: Any = module
            for part in attribute.split("."):
                factory = getattr(factory, part)
            if is_dataclass(factory):
                get_type_hints(factory)  # its fields are options, and their types may name nothing
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the package's code may raise anything
            trace = trace_of(error, {__file__, str(importlib.__file__)})
            message = printable(f"{where}: {self.place} cannot be imported: {type(error).__name__}: {error}")
            raise SystemSpecError(f"{message}; mend, update or uninstall the package").at(trace) from error
        if not callable(factory):
            raise SystemSpecError(f"{where}: expected a class or function that makes a system, got {factory!r}")
        return factory, module


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugins:
    """The plug-ins that can be used, by name, and of the others, why not: name -> message. None is imported."""

    usable: Mapping[str, Plugin]
    refused: Mapping[str, str]
    torn: tuple[str, ...]  # a message for each package whose entry points cannot be read


def plugins() -> Plugins:
    return _installed(tuple(sys.path))


@lru_cache(maxsize=1)  # since the metadata of all packages is read; another search path may hold other packages
def _installed(_: tuple[str, ...]) -> Plugins:
    by_name: dict[str, list[Plugin]] = defaultdict(list)
    torn = []
    for package in distributions():
        try:
            entries = {entry.name: entry.value for entry in package.entry_points if entry.group == GROUP}
            name = package.name or "unknown" if entries else ""
        except Exception as error:  # noqa: BLE001 - what is installed may be damaged in any way
            place = f"{getattr(package, '_path', 'a package')}: its entry points cannot be read"
            advice = "install the package again, or uninstall it"
            torn.append(printable(f"{place}: {type(error).__name__}: {error}; {advice}"))
            continue
        for system, place in entries.items():
            if name not in {plugin.package for plugin in by_name[system]}:  # the first on the path is the one imported
                by_name[system].append(Plugin(name=system, package=name, place=place))
    refused = {name: message for name, rivals in sorted(by_name.items()) if (message := _refusal(name, rivals))}
    usable = {name: rivals[0] for name, rivals in sorted(by_name.items()) if name not in refused}
    return Plugins(usable=MappingProxyType(usable), refused=MappingProxyType(refused), torn=tuple(torn))


def _refusal(name: str, plugins: list[Plugin]) -> str:
    """Return why the plug-ins of this name cannot be used by it; an empty text where they can."""
    packages = " and ".join(f"'{plugin.package}'" for plugin in plugins)
    by_place = " or ".join(plugin.place for plugin in plugins)
    if name in _PLACES:
        return (
            f"system '{name}' of package {packages}: evidencebench has a system of this name, which stays; "
            f"name this one by its place: {by_place}"
        )
    if len(plugins) > 1:
        return (
            f"system '{name}': packages {packages} both have one; uninstall one of them, or name the system by its "
            f"place: {by_place}"
        )
    if not _NAME.fullmatch(name) or not re.fullmatch(r"[\w.]+:[\w.]+", plugins[0].place):
        return (
            f"system '{printable(name)}' of package {packages}: expected an entry point such as my-system = "
            f'"my_package.module:Class", a name of letters, digits, - and _, got {printable(by_place)!r}'
        )
    return ""


Factory = Callable[..., System | KnowingSystem]

_PLACES: dict[str, str] = packaged_table(__file__)

PACKAGED: tuple[str, ...] = tuple(_PLACES)
"""Names of the systems of this package; the other entries of `SYSTEMS` are plug-ins."""


def plugin_named(name: str) -> Plugin | None:
    """Return the plug-in of this name; None where it names none. Raises `SystemSpecError` where packages clash."""
    if name in _PLACES or ":" in name:
        return None
    installed = plugins()
    if name in installed.refused:
        raise SystemSpecError(installed.refused[name])
    return installed.usable.get(name)


class _Systems(Mapping[str, Factory]):
    """The table; a system's module is imported when the system is first looked up, since imports are slow."""

    def __getitem__(self, name: str) -> Factory:
        if name not in _PLACES:
            plugin = plugin_named(name)
            if plugin is None:
                raise KeyError(name)
            return plugin.load()[0]
        module, _, kind = _PLACES[name].partition(":")
        factory: Factory = getattr(import_module(f"evidencebench.{module}"), kind)
        return factory

    def __contains__(self, name: object) -> bool:
        return name in _PLACES or (isinstance(name, str) and ":" not in name and name in plugins().usable)

    def __iter__(self) -> Iterator[str]:
        yield from _PLACES
        yield from plugins().usable

    def __len__(self) -> int:
        return len(_PLACES) + len(plugins().usable)


SYSTEMS: Mapping[str, Factory] = _Systems()
"""System name -> its class, whose fields are its options. Installed packages may add to it; `SystemSpecError` where
the code of such a package cannot be imported."""

TAKEN_AWAY: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("selector", "best", "set_selector"), SELECTORS_ARE_GONE)
)
"""Name of a system or training of earlier versions -> the message for users who ask for it."""
