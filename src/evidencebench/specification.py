"""How a system is written as text: ``name:option=value,...``. A value in square brackets may be a system or a list.

::

    bm25:k1=1.2,b=0.5
    diverse:system=[bm25:k1=1.2],strength=0.5
    exec:./my-system --top 5,timeout_seconds=30
    fuse:systems=[bm25:k1=1.2,b=0.5+minilm],weights=[2+1]

What stands first behind ``exec:`` is its option ``command``. Commas and plus signs inside brackets belong to the inner
text. A list is a bracketed value that is split at the plus signs directly inside its bracket; an element in brackets of
its own may hold a plus: ``weights=[[1e+5]+2]``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from posixpath import normpath
from typing import Any

from evidencebench.errors import SystemSpecError

MAX_DEPTH = 8  # of brackets

# name, package.module or file.py; :factory; then options behind another colon
_SPECIFICATION = re.compile(
    r"(?P<name>(?:[^:\[\]]+\.py|[A-Za-z_][\w.-]*)(?::[A-Za-z_]\w*(?![\w=]))?)(?::(?P<options>.*))?", re.DOTALL
)
_COMMAND = re.compile(r"\s*exec:(?![A-Za-z_]\w*=)")
_NEEDS_BRACKETS = re.compile(r"[\[\],+]|^\s|\s$|^$")
_MAX_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    name: str  # of the table of systems, or ``package.module:factory``, or ``file.py:factory``
    options: Mapping[str, str]  # name -> the text of its value, brackets included


def parse_specification(text: str) -> Specification:
    """Return the name and the options in a specification; raises `SystemSpecError` where the text is none.

    >>> parse_specification("diverse:system=[bm25:k1=1.2,b=0.5],strength=0.5").options
    {'system': '[bm25:k1=1.2,b=0.5]', 'strength': '0.5'}
    """
    if any("\ud800" <= character <= "\udfff" for character in text):  # a file's name need not be UTF-8
        raise SystemSpecError(
            f"system '{_short(text)}': expected Unicode text, which a run's header can hold; give the file another name"
        )
    match = _SPECIFICATION.fullmatch(_COMMAND.sub("exec:command=", text, count=1).strip())
    if match is None:
        raise SystemSpecError(
            f"system '{_short(text)}': expected name:option=value,... or file.py:name or package.module:name"
        )
    options: dict[str, str] = {}
    for part in filter(None, _split(text, match["options"] or "", ",")):
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key:
            raise SystemSpecError(f"system '{match['name']}': expected option=value, got '{_short(part)}'")
        if key in options:
            raise SystemSpecError(f"system '{match['name']}': option '{key}' is given twice")
        options[key] = value.strip()
    path, colon, factory = match["name"].partition(".py:")  # ``./a.py:F`` is ``a.py:F``: one file has one name
    return Specification(name=f"{normpath(path)}{colon}{factory}" if colon else path, options=options)


def unbracketed(value: str) -> str:
    """Return a value without the brackets around it, if there are any.

    >>> unbracketed("[a,b]"), unbracketed("[a]+[b]"), unbracketed("a")
    ('a,b', '[a]+[b]', 'a')
    """
    depths = list(accumulate((character == "[") - (character == "]") for character in value))
    is_one_bracket = value.startswith("[") and depths[-1] == 0 and depths.index(0) == len(value) - 1
    return value[1:-1] if is_one_bracket else value


def elements(value: str) -> tuple[str, ...]:
    """Return the elements of a list, each without the brackets around it; a value without brackets is one element.

    Raises `SystemSpecError` if an element is empty.

    >>> elements("[bm25:k1=1.2,b=0.5+[1e+5]+fuse:systems=[a+b]]")
    ('bm25:k1=1.2,b=0.5', '1e+5', 'fuse:systems=[a+b]')
    >>> elements("1e+5"), elements("[]")
    (('1e+5',), ())
    """
    inner = unbracketed(value)
    if inner == value:
        return (value,)
    if not inner.strip():
        return ()
    texts = []
    for number, part in enumerate(_split(value, inner, "+"), 1):
        if not part.strip():
            raise SystemSpecError(f"'{_short(value)}': element {number} of the list is empty")
        texts.append(unbracketed(part.strip()))
    return tuple(texts)


def write_specification(name: str, options: Mapping[str, Any]) -> str:
    """Return the canonical text of a system, which parses back to the same options.

    The options are JSON values, as in a run's header; a nested system is ``{"name": ..., "options": {...}}``. An option
    that is None is left out. Raises `SystemSpecError` if a value cannot be written.

    >>> inner = {"name": "bm25", "options": {"k1": 1.2, "stopwords": True}}
    >>> write_specification("fuse", {"systems": [inner, {"name": "tfidf", "options": {}}], "weights": [2.0, 1e30]})
    'fuse:systems=[bm25:k1=1.2,stopwords=true+tfidf],weights=[2.0+[1e+30]]'
    """
    text = _value_text({"name": name, "options": options}, depth=0)
    parse_specification(text)  # raises where the brackets in a value do not match
    return text


def _value_text(value: Any, depth: int) -> str:
    if depth > MAX_DEPTH:
        raise SystemSpecError(f"systems are nested more than {MAX_DEPTH} deep")
    match value:
        case bool():
            return str(value).lower()
        case int() | float() | str():
            return str(value)
        case {"name": str(name), "options": dict() as options} if len(value) == len(("name", "options")):
            written = {key: _option_text(option, depth) for key, option in options.items() if option is not None}
            return f"{name}:{','.join(f'{key}={text}' for key, text in written.items())}" if written else name
        case _:
            raise SystemSpecError(f"a value of type {type(value).__name__} cannot be written in a specification")


def _option_text(value: Any, depth: int) -> str:
    if isinstance(value, list | tuple):
        return f"[{'+'.join(_element_text(element, depth + 1) for element in value)}]"
    text = _value_text(value, depth + 1)
    return f"[{text}]" if _NEEDS_BRACKETS.search(text) else text


def _element_text(value: Any, depth: int) -> str:
    text = _value_text(value, depth)
    # The plus signs of a nested system stand in its own brackets already.
    plain = isinstance(value, dict) and len(_split(text, text, "+")) == 1
    return text if plain or not _NEEDS_BRACKETS.search(text) else f"[{text}]"


def _split(whole: str, text: str, separator: str) -> list[str]:
    """Split a text at the separators that stand in no bracket; ``whole`` is the text that messages show."""
    parts, start, depth = [], 0, 0
    opened = -1
    for position, character in enumerate(text):
        if character == "[":
            depth += 1
            opened = position if depth == 1 else opened
            if depth > MAX_DEPTH:
                raise SystemSpecError(f"'{_short(whole)}': brackets are nested more than {MAX_DEPTH} deep")
        elif character == "]":
            depth -= 1
            if depth < 0:
                raise SystemSpecError(f"'{_short(whole)}': nothing opens the ']' behind '{_before(text, position)}'")
        elif character == separator and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    if depth > 0:
        raise SystemSpecError(f"'{_short(whole)}': nothing closes the '[' behind '{_before(text, opened)}'")
    return [*parts, text[start:]]


def _before(text: str, position: int) -> str:
    return text[max(0, position - _MAX_SHOWN // 2) : position]


def _short(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
