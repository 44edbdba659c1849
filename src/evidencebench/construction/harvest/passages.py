"""The passages of a review, and who speaks in a sentence: a paper that it cites, or the review itself."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from evidencebench.construction.harvest.marks import CitationMark
from evidencebench.construction.harvest.references import ReferenceList
from evidencebench.papers.paper import Paper
from evidencebench.query import Kind

_STUDY = (
    "(?:study|trial|work|analysis|report|investigation|cohort|series|experiment|review|meta-analysis|paper|article|"
    "survey|RCT)"
)
_AUTHORS = "(?:authors|investigators|researchers)"
_REPORTED = r"""(?:also\ |further\ |then\ |thus\ |therefore\ |subsequently\ )?(?:
    found|reported|showed|demonstrated|observed|concluded|noted|suggested|stated|compared|investigated|evaluated|
    examined|assessed|studied|used|included|randomi[sz]ed|recruited|enrolled|attributed|hypothesi[sz]ed|speculated|
    argued|proposed|recommended|measured|analy[sz]ed|described|identified|detected|documented|calculated|estimated|
    discovered|confirmed|did\ not|were\ able|conducted|performed|administered|gave|treated|followed|reviewed|recorded|
    achieved|revealed|indicated)\b"""

# How a sentence begins that goes on about a paper: "They found", "The authors", "In their trial".
_CONTINUING = re.compile(
    rf"""
    (?:In|During|At\ the\ end\ of|From|According\ to|Based\ on)\ (?:that|their|the\ same|the\ latter)\ {_STUDY}\b |
    (?:The|These|Both)\ (?:study\ |same\ )?{_AUTHORS}\b |
    Their\ (?:\w+\ ){{0,2}}(?:{_STUDY}|results?|findings|data|participants|patients|subjects|sample)\b |
    (?:They|He|She)\ {_REPORTED} |
    That\ (?:same\ )?{_STUDY}\b | (?:The|This)\ same\ {_STUDY}\b |
    (?:This|The|In\ this|In\ the|The\ latter)\ {_STUDY},?\ (?:also\ |however,?\ |further\ )?
        (?:{_REPORTED}|had\b|there\ (?:was|were)\b)
    """,
    re.VERBOSE,
)
_BRACKETED = re.compile(r"\([^()]{0,300}\)")
_NAMES_STUDY = re.compile(
    rf"\bet\ al\b|\b(?:co-?workers|colleagues|{_AUTHORS}|{_STUDY}s?)\b", re.VERBOSE | re.IGNORECASE
)
# What stands before a mark is whom it cites, and no statement: "Smith et al. [", not "The dose falls with age [".
SUBJECT = re.compile(
    rf"""
    (?:\bal\b\.?|\b[A-Z][\w'\u2019-]*[a-z]|\b(?:co-?workers|colleagues|{_AUTHORS}|group|{_STUDY}s?))
    (?:,?\ (?:in\ )?\(?(?:19|20)\d\d\)?)?[\s,.'\u2019]*[\[(]?\s*$
    """,
    re.VERBOSE,
)

_OWN = re.compile(
    rf"""
    \b(?:[Ww]e|[Oo]urs?|us)\b |
    \b(?:[Pp]resent|[Cc]urrent)\ (?:\w+\ )?{_STUDY}\b |
    \b[Tt]his\ (?:systematic\ )?(?:review|meta-analysis|article|paper|protocol)\b
    """,
    re.VERBOSE,
)
# Of the review's authors, but of an earlier paper: "We have previously shown", "our recent trial".
_OWN_EARLIER = re.compile(
    r"""
    \b(?:we|our(?:\ own|\ group|\ team|\ laboratory|\ institution|\ cent(?:er|re))?)\ (?:have\ |had\ )?
    (?:previous|earlier|prior|recent|former|past|pilot)(?:ly)?\b | \bpreviously,?\ we\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LIKE = r"""\b(?:
    consistent\ with|in\ (?:\w+\ )?(?:accordance|agreement|line|keeping|concordance|contrast|accord)\ (?:with|to)|
    similar\ to|comparable\ (?:to|with)|corroborat\w+|concordant\ with|(?:dis)?agrees?\ with|congruent\ with|
    compatible\ with|contrary\ to|contradict\w*|supports?|confirms?|supported\ by|confirmed\ by)\b"""
# The review's own results beside those of the paper: "These results are consistent with".
_COMPARING = re.compile(
    rf"""
    ^(?:This|These|The|Such|Similar|It|That)\b[^.]{{0,80}}?{_LIKE} |
    ^Similar(?:ly)?\b[^.]{{0,60}}?\b(?:findings?|results?|observations?)\b |
    \b(?:[Tt]hese|[Oo]ur|[Tt]he\ present|[Tt]he\ current|[Tt]his)\ (?:\w+\ )?(?:findings?|results?|data|observations?)\b
        [^.]{{0,40}}?\b(?:support|confirm|consistent|agree|accord|corroborat|in\ line) |
    ,\ as\ (?:identified|reported|shown|described|observed|seen|found)\ (?:in|by)\ (?:others?|previous|earlier)\b |
    \bsupports?\ this\b
    """,
    re.VERBOSE,
)
# "This study" that is none that the passage cites: "in this study is old [7]", not "This study [7] was small".
THIS_STUDY = re.compile(rf"\b[Tt]his\ (?:\w+\ ){{0,2}}(?:{_STUDY}|intervention)\b(?![\s,]{{0,2}}[\[(])", re.VERBOSE)

# How a sentence begins with a word for what stands before it: "This may be", not "It has been shown that".
POINTING_BACK = re.compile(
    r"""
    (?:This|These|Those|Such|They|Their|Its|That|He|She|The\ (?:authors|latter|former|same))\b |
    It\ (?!(?:has|had|was|is|may|might|can|could|should|seems|appears)\ (?:\w+\ ){0,3}(?:that|to)\b)
    """,
    re.VERBOSE,
)


def continues(sentence: str, passage: str) -> bool:
    """Say whether an uncited sentence goes on about the study that the passage before it names."""
    return _CONTINUING.match(sentence) is not None and names_study(passage)


def names_study(passage: str) -> bool:
    """Say whether a passage speaks of a study or its authors, and not only in brackets.

    >>> names_study("Smith et al. gave tea [7]."), names_study("Tea helps (Smith et al. 2004).")
    (True, False)
    """
    return _NAMES_STUDY.search(_BRACKETED.sub("", passage)) is not None


def is_own(sentence: str) -> bool:
    """Say whether the review speaks of itself, and not only of an earlier paper of its authors."""
    return bool(_COMPARING.search(sentence)) or _OWN.search(_OWN_EARLIER.sub("", sentence)) is not None


# The most sentences before the first mark, or between two, that belong to a passage without a mark of their own.
MOST_UNCITED = 2
# A mark in brackets before a sentence, or alone.
_LEAD = re.compile(r"\([^()]{1,300}\)[.,;]?(?:\s+(?=[A-Z])|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Sentences ``first..last`` of a review, both included, and the marks in them."""

    first: int
    last: int
    marks: tuple[CitationMark, ...]

    @property
    def references(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(reference for mark in self.marks for reference in mark.references))


def passages_of(review: Paper, marks: Sequence[CitationMark], listed: ReferenceList) -> Iterator[Passage]:
    """Yield the passages of a review in order; each sentence with a mark is in exactly one.

    A sentence that cites several papers, or nobody knows which, is a passage of its own. One that cites a single paper
    goes on over the next sentences that cite it too, and over those without a mark that speak of it.
    """
    cited = _marks_by_sentence(review, marks)
    single: dict[int, str | None] = {}  # sentence -> the only reference that it cites; None: several, or not known
    for sentence, sentence_marks in cited.items():
        named = {mark.references for mark in sentence_marks}
        ids = {reference for references in named for reference in references}
        single[sentence] = ids.pop() if len(ids) == 1 and () not in named else None
    body = (index for index, kind in enumerate(review.kinds) if kind is Kind.BODY)
    for _, members in groupby(body, key=lambda index: review.places[index].paragraph):
        indices = list(members)
        free, stop = indices[0], indices[-1] + 1  # the first sentence that is in no passage yet
        for at in range(free, stop):
            if at < free or at not in cited:
                continue
            first = last = at
            if (reference := single[at]) is not None:
                while (after := _next(review.sentences, single, at, last, stop)) is not None:
                    last = after
                first = _beginning(review.sentences, listed[reference].surname, at, free)
            of_passage = [mark for sentence in range(first, last + 1) for mark in cited.get(sentence, ())]
            yield Passage(first=first, last=last, marks=tuple(of_passage))
            free = last + 1


def _next(texts: Sequence[str], single: Mapping[int, str | None], at: int, last: int, stop: int) -> int | None:
    behind = range(last + 1, min(last + 2 + MOST_UNCITED, stop))
    again = next((sentence for sentence in behind if sentence in single), None)
    between = range(last + 1, behind.stop if again is None else again)
    passage = " ".join(texts[max(at, last - MOST_UNCITED) : last + 1])
    if again is not None and single[again] == single[at]:
        is_same = names_study(passage) and not any(is_own(texts[sentence]) for sentence in between)
        if is_same or not between:
            return again
    return last + 1 if between and continues(texts[last + 1], passage) else None


def _beginning(texts: Sequence[str], surname: str, at: int, free: int) -> int:
    """Return the first sentence of a passage: the cited one, or one before it that introduces its paper."""
    for first in range(at - 1, max(free, at - 1 - MOST_UNCITED) - 1, -1):
        text = texts[first]
        is_named = len(surname) > 1 and re.search(rf"\b{re.escape(surname)}\b", text) is not None
        if is_named and not is_own(text):
            return first
        if not continues(texts[first + 1], text):
            break
        if not continues(text, "study"):
            return first
    return at


def _marks_by_sentence(review: Paper, marks: Sequence[CitationMark]) -> Mapping[int, list[CitationMark]]:
    """Return the marks of each sentence of the body that has any; "(Smith, 2004) They" cites for the one before."""
    body = [index for index, kind in enumerate(review.kinds) if kind is Kind.BODY]
    body_set = frozenset(body)
    starts = [review.spans[index].start for index in body]
    by_sentence: defaultdict[int, list[CitationMark]] = defaultdict(list)
    for mark in marks:
        at = mark.start if mark.start < mark.stop else mark.start - 1
        place = bisect_right(starts, at) - 1
        if place < 0:
            continue
        index = body[place]
        lead = _LEAD.match(review.sentences[index])
        is_before = lead is not None and mark.text in lead[0] and index not in by_sentence
        if is_before and index - 1 in body_set and review.places[index - 1].paragraph == review.places[index].paragraph:
            index -= 1
        by_sentence[index].append(mark)
    return by_sentence
