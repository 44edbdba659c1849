"""Find the role of each sentence, such as methods or results, from headings and the labels of abstracts."""

import re
from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise

from evidencebench.query import Kind, Query
from evidencebench.sections import sections_of


class Role(IntEnum):
    """What a section or a part of an abstract is about."""

    UNKNOWN = 0
    BACKGROUND = 1
    OBJECTIVE = 2
    METHODS = 3
    RESULTS = 4
    DISCUSSION = 5
    CONCLUSION = 6
    BACK_MATTER = 7


# Tried in this order: "results and discussion" is results.
_TITLES: tuple[tuple[Role, str], ...] = (
    (
        Role.BACK_MATTER,
        (
            r"acknowledge?ments?|references|funding|abbreviations|disclaimers?|conflicts? of interest"
            r"|competing interests|author contributions|supplementary|supporting information|appendix|footnotes"
            r"|key ?words|data availability"
        ),
    ),
    (Role.CONCLUSION, r"conclusions?|concluding|summary|interpretation|implications|comments?|wnioski"),
    (Role.RESULTS, r"results?|findings|observations|wyniki"),
    (Role.DISCUSSION, r"discussion"),
    (
        Role.METHODS,
        (
            r"methods?|materials?|experimental|procedures?|design|patients|subjects|participants|setting|statistic\w*"
            r"|data collection|animals|chemicals|methodology|interventions?|measurements?|assay"
        ),
    ),
    (Role.OBJECTIVE, r"objectives?|aims?|purpose|goals?"),
    (Role.BACKGROUND, r"introduction|background|context|rationale"),
)
_TITLE = [(section, re.compile(rf"\b(?:{pattern})\b")) for section, pattern in _TITLES]
_NUMBERING = re.compile(r"^[\W\d_ivx]*[.):\s]\s*|^\W+")
_LONGEST_TITLE_WORDS = 8

# A label at the beginning of a sentence of the abstract: "Results:", "Methods and results.", or "Results" before a
# capital. The label's last word decides the role.
_BEFORE_LABEL = re.compile(r"\W*")
_LABEL_WORD = re.compile(r"[A-Za-z]+")
_BETWEEN_LABEL_WORDS = re.compile(r"[ /&,-]{1,3}(?=[A-Za-z])")
_LABEL_END = re.compile(r"[\])]?(?:\.?[:\u2014]|\s{0,3}[:.\u2013\u2014-]+(?=\s|$)|\s{1,3}[A-Z0-9]|\s*$)")
_LONGEST_LABEL_WORDS = 4


def title_role(title: str) -> Role:
    """Return the role that a heading names, such as results for "3. Findings"; `Role.UNKNOWN` if it names none."""
    words = _NUMBERING.sub("", title.lower().strip())
    if len(words.split()) > _LONGEST_TITLE_WORDS:
        return Role.UNKNOWN
    for section, pattern in _TITLE:
        if pattern.match(words):
            return section
    return next((section for section, pattern in _TITLE if pattern.search(words)), Role.UNKNOWN)


def label_role(sentence: str) -> Role:
    """Return the role that the label of an abstract's sentence names, such as "RESULTS:"; else `Role.UNKNOWN`."""
    place = _BEFORE_LABEL.match(sentence)
    for _ in range(_LONGEST_LABEL_WORDS):
        word = _LABEL_WORD.match(sentence, place.end()) if place else None
        if word is None:
            break
        section = next((section for section, pattern in _TITLE if pattern.fullmatch(word[0].lower())), None)
        if section is not None and _LABEL_END.match(sentence, word.end()):
            return section
        place = _BETWEEN_LABEL_WORDS.match(sentence, word.end())
    return Role.UNKNOWN


def roles_of(query: Query) -> list[Role]:
    """Return the role of each sentence: what the last heading that has one names, in the abstract the last label."""
    roles = []
    in_body = in_abstract = Role.UNKNOWN
    for sentence, kind in zip(query.sentences, query.kinds, strict=True):
        if kind is Kind.ABSTRACT:
            in_abstract = label_role(sentence) or in_abstract
        elif kind is Kind.HEADING:
            in_body = title_role(sentence) or in_body
        roles.append(in_abstract if kind is Kind.ABSTRACT else in_body)
    return roles


def runs_of(kinds: Sequence[Kind]) -> list[tuple[int, int]]:
    """Return, for each sentence, its place in its run and the run's length; a run is a heading and what follows it."""
    starts = [section.start for section in sections_of(kinds) if section.has_heading or section.start == 0]
    runs = pairwise([*starts, len(kinds)])
    return [(index - start, end - start) for start, end in runs for index in range(start, end)]
