"""A tree of elements and text, as the readers of XML and HTML share it; text knows where it stands in the file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MOST_DEPTH = 256
"""The most elements around one place; articles have about 20."""

MOST_NODES = 2_000_000
"""The most elements and pieces of text of one file; an article has some thousands."""


@dataclass(frozen=True, slots=True)
class Characters:
    """Text that stands in start..stop-1 of the file, one by one or as a whole; nowhere if start is stop."""

    text: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Element:
    """An element: its name without a namespace, in lower case; its attributes, likewise; what it holds, in order."""

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: list["Element | Characters"] = field(default_factory=list)

    @property
    def elements(self) -> Iterator["Element"]:
        """The elements directly in it."""
        return (child for child in self.children if isinstance(child, Element))

    def all(self, *tags: str) -> Iterator["Element"]:
        """Return the elements of these names at any depth, in order, itself apart."""
        waiting = list(self.elements)[::-1]
        while waiting:
            element = waiting.pop()
            if element.tag in tags:
                yield element
            waiting.extend(list(element.elements)[::-1])

    def first(self, *tags: str) -> "Element | None":
        """Return the first of `all`; None if there is none."""
        return next(self.all(*tags), None)

    def characters(self) -> Iterator[Characters]:
        """Return all text in it, in order."""
        waiting: list[Element | Characters] = self.children[::-1]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Characters):
                yield node
            else:
                waiting.extend(node.children[::-1])

    @property
    def raw_text(self) -> str:
        """All its text."""
        return "".join(piece.text for piece in self.characters())

    @property
    def text(self) -> str:
        """All its text, white space collapsed."""
        return " ".join(self.raw_text.split())


@dataclass(frozen=True, slots=True)
class ElementEnd:
    """Where an element ends, for readers that walk through a tree with a list of what is still to be read."""

    element: Element
