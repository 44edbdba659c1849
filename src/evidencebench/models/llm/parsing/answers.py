"""The answer of a reply: the last place that holds a list and that is the reply's own, not the paper's."""

import re
from dataclasses import replace
from itertools import pairwise

from evidencebench.models.llm.parsing.found import Found, doubtful
from evidencebench.models.llm.parsing.keywords import Place, Tier, bare_places, places_of
from evidencebench.models.llm.parsing.loose_json import read_json
from evidencebench.models.llm.parsing.numbers import read_run
from evidencebench.models.llm.parsing.phrases import says_none
from evidencebench.models.llm.parsing.quotes import ShownSentences
from evidencebench.models.llm.parsing.tokens import Span
from evidencebench.models.llm.parsing.values import read_bare, read_items, read_value

_CHOICE = re.compile(
    r"(?<![^\W_])(?:i(?:'d|'ll|'ve|\s+would|\s+will|\s+have)?\s+(?:select|choose|pick|chose|selected|chosen|picked|go\s+with)"
    r"|(?:selected|chosen|best|final|relevant|key|evidence|following|these)\s+(?:evidence\s+)?(?:sentences?|indices|selection|list|picks|set)"
    r"|here\s+(?:are|is)|sentences\s+that\s|(?:my|final)\s+(?:selection|choice|list|pick|set)s?|(?:thus|therefore|hence|so):)",
    re.IGNORECASE,
)
_REST = re.compile(r"[\s*_`\"'.)\]}>~$\\,;!:-]*+")
_OPENS = re.compile(r"[\s*_`\"'>$\\-]*[\[(]")
_LIST_OPENS = re.compile(r"[\[{]|(?<![^\W_])(?:sentences?|indices|are|is)[\s:*_]{1,6}(?=#?[0-9])", re.IGNORECASE)
_CITES = re.compile(r"\[\s?#?[0-9]")
_INTRODUCTION = re.compile(r"^[^\n]{0,400}:[ \t*_]*$", re.MULTILINE)
_NO_SENTENCE = re.compile(r"(?<![^\W_])(?:no|none|not\s+any|nothing)(?![^\W_])", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_LIST_LINE = re.compile(r"^[ \t*_`>-]{0,9}\[[ \t]*[0-9][0-9, \t]{0,400}\][ \t.*_`]*$", re.MULTILINE)
_MAX_ALONE = 4000  # characters of a line that may be a list alone
_MAX_SHORT = 300  # characters of a reply that says in words that nothing is selected


def find_answer(text: str, shown: ShownSentences, *, is_cut: bool) -> Found | None:
    """Return the reply's answer, which may be an explicitly empty one; None where it has none.

    The places where an answer may stand are looked at from the last to the first, the sure ones before the others,
    and the first with a list is the answer. A place whose line, or what it says, stands in a sentence of the paper is
    not the reply's own: it is left out where it is quoted, and is otherwise the last resort.

    Parameters
    ----------
    text
        As `visible_text` returns it.
    shown
        The sentences that the prompt showed.
    is_cut
        Whether the reply was cut off, so that only a sure place is its answer.
    """
    sure = _sure_places(text, shown)
    ends = [min(place.end, later.start) for (place, _), (later, _) in pairwise(sure)]
    ends += [place.end for place, _ in sure[-1:]]
    resort: Found | None = None
    for (place, read), end in zip(reversed(sure), reversed(ends), strict=True):
        found = read or read_value(text, place.value, end, shown, is_strict=place.is_strict)
        if found is None or (place.is_alone and not _ends_line(text, found.end)):
            continue
        if not _is_borrowed(text, place, found, shown):
            return _settled(text, place, found, sure, shown)
        if not place.is_quoted and resort is None:
            resort = _settled(text, place, found, sure, shown)
    return resort or _less_sure(text, shown, (Tier.JSON_KEY,) if is_cut else (Tier.JSON_KEY, Tier.MIDLINE, Tier.WEAK))


def _settled(
    text: str, place: Place, found: Found, sure: list[tuple[Place, Found | None]], shown: ShownSentences
) -> Found:
    """Return the answer at the last place with one: the lists of all, where it is of ``Answer 1:``, ``Answer 2:``.

    It is doubtful where a keyword in quotation marks is part of a sentence, where a list on its own line follows one
    that says that there is none, and where the first of numbered answers is not 1.
    """
    if place.words[:1] not in "[{<\\" and text[place.start - 1 : place.start] in {'"', "'", "`"}:
        rest = text[found.end : found.end + 200].split("\n", 1)[0]
        if _LETTERS.search(rest) is not None:
            return doubtful(found.end)
    if not found.spans:
        return doubtful(found.end) if _LIST_LINE.search(text, found.end) else found
    if place.ordinal is None:
        return found
    if place.ordinal > len(sure):
        return doubtful(found.end)
    parts = {one.ordinal: one for one, _ in sure if one.ordinal is not None and one.start <= place.start}
    spans: list[Span] = []
    for ordinal in range(1, place.ordinal + 1):
        one = parts.get(ordinal)
        starts = [] if one is None else [later.start for later, _ in sure if later.start > one.start]
        end = min(starts, default=len(text))
        part = None if one is None else read_value(text, one.value, end, shown)
        if part is None or not part.spans:
            return doubtful(found.end)
        spans += part.spans
    return replace(found, spans=spans)


def _ends_line(text: str, position: int) -> bool:
    return not text[position : position + 200].split("\n", 1)[0].strip(" \t.,;*_`\"'$~")


def _sure_places(text: str, shown: ShownSentences) -> list[tuple[Place, Found | None]]:
    """Return the sure places in order, those of JSON and bare lists with what was found there."""
    bare: list[tuple[Place, Found | None]] = []
    inside: list[tuple[int, int]] = []
    for place in bare_places(text):
        if inside and place.value < inside[-1][1]:
            continue
        found = read_bare(text, place.value, shown)
        if found is not None:
            bare.append((place, found))
            inside.append((place.value, found.end))
    keywords = [
        (place, None)
        for place in places_of(text, Tier.SURE)
        if not any(start <= place.start < end for start, end in inside)
        and not (place.is_quoted and _is_on_borrowed_line(text, place, shown))
    ]
    return sorted([*bare, *keywords], key=lambda pair: pair[0].start)


def _less_sure(text: str, shown: ShownSentences, tiers: tuple[Tier, ...]) -> Found | None:
    read = _read_json(text)
    for tier in tiers:
        for place in reversed(places_of(text, tier)):
            if any(start <= place.start < end for start, end in read):
                continue
            found = read_value(text, place.value, _paragraph_end(text, place.value), shown, is_strict=place.is_strict)
            if found is None or found.read_by == "quotes" or _is_borrowed(text, place, found, shown):
                continue
            if tier is not Tier.MIDLINE or _is_last_word(text, found):
                return found
    return None


def _read_json(text: str) -> list[tuple[int, int]]:
    """Return where JSON that does parse stands, of which a key alone tells nothing more."""
    values = [(place.value, read_json(text, place.value)) for place in bare_places(text)]
    return [(start, value[1]) for start, value in values if value is not None]


def _is_last_word(text: str, found: Found) -> bool:
    """Whether a list within a line ends it, and what follows it neither chooses nor says that there is none."""
    rest = text[found.end :]
    return _ends_line(text, found.end) and _CHOICE.search(rest) is None and _NO_SENTENCE.search(rest) is None


def _paragraph_end(text: str, position: int) -> int:
    """Return the end of the second paragraph from here on: a list may stand below an empty line."""
    first = text.find("\n\n", position)
    second = -1 if first < 0 else text.find("\n\n", first + 2)
    return len(text) if second < 0 else second


def _is_borrowed(text: str, place: Place, found: Found, shown: ShownSentences) -> bool:
    """Whether a place, with what was found there, is a sentence of the paper or a part of one."""
    said = text[place.start : found.end][:_MAX_ALONE]
    return shown.may_hold(place.words) and shown.hold(_line_around(text, place.start), place.words, said)


def _is_on_borrowed_line(text: str, place: Place, shown: ShownSentences) -> bool:
    if not shown.may_hold(place.words):
        return False
    line = _line_around(text, place.start)
    return shown.hold(line, place.words, line)


def _line_around(text: str, position: int) -> str:
    """Return the line of a position, as far as is reasonable."""
    end = text.find("\n", position, position + _MAX_ALONE)
    start = text.rfind("\n", max(0, position - _MAX_ALONE), position) + 1 or max(0, position - _MAX_ALONE)
    return text[start : position + _MAX_ALONE if end < 0 else end]


def find_alone(text: str, shown: ShownSentences) -> Found | None:
    """Return the list of a reply without a keyword, where it is clearly no citation; None where there is none.

    * The whole reply is a list, a list of items, or quoted sentences, perhaps below one line that introduces it.
      An item without an introduction must be a number alone or repeat its sentence.
    * Its last line, or the only line of this kind, is a bracketed list.
    * Its last line or paragraph ends with a bracketed list, and words of choosing (*I select*, *the best sentences*)
      stand before it.
    * The whole reply says in words that nothing is selected.
    """
    text = text.strip()
    if not text:
        return None
    return _whole(text, shown) or _on_its_line(text) or _after_a_choice(text, shown) or _listed_last(text, shown)


def _whole(text: str, shown: ShownSentences) -> Found | None:
    found = read_bare(text, 0, shown) if text[0] in "[{(" else None
    if found is not None and _is_end(text, found.end):
        return found
    if text[0] == "{":
        return None
    run = read_run(text, 0, len(text))
    if run is not None and run.is_pure and _is_end(text, run.end):
        return Found(spans=run.spans, read_by="list", end=len(text), is_cut=run.is_cut)
    if len(text) <= _MAX_SHORT and "\n\n" not in text and says_none(text):
        return Found(spans=[], read_by="list", end=len(text))
    found = read_items(text, 0, shown, must_echo=True)
    return found if found is not None and _is_end(text, found.end) else None


def _is_end(text: str, position: int) -> bool:
    return _REST.fullmatch(text, position) is not None


def _on_its_line(text: str) -> Found | None:
    """Return the bracketed list that is the last line, or the only line of its kind."""
    alone: list[Found] = []
    start = 0
    is_last = False
    for line in text.split("\n"):
        if line.strip():
            run = read_run(line, 0, len(line)) if len(line) <= _MAX_ALONE and _OPENS.match(line) else None
            is_last = run is not None and run.is_pure and run.is_bracketed and not run.is_cut
            if run is not None and is_last:
                alone.append(Found(spans=run.spans, read_by="list", end=start + run.end))
        start += len(line) + 1
    return alone[-1] if is_last or len(alone) == 1 else None


def _after_a_choice(text: str, shown: ShownSentences) -> Found | None:
    paragraph = text[text.rfind("\n\n") + 1 :][-_MAX_ALONE:].strip()
    choices = list(_CHOICE.finditer(paragraph))
    opening = _LIST_OPENS.search(paragraph, choices[-1].end()) if choices else None
    run = None if opening is None else read_run(paragraph, opening.start(), len(paragraph))
    if run is None or not run.is_pure or run.is_cut or not _is_end(paragraph, run.end):
        return None
    if shown.hold(paragraph, choices[-1][0], paragraph[choices[-1].start() : run.end]):
        return None
    return Found(spans=run.spans, read_by="list", end=len(text))


def _listed_last(text: str, shown: ShownSentences) -> Found | None:
    """Return the items that a line which speaks of choosing introduces, if no number in brackets stands behind them."""
    for found in reversed(list(_INTRODUCTION.finditer(text))[-5:]):
        if _CHOICE.search(found[0]):
            items = read_items(text, found.end(), shown, must_echo=False)
            if items is not None and _CITES.search(text, items.end) is None:
                return items
    return None
