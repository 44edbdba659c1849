"""Where the abstract stands among a paper's first paragraphs: below its word, or where its place and shape tell it."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from evidencebench.papers.pdf.lines import TypeStyle
from evidencebench.papers.pdf.paragraphs import (
    ABSTRACT_LABEL,
    KEYWORDS,
    PartRole,
    PrintedParagraph,
    is_abstract_part,
    name_of,
    section_of,
)
from evidencebench.papers.sections import SectionSort, number_of

_N_PAGES = 3  # on which an abstract may stand
_LEAST_WORDS, _MOST_WORDS = 60, 750  # of an abstract without a heading; of any
_MOST_BEFORE = 120  # words of the body's type before its word; a "Summary" may stand further below
_FEWEST = 6  # words of a paragraph
_LEAST_SMALL = 0.5  # the share of words in small letters in sentences
_SAME, _SMALLEST = 0.35, 2.6  # points
_NARROWER = 0.75
_FIRST_NAMES = ("introduction", "background", "backgrounds")
_LEAST_TEXT = 25  # words below a heading of the body

Rank: TypeAlias = tuple[int, bool, bool, bool]

# What stands beside an abstract, in sentences too: how it begins, or what it holds.
_NOTICE = re.compile(
    r"\W*(?:copyright|\u00a9|\(c\) ?\d|correspond|address(?:es)?\b|e-?mail|cit(?:e|ation)\b|how to cite|edited|"
    r"editor|academic|review(?:ed|er)|received|accepted|published|article history|doi\b|https?:|open access|publisher|"
    r"licen[cs]e|conflicts? of|competing|(?:financial )?disclosure|declaration|supported by|presented at|"
    r"author contributions|this (?:article|work|study|paper|manuscript) (?:was (?:submitted|published|presented|"
    r"supported)|is (?:an open|"
    r"distributed|licensed|published)|has been)|key points|significance statement|department of|from the (?:department|"
    r"division|institute|school)|funding\b|\*|\u2020)"
    r"|.*(?:creative commons|all rights reserved|open[- ]access article|\w@\w|permits unrestricted|no competing)",
    re.IGNORECASE,
)


def is_notice(text: str) -> bool:
    """Whether a paragraph tells of the paper, as a copyright or an address does."""
    return _NOTICE.match(text) is not None


def is_sentence(text: str) -> bool:
    words = text.split()
    return len(words) >= _FEWEST and sum(word[0].islower() for word in words) > _LEAST_SMALL * len(words)


class FrontSearch:
    """Finds the abstract from a place on; ``headings`` have the places of all headings and how they stand out."""

    def __init__(
        self, paragraphs: Sequence[PrintedParagraph], first: int, headings: Mapping[int, Rank], body: TypeStyle
    ) -> None:
        self._paragraphs, self._first, self._headings, self._body = paragraphs, first, headings, body
        self._texts = [paragraph.text for paragraph in paragraphs]
        page = paragraphs[0].lines[0].page.number + _N_PAGES
        self._end = next((at for at, one in enumerate(paragraphs) if one.lines[0].page.number >= page), len(paragraphs))
        self._names = {at: name_of(self._texts[at]) for at in headings}
        begin = [at for at in headings if first <= at < self._end and self._begins_body(at)]
        introductions = [at for at in begin if self._names[at] in _FIRST_NAMES]
        self._limit = (introductions or begin or [self._end])[0]

    def roles(self) -> dict[int, PartRole]:
        """Return the role of each paragraph before the abstract's end; none where none is found."""
        named = self._named()
        is_named = named is not None
        start = self._unnamed() if named is None else named
        if start is None:
            return {}
        texts, labels = list[int](), list[int]()
        n_words, stop = 0, start
        is_alone = is_named and section_of(self._texts[start]) is SectionSort.ABSTRACT
        for stop in range(start + is_alone, len(self._paragraphs)):
            text = self._texts[stop]
            is_like = not texts or self._goes_on(stop, texts[0])
            if stop in self._headings or KEYWORDS.match(text) or is_abstract_part(text):
                if self._is_label(stop, start, labels, is_named=is_named):
                    labels.append(stop)
                elif texts:
                    break
            elif is_like and (not texts or ((stop - 1 in labels or is_sentence(text)) and not is_notice(text))):
                texts.append(stop)
                n_words += len(text.split())
            elif not is_like and self._has_body_type(stop) and is_sentence(text):
                break
            if n_words > _MOST_WORDS:
                break
        roles = dict.fromkeys(range(stop), PartRole.AUTHORS)
        if is_alone:
            roles[start] = PartRole.HEADING
        within = dict.fromkeys(labels, PartRole.LABEL) | dict.fromkeys(texts, PartRole.ABSTRACT)
        return roles | {at: role for at, role in within.items() if at < stop}

    def _has_body_type(self, at: int) -> bool:
        style = self._paragraphs[at].style
        return abs(style.size - self._body.size) < _SAME and style.name == self._body.name

    def _begins_body(self, at: int) -> bool:
        """Whether a heading is the first of the body."""
        text, below = self._texts[at], "".join(self._texts[at + 1 : at + 2])
        section, has_text = section_of(text), len(below.split()) >= _LEAST_TEXT and self._has_body_type(at + 1)
        if is_abstract_part(text) and not number_of(text):
            later = [name for place, name in self._names.items() if place > at]
            return (has_text or at + 1 in self._headings) and self._names[at] not in later
        if section is SectionSort.BODY or number_of(text):
            return True
        return section is None and has_text and is_sentence(below)

    def _named(self) -> int | None:
        """Return the place of the word "Abstract", alone or before the text."""
        n_words = 0
        for at in range(self._first, self._end):
            text = self._texts[at]
            if name_of(text) == "introduction" or n_words > _MOST_BEFORE:
                return None
            if section_of(text) is SectionSort.ABSTRACT or ABSTRACT_LABEL.match(text):
                return at
            n_words += len(text.split()) if self._has_body_type(at) and self._is_prose(at) else 0
        return None

    def _unnamed(self) -> int | None:
        """Return the place of the first of the paragraphs before the body that are shaped as an abstract."""
        if not (self._first or self._headings):
            return None
        prose = [at for at in range(self._first, self._limit) if at not in self._headings and self._is_prose(at)]
        words: Counter[tuple[float, bool, bool]] = Counter()
        for at in prose:
            if not self._has_body_type(at):
                words[self._look(at)] += len(self._texts[at].split())
        look, n_words = words.most_common(1)[0] if words else (None, 0)
        if n_words >= _LEAST_WORDS:
            return next(at for at in prose if self._look(at) == look)
        plain = [at for at in prose if self._has_body_type(at)]
        n_plain = sum(len(self._texts[at].split()) for at in plain)
        return plain[0] if plain and self._limit < self._end and _LEAST_WORDS <= n_plain <= _MOST_WORDS else None

    def _is_prose(self, at: int) -> bool:
        is_small = self._paragraphs[at].style.size < self._body.size - _SMALLEST
        return not is_small and is_sentence(self._texts[at]) and not is_notice(self._texts[at])

    def _look(self, at: int) -> tuple[float, bool, bool]:
        style = self._paragraphs[at].style
        return round(style.size, 1), style.is_bold, style.is_italic

    def _is_label(self, at: int, start: int, labels: Sequence[int], *, is_named: bool) -> bool:
        """Whether a heading stands within the abstract: the first right behind its heading, the others alike."""
        text = self._texts[at]
        if not is_named or section_of(self._texts[start]) is None:  # the abstract's text stands behind its word
            is_of_body = self._has_body_type(at + 1) and not self._has_body_type(start)
            if is_of_body and at > start:
                return False
        is_known, name = is_abstract_part(text), name_of(text)
        rank = self._headings.get(at)
        if name in {name_of(self._texts[label]) for label in labels} or not rank:
            return is_known and not rank
        if at >= self._limit and not is_named:
            return False
        above = self._headings.get(start)
        is_lower = rank > above if is_named and above else not self._has_body_type(at + 1)
        is_like = any(self._headings.get(label) == rank for label in labels) if labels else at <= start + 1
        return is_like and (is_known or is_lower)

    def _goes_on(self, at: int, first: int) -> bool:
        """Whether a paragraph looks like the abstract's first, and is no column of the body below it."""
        (size, *look), (first_size, *first_look) = self._look(at), self._look(first)
        edges = [[(line.left, line.right) for line in self._paragraphs[place].lines] for place in (at, first)]
        width, first_width = (max(right for _, right in lines) - min(left for left, _ in lines) for lines in edges)
        is_column = self._has_body_type(at) and width < _NARROWER * first_width
        return abs(size - first_size) < _SAME and look == first_look and not is_column
