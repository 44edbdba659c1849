"""Which elements of a web page are left out, and the sort that they are counted as; `html_parts.toml` names them."""

import tomllib
from importlib.resources import files

from evidencebench.papers.html_tree import BLOCKS
from evidencebench.papers.markup_tree import Element
from evidencebench.papers.section_titles import SectionSort, plain_title, section_of

# Table of the file -> word -> sort.
_SORTS = {
    table: {word: sort for sort, words in sorts.items() for word in words}
    for table, sorts in tomllib.loads((files(__package__) / "html_parts.toml").read_text(encoding="utf-8")).items()
}
_TABLES_OF_LAYOUT = ("table", "h1", "h2", "h3")


def sort_left_out(element: Element) -> str | None:
    """Return the sort that an element is counted as where it is left out; None for one that is read."""
    attributes = element.attributes
    if "hidden" in attributes or "display:none" in attributes.get("style", "").replace(" ", ""):
        return "hidden text"
    if element.tag == "table":  # one that holds another one, or headings, lays the page out, as on old sites
        return None if element.first(*_TABLES_OF_LAYOUT) else "table"
    sort = _SORTS["tags"].get(element.tag) or _SORTS["roles"].get(attributes.get("role", ""))
    if sort or element.tag not in BLOCKS or element.tag in ("body", "html", "main"):
        return sort
    return next((_SORTS["names"][name] for name in names_of(element) if name in _SORTS["names"]), None)


def names_of(element: Element) -> list[str]:
    """Return the words of an element's class, and its id, in small letters."""
    return [*element.attributes.get("class", "").lower().split(), element.attributes.get("id", "").lower()]


def sort_of_section(title: str) -> str | None:
    """Return the sort that a section of this title is counted as where it is left out; None for one that is read."""
    section = section_of(title)
    if section is SectionSort.REFERENCES:
        return "references"
    return _SORTS["titles"].get(plain_title(title)) or (
        "other back matter" if section is SectionSort.BACK_MATTER else None
    )
