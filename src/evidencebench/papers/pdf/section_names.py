"""What the words of a heading, a label or a caption say of the text below them."""

import re
from enum import StrEnum

from evidencebench.papers.section_titles import plain_title

ABSTRACT_LABEL = re.compile(
    r"(?i:abstract|summary)\s*[.:\u2014\u2013-]+\s*(?=[A-Z])|(?:ABSTRACT|Abstract|SUMMARY)\s+(?=[A-Z])"
)
"""The word before an abstract, in its first line."""

KEYWORDS = re.compile(r"(?:key ?-?words?(?: and phrases)?|index terms|mesh terms)\b", re.IGNORECASE)
"""How the paragraph of keywords begins."""

_PART = re.compile(
    r"(?:backgrounds?|introduction|context|objectives?|aims?|purpose|rationale|hypothes[ei]s|importance|question|methods?|"
    r"(?:materials?|patients|subjects)(?: and |/)methods|methodology|(?:study )?design|setting|participants|patients|"
    r"subjects|interventions?|exposures?|(?:main |primary )?outcomes?(?: and)?(?: measures?)?|measurements?|"
    r"data sources|study selection|results?|findings|main results|limitations|discussion|interpretation|"
    r"conclusions?|significance|(?:clinical )?trial registration(?: number)?|registration|funding|"
    r"methodology/principal findings|conclusions?/significance)(?:(?:,| and|/) ?[a-z ]+)?"
)


class SectionSort(StrEnum):
    """What a section is, by its heading."""

    ABSTRACT = "abstract"
    BODY = "body"
    REFERENCES = "references"
    BACK_MATTER = "back matter"


_NAMES = {
    SectionSort.ABSTRACT: r"abstract|summary|synopsis",
    SectionSort.BODY: (
        r"backgrounds?|introduction|(?:materials?|patients|subjects|participants)(?:,? and|,) methods|"
        r"methods?(?: and materials?)?|experimental(?: section| procedures)?|results?(?: and discussion)?|"
        r"discussions?(?: and conclusions?)?|conclusions?|limitations|case reports?|statistical analys[ei]s|appendix.*"
    ),
    SectionSort.REFERENCES: (
        r"references?(?: and notes| cited| list)?|bibliography|literature(?: cited)?|works cited|notes and references"
    ),
    SectionSort.BACK_MATTER: (
        r"(?:acknowledge?ments?|funding|contributors|ethics approval|availability of data|(?:financial )?disclosures?|"
        r"(?:declaration|statement)s? of|data (?:availability|sharing)|(?:potential |financial )?"
        r"(?:competing|conflicting|conflicts?)(?: of)?(?: financial)? interests?|authors?['\u2019]?s?['\u2019]? "
        r"(?:contributions?|information|details|disclosures?))(?:[ ,/][^.]{0,50})?|"
        r"declarations|contributions|pre-?publication history|supplementary (?:materials?|information|data)|"
        r"supporting information|additional (?:files?|information)|(?:list of )?abbreviations(?: used)?|"
        r"consent for publication|grant support|sources? of (?:funding|support)|footnotes|"
        r"publisher['\u2019]s note|open access"
    ),
}
_PATTERNS = {section: re.compile(names) for section, names in _NAMES.items()}
_LEAST_SPACED = 4  # letters of a word that is spaced out


def section_of(heading: str) -> SectionSort | None:
    """Return what a heading announces; None where its words are the paper's own.

    >>> section_of("2. R E S U L T S")
    <SectionSort.BODY: 'body'>
    """
    name = name_of(heading)
    return next((section for section, pattern in _PATTERNS.items() if pattern.fullmatch(name)), None)


def is_abstract_part(heading: str) -> bool:
    """Say whether a heading is one of those within abstracts."""
    return _PART.fullmatch(name_of(heading)) is not None


def name_of(heading: str) -> str:
    """Return a heading as `plain_title` does, letters that are spaced out drawn together."""
    name = plain_title(heading)
    letters = name.split()
    return "".join(letters) if len(letters) >= _LEAST_SPACED and all(len(one) == 1 for one in letters) else name
