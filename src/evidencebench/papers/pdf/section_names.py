"""What the words of a printed heading or label say of the text below them, where `section_titles` is too strict."""

import re

from evidencebench.papers import section_titles
from evidencebench.papers.section_titles import BACK_MATTER_STEMS, SectionSort, plain_title

ABSTRACT_LABEL = re.compile(
    r"(?i:abstract|summary)\s*[.:\u2014\u2013-]+\s*(?=[A-Z])|(?:ABSTRACT|Abstract|SUMMARY)\s+(?=[A-Z])"
)
"""The word before an abstract, in its first line."""

KEYWORDS = re.compile(r"(?:key ?-?words?(?: and phrases)?|index terms|mesh terms)\b", re.IGNORECASE)
"""How the paragraph of keywords begins."""

# What may follow in a heading that is told by its type too: "Outcomes and follow-up", "Funding, and thanks".
_PART_GOES_ON = re.compile(r"(?:,| and|/) ?[a-z, ]+$")
_BACK_MATTER = re.compile(rf"(?:{BACK_MATTER_STEMS})[ ,/][^.]{{0,50}}")
_BODY = re.compile("appendix.*|statistical analys[ei]s")
_LEAST_SPACED = 4  # letters of a word that is spaced out


def section_of(heading: str) -> SectionSort | None:
    """Return what a heading announces; None where its words are the paper's own."""
    name = name_of(heading)
    if _BACK_MATTER.fullmatch(name):
        return SectionSort.BACK_MATTER
    return SectionSort.BODY if _BODY.fullmatch(name) else section_titles.section_of(name)


def is_abstract_part(heading: str) -> bool:
    """Say whether a heading is one of those within abstracts."""
    name = name_of(heading)
    return any(map(section_titles.is_abstract_part, (name, _PART_GOES_ON.sub("", name))))


def name_of(heading: str) -> str:
    """Return a heading as `plain_title` does, letters that are spaced out drawn together."""
    name = plain_title(heading)
    letters = name.split()
    return "".join(letters) if len(letters) >= _LEAST_SPACED and all(len(letter) == 1 for letter in letters) else name
