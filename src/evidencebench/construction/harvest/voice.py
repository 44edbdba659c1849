"""Who speaks in a sentence of a review: a paper that it cites, or the review itself; told from a few words."""

import re

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
_SUBJECT = re.compile(
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
_THIS_STUDY = re.compile(rf"\b[Tt]his\ (?:\w+\ ){{0,2}}(?:{_STUDY}|intervention)\b(?![\s,]{{0,2}}[\[(])", re.VERBOSE)

_POINTING_BACK = re.compile(
    r"""
    (?:This|These|Those|Such|They|Their|Its|That|He|She|The\ (?:authors|latter|former|same))\b |
    It\ (?!(?:has|had|was|is|may|might|can|could|should|seems|appears)\ (?:\w+\ ){0,3}(?:that|to)\b)
    """,
    re.VERBOSE,
)


def continues(sentence: str, passage: str) -> bool:
    """Say whether an uncited sentence goes on about the study that the passage before it names.

    >>> continues("They found no difference.", "Smith et al. gave tea to adults [7].")
    True
    """
    return _CONTINUING.match(sentence) is not None and names_study(passage)


def names_study(passage: str) -> bool:
    """Say whether a passage speaks of a study or its authors, and not only in brackets.

    >>> names_study("Smith et al. gave tea [7]."), names_study("Tea helps (Smith et al. 2004).")
    (True, False)
    """
    return _NAMES_STUDY.search(_BRACKETED.sub("", passage)) is not None


def is_subject(before: str) -> bool:
    """Say whether what stands before a mark is whom it cites, as in "Smith et al. [7] found", and no statement.

    >>> is_subject("Smith et al. ["), is_subject("The dose falls with age [")
    (True, False)
    """
    return _SUBJECT.search(before) is not None


def points_back(sentence: str) -> bool:
    """Say whether a sentence begins with a word for what stands before it.

    >>> points_back("This may be why tea helps."), points_back("It has been shown that tea helps.")
    (True, False)
    """
    return _POINTING_BACK.match(sentence) is not None


def is_own(sentence: str) -> bool:
    """Say whether the review speaks of itself, and not only of an earlier paper of its authors.

    >>> is_own("We used the scale of Smith [7]."), is_own("We have previously shown that tea helps [7].")
    (True, False)
    """
    return bool(_COMPARING.search(sentence)) or _OWN.search(_OWN_EARLIER.sub("", sentence)) is not None


def rests_on_own(sentence: str) -> bool:
    """Say whether the first sentence of a passage speaks of "this study", which is none that it cites.

    >>> rests_on_own("The scale used in this study is old [7]."), rests_on_own("This study [7] was small.")
    (True, False)
    """
    return _THIS_STUDY.search(sentence) is not None
