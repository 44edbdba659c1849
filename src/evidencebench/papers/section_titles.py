"""Titles of sections that papers share, and the outline that headings make."""

import re

from evidencebench.query import Kind

_ABSTRACT = frozenset({"abstract", "summary"})
_REFERENCES = frozenset(
    {"references", "reference list", "bibliography", "literature cited", "works cited", "references and notes"}
)
# Outermost sections of papers, and those of them that structured abstracts have too.
_MAIN = frozenset(
    {
        *("introduction", "results and discussion", "case report", "experimental procedures", "keywords", "key words"),
        *("acknowledgements", "acknowledgments", "author contributions", "authors' contributions", "ethics"),
        *("competing interests", "conflict of interest", "conflicts of interest", "supplementary material"),
        *("supporting information", "abbreviations"),
    }
)
_EITHER = frozenset(
    {
        *("background", "conclusion", "conclusions", "discussion", "funding", "limitations", "material and methods"),
        *("materials and methods", "method", "methodology", "methods", "patients and methods", "result", "results"),
        *("subjects and methods", "trial registration"),
    }
)
# Parts of a structured abstract, or of a section.
_PARTS = frozenset(
    {
        *("aim", "aims", "background and aims", "context", "data collection", "design", "findings", "interpretation"),
        *("intervention", "interventions", "main outcome measures", "methods and findings", "methods and results"),
        *("objective", "objectives", "outcome measures", "outcomes", "participants", "patients", "procedure"),
        *("purpose", "rationale", "registration", "setting", "significance", "statistical analysis"),
        *("statistical methods", "study design", "study population"),
    }
)
_NUMBER = re.compile(r"(?:(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?|[IVX]{1,4}\.)\s+(?=[^\W\d_a-z])")


def plain_title(title: str) -> str:
    """Return a title without its number and its stop, in lower case.

    >>> plain_title("2.1. Study design:"), plain_title("METHODS")
    ('study design', 'methods')
    """
    return _NUMBER.sub("", title.strip(), count=1).rstrip(".: ").casefold()


def number_of(title: str) -> tuple[int, ...]:
    """Return the number that a title begins with, part by part; an empty one where there is none.

    >>> number_of("2.1. Study design"), number_of("2 cups of tea")
    ((2, 1), ())
    """
    found = _NUMBER.match(title)
    return tuple(map(int, found["number"].split("."))) if found and found["number"] else ()


def level_of(title: str) -> int:
    """Return the level of a heading whose level is not marked, from 1: of its number, else 2 but for main sections.

    >>> level_of("METHODS"), level_of("Tea leaves"), level_of("2.1. Methods")
    (1, 2, 2)
    """
    plain = plain_title(title)
    return len(number_of(title)) or 2 - any(plain in titles for titles in (_ABSTRACT, _REFERENCES, _MAIN, _EITHER))


def is_abstract_title(title: str) -> bool:
    """Say whether a title is that of an abstract."""
    return plain_title(title) in _ABSTRACT


def is_reference_title(title: str) -> bool:
    """Say whether a title is that of a list of references."""
    return plain_title(title) in _REFERENCES


def is_known_title(title: str) -> bool:
    """Say whether a title is one that the sections of many papers have."""
    plain = plain_title(title)
    return any(plain in titles for titles in (_ABSTRACT, _REFERENCES, _MAIN, _EITHER, _PARTS))


class Outline:
    """Where a reader stands among the headings that it has met.

    The abstract goes from its title to the next heading that is not below it. Headings of a structured abstract may be
    of the abstract's level: the first stands right behind its title, and none stands twice.

    >>> outline = Outline()
    >>> for level, title in [(1, "Abstract"), (1, "Methods"), (1, "Results"), (1, "Methods"), (2, "Setting")]:
    ...     outline.enter(title, level=level)
    ...     print(outline.path, outline.kind.value)
    ('Abstract',) abstract
    ('Abstract', 'Methods') abstract
    ('Abstract', 'Results') abstract
    ('Methods',) normal_paragraph
    ('Methods', 'Setting') normal_paragraph
    """

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self._labels: set[str] = set()  # of the abstract that is open
        self._is_structured = True  # by headings of its own level, as far as is known

    @property
    def path(self) -> tuple[str, ...]:
        """The titles of the sections around what comes next, outermost first."""
        return tuple(title for _, title in self._open)

    @property
    def kind(self) -> Kind:
        """The kind of a paragraph that comes next."""
        return Kind.ABSTRACT if any(is_abstract_title(title) for _, title in self._open) else Kind.BODY

    @property
    def is_in_references(self) -> bool:
        """Whether what comes next is part of a list of references."""
        return any(is_reference_title(title) for _, title in self._open)

    def above(self, title: str, *, level: int) -> tuple[str, ...]:
        """Return the path that leads to a heading that comes next."""
        return tuple(outer for _, outer in self._open[: self._depth(title, level)])

    def enter(self, title: str, *, level: int) -> None:
        """Go into the section of a heading; level 1 is the outermost."""
        depth = self._depth(title, level)
        del self._open[depth:]
        if is_abstract_title(title):
            self._labels, self._is_structured = set(), True
        elif self._open and is_abstract_title(self._open[-1][1]) and self._open[-1][0] < level:
            self._is_structured = False  # its parts are told by their level
        self._labels.add(plain_title(title))
        self._open.append((level, title))

    def pass_paragraph(self) -> None:
        """Take note of a paragraph: one right behind the abstract's title means that its parts have no titles."""
        if self._open and is_abstract_title(self._open[-1][1]):
            self._is_structured = False

    def _depth(self, title: str, level: int) -> int:
        """How many of the open sections lie around a heading that comes next."""
        for depth, (of_open, open_title) in enumerate(self._open):
            if of_open < level or (
                of_open == level
                and is_abstract_title(open_title)
                and self._is_structured
                and plain_title(title) in (_EITHER | _PARTS) - self._labels
            ):
                continue
            return depth
        return len(self._open)
