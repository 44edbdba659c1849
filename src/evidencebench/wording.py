"""Parts of messages and of `repr` texts: counts, lists cut short, and "did you mean" suggestions."""

import re
import reprlib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_MAX_PART, _MAX_LINE = 70, 118
_N_SHOWN, _N_NAMED = 8, 2


def one_line(shown: object, *parts: str) -> str:
    """Return a `repr` text, ``Kind(part, part)``, cut where it is long.

    A part with text from outside is its `repr`, so that it holds no line end.

    >>> one_line({}, repr("sample.json"), counted(10, "instance"))
    "dict('sample.json', 10 instances)"
    """
    text = f"{type(shown).__name__}({', '.join(_cut(part, _MAX_PART) for part in parts if part)}"
    return f"{_cut(text, _MAX_LINE)})"


def counted(n: int, noun: str, many: str = "") -> str:
    """Return a number with its noun, in the plural unless the number is 1; ``many`` is an irregular plural.

    >>> counted(1, "sentence"), counted(2000, "reply", "replies")
    ('1 sentence', '2,000 replies')
    """
    return f"{n:,} {noun if n == 1 else many or f'{noun}s'}"


def first_few(values: Sequence[object]) -> str:
    """Return values as Python writes a tuple; of more than 8 only the first ones.

    >>> first_few((3, 1)), first_few(range(100))
    ('(3, 1)', '(0, 1, 2, 3, 4, 5, 6, 7, ... 92 more)')
    """
    if len(values) <= _N_SHOWN:
        return repr(tuple(values))
    return f"({', '.join(map(repr, values[:_N_SHOWN]))}, ... {len(values) - _N_SHOWN:,} more)"


def check_type(given: object, kind: type | tuple[type, ...], expected: str) -> None:
    """Raise `TypeError` unless what a user passed is of a kind; ``expected`` says it in words.

    >>> check_type("bm25", int, "a number of sentences")
    Traceback (most recent call last):
    TypeError: expected a number of sentences, got 'bm25'
    """
    if not isinstance(given, kind):
        got = f"the class {given.__name__}" if isinstance(given, type) else reprlib.repr(given)
        raise TypeError(f"expected {expected}, got {got}")


def name_of(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question "did you mean" for behind an unknown name; an empty text where no known name is like it.

    >>> f"no system 'BM52'{did_you_mean('BM52', ['lead', 'bm25'])}"
    "no system 'BM52' (did you mean 'bm25'?)"
    >>> did_you_mean("zzz", ["lead", "bm25"])
    ''
    """
    by_lower = {known_name.lower(): known_name for known_name in known}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f" (did you mean '{by_lower[close[0]]}'?)" if close else ""


def or_one_of(name: str, known: Iterable[str], command: str = "", other: str = "") -> str:
    """Return what to write in place of an unknown name: the known one that is like it, or else the known ones.

    Many are shortened to the first ones, and to the ``command`` that lists all. ``other`` is what else may be written.

    >>> or_one_of("BM52", ["lead", "bm25"]), or_one_of("zzz", ["lead", "bm25"])
    (" (did you mean 'bm25'?)", '; expected one of lead, bm25')
    >>> or_one_of("zzz", ["random", "lead", "bm25", "cues"], "evidencebench systems", "file.py:name")
    "; expected one of random, lead, ..., which 'evidencebench systems' lists, or file.py:name"
    """
    known = list(known)
    if meant := did_you_mean(name, known):
        return f"{meant}; '{command}' lists all" if command else meant
    others = f", or {other}" if other else ""
    if command and len(known) > _N_NAMED:
        return f"; expected one of {', '.join(known[:_N_NAMED])}, ..., which '{command}' lists{others}"
    return f"; expected one of {', '.join(known)}{others}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


# Of a file's full path all but the name: the value of an option, which may hold spaces; or a word of a text.
_FOLDERS = re.compile(
    r"""(?<==)/(?:[^/,()\[\]|=]+/)+|(?<![\w./:~-])(?:file:/)?/(?:[^\s/'"(),=\[\]|;<>]+/)+"""
    r"""|(?<!\w)[A-Za-z]:\\(?:[^\s\\'"(),=\[\]|;<>]+\\)+"""
)


def without_folders(text: str) -> str:
    """Return a text in which files that are named by their full paths are named by their names alone.

    >>> without_folders("selector(model=/home/ada/my models/a.json,k=3)")
    'selector(model=a.json,k=3)'
    >>> without_folders("no such file: '/home/ada/a.json'; see https://example.org/a/b and runs/a.jsonl")
    "no such file: 'a.json'; see https://example.org/a/b and runs/a.jsonl"
    """
    return _FOLDERS.sub("", text)


def shown_seconds(seconds: float | None) -> str:
    return "time unknown" if seconds is None else f"{seconds:{'.2g' if seconds < 10 else ',.0f'}} s"  # noqa: PLR2004 - digits
