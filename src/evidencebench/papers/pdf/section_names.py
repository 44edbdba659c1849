"""What the words of a heading, a label or a caption say of the text below them."""

import re
from enum import StrEnum

NUMBERING = re.compile(r"(?P<number>(?:\d{1,2}|[IVX]{1,4})(?:\.\d{1,2}){0,4})(?:[.)]\s*|\s+)(?=[A-Z])")
"""The number before a heading."""

CAPTION = re.compile(
    r"(?P<what>table|fig(?:ure|\.)?|box|scheme|chart|plate|panel|(?:additional|supplementary) (?:file|table|figure))\s*"
    r"(?:S?\d+|[IVX]+)[A-Za-z]?\s*(?:[.:|\u2014\u2013-]|$|(?=[A-Z(\u201c\[]))",
    re.IGNORECASE,
)
PICTURES = ("fig", "scheme", "chart", "plate")
"""How captions of pictures begin; the others are those of tables and boxes."""

ABSTRACT_LABEL = re.compile(
    r"(?i:abstract|summary)\s*[.:\u2014\u2013-]+\s*(?=[A-Z])|(?:ABSTRACT|Abstract|SUMMARY)\s+(?=[A-Z])"
)
"""The word before an abstract, in its first line."""

KEYWORDS = re.compile(r"(?:key ?-?words?(?: and phrases)?|index terms|mesh terms)\b", re.IGNORECASE)
"""How the paragraph of keywords begins."""

ABSTRACT_PART = re.compile(
    r"(?:background|introduction|context|objectives?|aims?|purpose|rationale|hypothes[ei]s|importance|question|methods?|"
    r"materials and methods|methodology|design|setting|participants|patients|subjects|interventions?|exposures?|"
    r"main outcomes?(?: and)?(?: measures?)?|measurements?|data sources|study selection|results?|findings|"
    r"main results|limitations|discussion|interpretation|conclusions?|significance|trial registration|registration|"
    r"funding|methodology/principal findings|conclusions?/significance)(?: and [a-z]+)?",
    re.IGNORECASE,
)
"""A heading within an abstract."""


class SectionSort(StrEnum):
    """What a section is, by its heading."""

    ABSTRACT = "abstract"
    BODY = "body"
    REFERENCES = "references"
    BACK_MATTER = "back matter"


_NAMES = {
    SectionSort.ABSTRACT: r"abstract|summary|synopsis",
    SectionSort.BODY: (
        r"background|introduction|(?:materials?|patients|subjects|participants)(?:,? and|,) methods|"
        r"methods?(?: and materials?)?|experimental(?: section| procedures)?|results?(?: and discussion)?|"
        r"discussions?(?: and conclusions?)?|conclusions?|limitations|case reports?|statistical analys[ei]s"
    ),
    SectionSort.REFERENCES: (
        r"references?(?: and notes| cited)?|bibliography|literature(?: cited)?|works cited|notes and references"
    ),
    SectionSort.BACK_MATTER: (
        r"acknowledge?ments?.*|funding.*|(?:financial )?disclosures?.*|(?:declaration|statement)s? of .*|declarations|"
        r"(?:potential |financial )?(?:competing|conflicting|conflicts?).*interests?.*|"
        r"authors?['\u2019]?s?['\u2019]? (?:contributions?|information|details|disclosures?).*|contributors.*|"
        r"contributions|pre-?publication history|supplementary (?:materials?|information|data)|supporting information|"
        r"additional (?:files?|information)|(?:list of )?abbreviations(?: used)?|data (?:availability|sharing).*|"
        r"availability of data.*|consent for publication|ethics approval.*|grant support|"
        r"sources? of (?:funding|support)|footnotes|publisher['\u2019]s note|open access|appendix.*"
    ),
}
_PATTERNS = {section: re.compile(names, re.IGNORECASE) for section, names in _NAMES.items()}
_LEAST_SPACED = 4  # letters of a word that is spaced out


def section_of(heading: str) -> SectionSort | None:
    """Return what a heading announces; None where its words are the paper's own.

    >>> section_of("2. R E S U L T S")
    <SectionSort.BODY: 'body'>
    """
    name = name_of(heading)
    return next((section for section, pattern in _PATTERNS.items() if pattern.fullmatch(name)), None)


def name_of(heading: str) -> str:
    """Return a heading without its number and the stop behind it, spaced letters drawn together."""
    name = NUMBERING.sub("", heading, count=1).strip().rstrip(".:").strip()
    letters = name.split()
    return "".join(letters) if len(letters) >= _LEAST_SPACED and all(len(one) == 1 for one in letters) else name
