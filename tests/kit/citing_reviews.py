"""Small reviews of our own in JATS XML."""

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

CC_BY = '<license xlink:href="http://creativecommons.org/licenses/by/4.0/"/>'


def reference(
    number: int, *, ids: str | None = None, surname: str = "", year: str = "", label: str | None = None
) -> str:
    """Return an entry of a list of references, with the PMID 1000 + number unless told."""
    given = f'<pub-id pub-id-type="pmid">{1000 + number}</pub-id>' if ids is None else ids
    shown = f"<label>{number if label is None else label}</label>" if label != "" else ""
    return (
        f'<ref id="B{number}">{shown}<element-citation><name><surname>{surname or f"Author{number}"}</surname></name>'
        f"<year>{year or 2000 + number}</year>{given}</element-citation></ref>"
    )


TWELVE = tuple(map(reference, range(1, 13)))


def cite(*numbers: int, text: str | None = None) -> str:
    """Return a link to references, which shows the first number unless told."""
    rid = " ".join(f"B{number}" for number in numbers)
    return f'<xref ref-type="bibr" rid="{rid}">{numbers[0] if text is None else text}</xref>'


def review(
    *paragraphs: str, references: Iterable[str] = TWELVE, licence: str = CC_BY, title: str = "Trials", more: str = ""
) -> bytes:
    """Return a review with these paragraphs in one section."""
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    listed = "".join(references)
    return (
        '<?xml version="1.0"?><article xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta>'
        '<article-id pub-id-type="pmc">77</article-id><title-group><article-title>Tea: a review</article-title>'
        f"</title-group><permissions>{licence}</permissions></article-meta></front>"
        f"<body><sec><title>{title}</title>{body}{more}</sec></body>"
        f"<back>{f'<ref-list>{listed}</ref-list>' if listed else ''}</back></article>"
    ).encode()


class Link(NamedTuple):
    """A link of a review, and the character of its text at which it begins."""

    at: int
    kind: str
    references: tuple[str, ...]


def text_of(content: bytes) -> str:
    """Return all text of a review, as another parser reads it."""
    return "".join(ET.fromstring(content).itertext())  # noqa: S314 - files of our own, and the shared data


def links_of(content: bytes, not_in: Collection[str] = ()) -> list[Link]:
    """Return the links of a review in order, but for those in elements of some names."""
    return list(_links(ET.fromstring(content), 0, frozenset(not_in)))  # noqa: S314 - see above


def _links(element: ET.Element, at: int, not_in: frozenset[str]) -> Iterator[Link]:
    if element.tag in not_in:
        return
    if element.tag == "xref":
        yield Link(at, element.get("ref-type", ""), tuple(element.get("rid", "").split()))
    at += len(element.text or "")
    for child in element:
        yield from _links(child, at, not_in)
        at += sum(map(len, child.itertext())) + len(child.tail or "")
