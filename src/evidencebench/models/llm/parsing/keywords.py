"""Where in a reply its answer may stand: behind the keyword, in a tag, a box, a fence or a JSON object."""

import re
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise

_MAX_PREFIX = 80
_MAX_PLACES = 40  # of one kind, the last ones
_MAX_BARE = 12


class Tier(IntEnum):
    """How surely a place holds the answer; a place of a lower tier is only looked at where no higher one has a list."""

    SURE = 0
    JSON_KEY = 1
    MIDLINE = 2
    WEAK = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place where the answer may stand.

    Attributes
    ----------
    start
        Where its keyword begins.
    value
        Where its list may begin.
    end
        Where it must end.
    tier
        How sure it is.
    words
        Its keyword.
    is_strict
        Whether the list must begin right there, without prose before it.
    is_quoted
        Whether a quotation mark opens its line, or, of tags and boxes, anything but decoration.
    is_alone
        Whether nothing may stand behind the list on its line.
    ordinal
        The number of a keyword that is one of several, as in ``Answer 2:``.
    """

    start: int
    value: int
    end: int
    tier: Tier
    words: str
    is_strict: bool = False
    is_quoted: bool = False
    is_alone: bool = False
    ordinal: int | None = None


_KEYWORD = re.compile(r"(?<![^\W_])answers?(?![^\W_])", re.IGNORECASE)
_WEAK = re.compile(
    r"(?<![^\W_])(?:sentences?|indices|indexes|selection|selected|choices?|picks|output)(?![^\W_])", re.IGNORECASE
)
_LATER = re.compile(
    r"^[\s*_#>-]{0,9}(?:(?:finally|final|corrected|correction|revised|updated|amended)"
    r"(?:[ \t]+(?:list|selection|set|version|choice|picks|sentences|indices)){0,2})[ \t*_]{0,9}:[ \t*_]{0,9}",
    re.IGNORECASE | re.MULTILINE,
)
_ORDINAL = re.compile(r"[ \t]*#?([0-9]{1,3})[ \t*_]{0,6}:(?:[ \t*_]|$)", re.MULTILINE)
_TAG = re.compile(
    r"<(?:(?:final|selected)[_-]?)?(?P<name>answers?|sentences|indices|selection)(?:\s[^<>\n]{0,40})?>", re.IGNORECASE
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s{0,3}(?=\{)")
_FENCE = re.compile(r"^[ \t]{0,8}```[^\n`]{0,20}\n\s*(?=[\[{])", re.MULTILINE)
_OBJECT = re.compile(r"^[ \t]*(?=\{\s*[\"'A-Za-z]|\[\s*[\"'{])", re.MULTILINE)
_KEY = re.compile(
    r"[\"'](?:selected[ _]?|evidence[ _]?|relevant[ _]?|final[ _]?)?"
    r"(?:sentences|sentence[ _]?(?:indices|ids|numbers)|indices|answers?|selection|selected|evidence|order)"
    r"[\"']\s{0,9}:",
    re.IGNORECASE,
)
_MIDLINE = re.compile(
    r"(?<![^\W_])answers?(?![^\W_])[\s*_`\"']{0,6}(?::|=|is|are|would\s+be|should\s+be)(?![^\W_])", re.IGNORECASE
)

_LEAD_WORDS = (
    "a above all and are based below best boxed chosen complete conclusion correct evidence final finally full "
    "hence here i in is it json key line list ll m mathbf my now of ok okay on our output overall part picks "
    "ready relevant required response result resulting s section selected sentence short so stage step sum "
    "summary supporting task text textbf that the then therefore these this those three thus to top two ve well "
    "will with would you your most requested indices one"
)
_LEADS = frozenset(_LEAD_WORDS.split())
_PREFIX_WORDS = re.compile(r"[^\W\d_]+")
_NUMBER_IN_BRACKETS = re.compile(r"\[\s*[0-9]")
_LIST_MARK = re.compile(r"[0-9]{1,3}(?![0-9.):])|[0-9]{4}")

_FORM = re.compile(
    r"(?<![^\W_])(?:should|must|shall|needs?|required?|ends?|ending"
    r"|form|format|formatted|forms|like"
    r"|such\s+as|example|e\.g|number|count"
    r"|total|length|instead|not|never|cannot|if|unless|would|could|wrote|said|say|says|template|instructions?|prompt"
    r"|asks?|asked|requests?|requested)(?![^\W_])",
    re.IGNORECASE,
)
_MAX_BEFORE = 400

_DECORATION = re.compile(r"[ \t*_`\"'\])>~$}]*")
_ASSIGNED = re.compile(r"(?::|->|=>|=|-+(?=\s)|>)(?:[ \t:*_`=>]|-(?![0-9]))*+")
_REMARK = re.compile(r"\([^()\n]{0,100}\)[ \t*_`]{0,6}(?=:|$|\n|\[|-)")
_WORDS = re.compile(
    r"(?![A-Za-z ]{0,40}(?:length|counts?|size|total|number\s+of|confidence|certainty|score|limit|budget"
    r"|format|type|style)"
    r"(?![^\W_]))[A-Za-z0-9 ,'()/_*-]{1,90}:[ \t*_`]{0,9}",
    re.IGNORECASE,
)
_VERB = re.compile(r"(?:is|are|would\s+be|should\s+be|will\s+be|reads?)(?![^\W_])[ \t*_`:]{0,9}", re.IGNORECASE)
_VALUE = re.compile(r"[\[({#|<\\0-9]|sentences?(?![^\W_])", re.IGNORECASE)


def places_of(text: str, tier: Tier) -> list[Place]:
    """Return the places of a tier, in order.

    * ``SURE``: the keyword (``answer``, any case and decoration) that starts its line, words such as *so my final*
      aside; a tag ``<answer>``; a LaTeX box; a line ``Final:`` or ``Corrected:`` with a list and nothing else.
    * ``JSON_KEY``: a key such as ``"sentences":`` anywhere, for JSON that does not parse.
    * ``MIDLINE``: ``answer:``, ``answer is`` within a line.
    * ``WEAK``: a word such as ``Selected sentences`` or ``Indices`` that starts its line and has a colon behind it.
    """
    if tier is Tier.SURE:
        later = [
            replace(place, is_strict=True, is_alone=True, is_quoted=False)
            for place in _plain_places(text, _LATER, tier)
        ]
        found = [*_keyword_places(text), *_tag_places(text), *_plain_places(text, _BOX, tier), *later]
    elif tier is Tier.JSON_KEY:
        found = _plain_places(text, _KEY, tier)
    elif tier is Tier.MIDLINE:
        found = [place for place in _plain_places(text, _MIDLINE, tier) if not _is_of_form(text, place.start)]
    else:
        found = _weak_places(text)
    return sorted(found, key=lambda place: place.start)


def bare_places(text: str) -> list[Place]:
    """Return the places where JSON or a list may stand without a keyword, in order: fences, and lines that open it."""
    found = [*_plain_places(text, _FENCE, Tier.SURE), *_plain_places(text, _OBJECT, Tier.SURE)]
    places = sorted({place.value: place for place in found}.values(), key=lambda place: place.value)
    # Of objects one behind the other the first is kept, from which all are read.
    firsts = (
        [later for one, later in pairwise([places[0], *places]) if not _follows(text, one, later)] if places else []
    )
    kept = {place.value: place for place in (*firsts[-_MAX_BARE:], *places[-_MAX_BARE:])}
    return [replace(kept[value], start=value, words=text[value]) for value in sorted(kept)]


def _follows(text: str, one: Place, later: Place) -> bool:
    return one is not later and text[one.value : later.value].rstrip(" \t\n,").endswith("}")


def _plain_places(text: str, pattern: re.Pattern[str], tier: Tier) -> list[Place]:
    found = list(pattern.finditer(text))[-_MAX_PLACES:]
    return [
        Place(
            start=one.start(),
            value=one.end(),
            end=len(text),
            tier=tier,
            words=one[0],
            is_strict=tier is not Tier.SURE,
            is_quoted=_is_midline(text, one.start()),
        )
        for one in found
    ]


def _is_of_form(text: str, position: int) -> bool:
    """Whether the words before a keyword within a line speak of what an answer should look like."""
    before = text[max(0, position - _MAX_BEFORE) : position]
    return _FORM.search(before[before.rfind("\n") + 1 :]) is not None


def _tag_places(text: str) -> list[Place]:
    places = []
    for found in list(_TAG.finditer(text))[-_MAX_PLACES:]:
        closing = text.find("</", found.end())
        while closing >= 0 and found["name"].lower() not in text[closing : closing + 24].lower():
            closing = text.find("</", closing + 2)
        end = len(text) if closing < 0 else closing
        places.append(
            Place(
                start=found.start(),
                value=found.end(),
                end=end,
                tier=Tier.SURE,
                words=found[0],
                is_quoted=_is_midline(text, found.start()),
            )
        )
    return places


def _is_midline(text: str, position: int) -> bool:
    """Whether more than decoration stands before a position on its line, as far as 400 characters."""
    before = text[max(0, position - _MAX_BEFORE) : position]
    return bool(before[before.rfind("\n") + 1 :].strip(" \t*_$-"))


def _keyword_places(text: str) -> list[Place]:
    places: list[Place] = []
    for found in reversed(list(_KEYWORD.finditer(text))):
        if len(places) >= _MAX_PLACES:
            break
        prefix = _prefix(text, found.start())
        if prefix is None or text[found.start() - 1 : found.start()] == "/":
            continue
        value = _value_behind(text, found.end())
        if value is not None:
            places.append(
                Place(
                    start=found.start(),
                    value=value[0],
                    end=len(text),
                    tier=Tier.SURE,
                    words=found[0],
                    is_strict=value[1],
                    is_quoted=prefix.lstrip(" \t-*")[:1] in {'"', "'", "`", ">"},
                    ordinal=int(ordinal[1]) if (ordinal := _ORDINAL.match(text, found.end())) else None,
                )
            )
    return places


def _prefix(text: str, position: int) -> str | None:
    """Return what stands before a keyword on its line; None where that is more than decoration and leading words."""
    line_start = text.rfind("\n", max(0, position - _MAX_PREFIX), position) + 1
    if line_start == 0 and position > _MAX_PREFIX:
        return None
    prefix = text[line_start:position]
    if not prefix:
        return prefix
    if _NUMBER_IN_BRACKETS.search(prefix) or _LIST_MARK.search(prefix) or "/" in prefix:
        return None
    return prefix if all(word.lower() in _LEADS for word in _PREFIX_WORDS.findall(prefix)) else None


def _value_behind(text: str, position: int) -> tuple[int, bool] | None:  # noqa: PLR0911 - one a form
    """Return where the list behind a keyword may begin, and whether it must; None where the word is no keyword here."""
    if ordinal := _ORDINAL.match(text, position):
        return ordinal.end(), False
    position = _end_of(_DECORATION, text, position)
    if assigned := _ASSIGNED.match(text, position):
        return assigned.end(), False
    if remark := _REMARK.match(text, position):
        position = _end_of(_DECORATION, text, remark.end())
        if assigned := _ASSIGNED.match(text, position):
            return assigned.end(), False
    if position >= len(text) or text[position] == "\n" or _VALUE.match(text, position):
        return position, False
    if verb := _VERB.match(text, position):
        return verb.end(), text[verb.end() - 1] != ":" and ":" not in verb[0]
    if words := _WORDS.match(text, position):
        return words.end(), False
    return None


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return position if found is None else found.end()


def _weak_places(text: str) -> list[Place]:
    places: list[Place] = []
    for found in reversed(list(_WEAK.finditer(text))):
        if len(places) >= _MAX_PLACES:
            break
        if _prefix(text, found.start()) is None:
            continue
        position = _end_of(_DECORATION, text, found.end())
        if remark := _REMARK.match(text, position):
            position = _end_of(_DECORATION, text, remark.end())
        if text[position : position + 1] in {":", "="}:
            value = _end_of(_DECORATION, text, position + 1)
            place = Place(
                start=found.start(), value=value, end=len(text), tier=Tier.WEAK, words=found[0], is_strict=False
            )
            places.append(place)
    return places
