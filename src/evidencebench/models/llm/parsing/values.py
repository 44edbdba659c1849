"""The list that stands at a place of a reply, such as behind the keyword, in any of the forms that models use."""

import re
from collections.abc import Iterator
from typing import Any

from evidencebench.models.llm.parsing.found import Found, ReadBy, doubtful
from evidencebench.models.llm.parsing.items import Item, read_item, read_table, spans_of_items
from evidencebench.models.llm.parsing.json_lists import listed_in
from evidencebench.models.llm.parsing.loose_json import read_json
from evidencebench.models.llm.parsing.numbers import NEXT_GROUP, Run, line_end_of, read_group, read_run
from evidencebench.models.llm.parsing.phrases import says_none
from evidencebench.models.llm.parsing.quotes import ShownSentences
from evidencebench.models.llm.parsing.tokens import Span, whole_number

_START = re.compile(r"(?:[\s*_~$]|```[A-Za-z0-9]{0,12}[ \t]*(?=\n))*+")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_JSON_START = re.compile(r"\{\s*[\"'A-Za-z]|\[\s*[\"'{]")
_SQUARE_LIST = re.compile(r"[\[{](?=\s{0,9}(?:sentences?\s{0,3})?#?[0-9])", re.IGNORECASE)
_NAMED_NUMBERS = re.compile(
    r"(?<![^\W_])(?:sentences?|indices|numbers)\s{1,3}(?:(?:are|is)[\s:]{1,3})?(?=[#0-9])", re.IGNORECASE
)
_BEFORE_THE_LIST = re.compile(
    r"(?::|(?<![^\W_])(?:are|is|be|choose|select|pick|answer|list|therefore|thus))[\s*_`]*$", re.IGNORECASE
)
_NEXT_OBJECT = re.compile(r"[\s,]*\n[\s,]*(?=\{)")
_QUOTED = re.compile(r"\"([^\"\n]{8,2000})\"")
_HEAD_OF_ECHO = re.compile(r"^[^\w]{0,20}(?:sentence\s{0,3})?#?[0-9]{1,12}[\])}:.*_`\s|-]{0,20}", re.IGNORECASE)
_REASON = re.compile(
    r"\s{0,9}(?:[.;,:-]|(?:because|since|as|for|which|that|this|it|is|describes?|reports?|shows?|states?)(?![^\W_]))",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"[)\].,;:*_`\s-]{0,9}(?:and\s+|yet\s+)?(?:but|contradicted|opposed|also|plus|together|with|against|except|although|though"
    r"|however|besides|not)(?![^\W_])[^.\n]{0,200}[0-9]",
    re.IGNORECASE,
)
_SAYS_MORE = re.compile(r"[0-9]|(?<![^\W_])(?:not?|none|nor|but|only|never)(?![^\W_])|n't", re.IGNORECASE)
_COLON_ITEM = re.compile(
    r"(?:^|[;,])[\s*_]{0,9}(?:sentence[ \t])?[\[#]?([0-9]{1,12})\]?[ \t*_]{0,6}:(?=[ \t*_])", re.IGNORECASE
)
_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\*\*[^*\n]{1,80}\*\*:?[ \t]*$|[^\W\d][^\n\[\]]{0,79}:[ \t*_]*$)")
_CHOSEN = re.compile(
    r"(?<![^\W_])(?:sentences?|selected|selection|list|chosen|choices?|picks|indices|answers?|here|following)(?![^\W_])",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"(?<![^\W_])(?:not(?:es?)?|why|reasons?|reasoning|rationale|explanations?|exclu\w*|reject\w*|omit\w*|discard\w*|left"
    r"|others?|remarks?|consider\w*|candidates?|background|runners?|alternatives?|comments?|summary)(?![^\W_])",
    re.IGNORECASE,
)
_MAX_NONE = 400
_MAX_QUOTED = 500
_MAX_PROSE = 4000


def read_value(text: str, start: int, end: int, shown: ShownSentences, *, is_strict: bool = False) -> Found | None:
    """Return the list that stands at a place, which decorations and one line of introduction may precede.

    Parameters
    ----------
    text
        A reply.
    start, end
        Where to look: the list begins at the start, and the next candidate at the end.
    shown
        The sentences that may be quoted.
    is_strict
        Whether the list must begin here, in numbers or JSON: no prose before it, and no quoted sentences.
    """
    found = _value_at(text, start, end, shown, is_strict=is_strict)
    if found is not None or is_strict:
        return found
    start = _skipped(text, start, end)
    line_end = line_end_of(text, start, end)
    if line_end < end and text[start:line_end].rstrip(" \t*_").endswith(":"):
        return _value_at(text, line_end, end, shown)
    return None


def read_bare(text: str, start: int, shown: ShownSentences) -> Found | None:
    """Return the JSON value, or the bracketed list with nothing else on its last line, that opens at a place."""
    found, is_object = _json_at(text, start, len(text), shown)
    if found is not None or is_object:
        return found
    run = read_run(text, start, len(text))
    if run is not None and run.is_bracketed and run.is_pure:
        return Found(spans=run.spans, read_by="list", end=run.end, is_cut=run.is_cut)
    group = read_group(text, start, len(text)) if text[start : start + 1] in {"[", "{"} else None
    if group is not None and group.is_empty and group.is_closed:
        return Found(spans=[], read_by="list", end=group.end)
    return None


def _skipped(text: str, start: int, end: int) -> int:
    found = _START.match(text, start, end)
    return start if found is None else found.end()


def _value_at(  # noqa: PLR0911 - one a form
    text: str, start: int, end: int, shown: ShownSentences, *, is_strict: bool = False
) -> Found | None:
    start = _skipped(text, start, end)
    found, is_decided = _plain_at(text, start, end, shown)
    if is_decided:
        return found
    found = _colon_items_at(text, start, end, shown)
    if found is not None:
        return found
    run = read_run(text, start, end)
    if run is not None and _may_go_on(text, start, end, run, shown):
        return doubtful(run.end)
    found = None if run is None else _in_one_piece(text, start, end, run, shown)
    if found is not None:
        return found
    if is_strict:
        return None if run is None else _as_found(text, run)
    if run is not None and run.is_labelled and _is_in_prose(text, start, end, run):
        rest = text[run.end : line_end_of(text, run.end, end)]
        found = _prose_at(text, start, end) or _as_found(text, run)
        return doubtful(run.end) if found.spans == run.spans and _SAYS_MORE.search(rest) else found
    if run is not None and run.is_bracketed and not _starts_line(text, start):
        found = _with_remarks(text, run, end, shown)
        if found is not None:
            return found
    return (
        _lines_at(text, start, end, shown, "keyword")
        or _prose_at(text, start, end)
        or _quotes_at(text, start, end, shown)
        or (_as_found(text, run) if run is not None and _is_with_reason(text, start, end, run) else None)
    )


def _may_go_on(text: str, start: int, end: int, run: Run, shown: ShownSentences) -> bool:
    """Whether words such as *but* with a number follow a list on the keyword's line."""
    line_end = line_end_of(text, run.end, end)
    return (
        not run.is_pure
        and _MORE.match(text, run.end, line_end) is not None
        and not _starts_line(text, start)
        and shown.index_of(text[start:line_end]) is None
    )


def _plain_at(  # noqa: PLR0911 - one a form
    text: str, start: int, end: int, shown: ShownSentences
) -> tuple[Found | None, bool]:
    """Return what JSON, empty brackets, words such as *none* or a table say, and whether one of them stands here."""
    if start >= end:
        return None, True
    found, is_object = _json_at(text, start, end, shown)
    if found is not None or is_object:
        return found, True
    if text[start] in "[({":
        group = read_group(text, start, end)
        if group.is_empty:
            return Found(spans=[], read_by="keyword", end=group.end, is_cut=not group.is_closed), True
    nothing = says_none(text[start : min(end, start + _MAX_NONE)])
    if nothing:
        line_end = line_end_of(text, start, end)
        return Found(spans=[], read_by="keyword", end=line_end, may_go_on=_is_last(text, line_end)), True
    if nothing is False and not shown.indices_making(text[start : line_end_of(text, start, end)]):
        return doubtful(line_end_of(text, start, end)), True
    if text[start] == "|":
        return _table_at(text, start, end, shown, "keyword"), True
    return None, nothing is not None


def _colon_items_at(text: str, start: int, end: int, shown: ShownSentences) -> Found | None:
    """Return ``3: pressure; 17: risk`` on the keyword's line."""
    line_end = line_end_of(text, start, end)
    line = text[start:line_end][:_MAX_PROSE]
    items = list(_COLON_ITEM.finditer(line))
    if len(items) < 2 or items[0].start() > 0 or shown.index_of(line) is not None:  # noqa: PLR2004 - several
        return None
    numbers = [whole_number(item[1]) for item in items]
    return Found(spans=[(n, n) for n in numbers], read_by="keyword", end=line_end, may_go_on=_is_last(text, line_end))


def _is_with_reason(text: str, start: int, end: int, run: Run) -> bool:
    """Whether a number behind the keyword ends there, or has a reason behind it."""
    return not _starts_line(text, start) and _REASON.match(text, run.end, end) is not None


def _with_remarks(text: str, run: Run, end: int, shown: ShownSentences) -> Found | None:
    """Return ``[3] pressure; [17] risk`` on the keyword's line, which is no sentence that cites others."""
    line_end = line_end_of(text, run.end, end)
    later = list(NEXT_GROUP.finditer(text, run.end, line_end))
    if not later or shown.begins(run.spans[0][0], text[run.end : line_end].lstrip(" \t:.*_`-")):
        return None
    groups = [read_group(text, found.start("group"), end) for found in later if found["group"][0] == text[run.start]]
    spans = [*run.spans, *(span for group in groups for span in group.spans)]
    return Found(spans=spans, read_by="keyword", end=line_end) if groups else None


def _is_in_prose(text: str, start: int, end: int, run: Run) -> bool:
    """Whether a sentence of one line goes on behind a number, as in ``Sentence 12 is ...``."""
    line_end = line_end_of(text, start, end)
    is_one_line = line_end == end or not text[line_end : line_end + 2].strip()
    return is_one_line and not _starts_line(text, start) and text[run.end : run.end + 2].strip("*_` ").isalpha()


def _as_found(text: str, run: Run) -> Found:
    return Found(
        spans=run.spans,
        read_by="keyword",
        end=run.end,
        is_cut=run.is_cut,
        may_go_on=(not run.is_bracketed or run.wants_more) and _is_last(text, run.end),
    )


def _json_at(text: str, start: int, end: int, shown: ShownSentences) -> tuple[Found | None, bool]:
    """Return what the JSON at a place lists, and whether an object stands there."""
    if _JSON_START.match(text, start, end) is None:
        return None, False
    # A quotation mark that nothing closes would take all that follows into its text.
    value = _json_values(text[:end] if end < len(text) else text, start)
    listed = None if value is None else listed_in(value[0], shown)
    if value is None or listed is None or (listed.is_cut and value[1] < len(text)):
        return None, value is not None and isinstance(value[0], dict)
    read_by: ReadBy = "quotes" if listed.is_quoted else "json"
    return Found(spans=listed.spans, read_by=read_by, end=value[1], is_cut=listed.is_cut), True


def _json_values(text: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON value at a place; of objects one behind the other, as in lines of JSON, a list of them."""
    first = read_json(text, start)
    if first is None or not isinstance(first[0], dict):
        return first
    values, end = [first[0]], first[1]
    while (found := _NEXT_OBJECT.match(text, end)) is not None and len(values) < _MAX_QUOTED:
        value = read_json(text, found.end())
        if value is None:
            break
        values.append(value[0])
        end = value[1]
    return (values, end) if len(values) > 1 else first


def _in_one_piece(text: str, start: int, end: int, run: Run, shown: ShownSentences) -> Found | None:
    """Return a list in one piece: brackets over any lines, or numbers on one line; not the first of several items."""
    if run.is_cut:
        run = _uncut(text, start, end) or run
    is_one = run.n_elements == 1 and len(run.spans) == 1
    if not run.is_cut and (is_one or (not run.is_bracketed and "\n" in text[start : run.end])):
        return None  # items, perhaps
    line_end = line_end_of(text, run.end, end)
    if not run.is_bracketed and not run.is_pure and shown.index_of(text[start:line_end]) is not None:
        return None
    return _as_found(text, run)


def _uncut(text: str, start: int, end: int) -> Run | None:
    """Return the list up to the first empty line, where its bracket is not closed and text follows."""
    empty_line = text.find("\n\n", start, end)
    return None if empty_line < 0 else read_run(text, start, empty_line)


def _is_last(text: str, position: int) -> bool:
    """Whether nothing follows, not even a full stop."""
    return not text[position : position + 200].strip() and not text[position:].strip()


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a place, each with its start."""
    while start < end:
        line_end = line_end_of(text, start, end)
        yield start, text[start:line_end]
        start = line_end + 1


def _table_at(text: str, start: int, end: int, shown: ShownSentences, read_by: ReadBy) -> Found | None:
    rows, last = [], start
    for at, line in _lines(text, start, end):
        if not line.lstrip().startswith("|"):
            break
        rows.append(line)
        last = at + len(line)
    spans, is_quoted = read_table(rows, shown)
    if not spans:
        return None
    return Found(spans=spans, read_by="quotes" if is_quoted else read_by, end=last, may_go_on=_is_last(text, last))


def _lines_at(text: str, start: int, end: int, shown: ShownSentences, read_by: ReadBy) -> Found | None:
    """Return what a list of one item a line names; what is indented below an item is its explanation."""
    # The first line's own indent is lost where it stands behind the keyword.
    items, inner, last = _items_at(
        text, text.rfind("\n", 0, start) + 1 if _starts_line(text, start) else start, end, shown
    )
    spans, is_quoted = spans_of_items(items, shown)
    if inner and not is_quoted and not any(item.spans for item in items):
        is_clear = not spans and all(item.spans for item in inner)
        spans = [span for item in inner if not item.is_left_out for span in item.spans]
        if not is_clear:
            return doubtful(last)
    if not spans and any(item.is_left_out for item in items):
        return doubtful(last)
    if not spans:
        return _quoted_lines_at(text, start, end, shown)
    is_whole = len(items) == 1 and text[start] in "[({" and not _starts_line(text, start)  # ``ANSWER: [3]``
    return Found(
        spans=spans,
        read_by="quotes" if is_quoted else read_by,
        end=last,
        may_go_on=not is_whole and _is_last(text, last),
    )


def read_items(text: str, start: int, shown: ShownSentences, *, must_echo: bool) -> Found | None:
    """Return the list of items, or of quoted sentences, that stands at a place without a keyword.

    Parameters
    ----------
    text, start, shown
        As in `read_value`.
    must_echo
        Whether every item must be a number alone or repeat its sentence.
    """
    start = _skipped(text, start, len(text))
    if text[start : start + 1] == "|":
        return _table_at(text, start, len(text), shown, "list")
    if must_echo:
        items, _, _ = _items_at(text, start, len(text), shown)
        if not all(item.is_pure or not item.spans or _echoes(item, shown) for item in items):
            return None
    return _lines_at(text, start, len(text), shown, "list")


def _echoes(item: Item, shown: ShownSentences) -> bool:
    text = _HEAD_OF_ECHO.sub("", item.text, count=1)
    return len(item.spans) == 1 and shown.begins(item.spans[0][0], text)


def _starts_line(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip(" \t*_~$`")


def _items_at(text: str, start: int, end: int, shown: ShownSentences) -> tuple[list[Item], list[Item], int]:
    """Return the items of a list, those indented below them, and the position behind it.

    It goes on over empty lines and over lines right below an item that are none, and ends with a line that is none
    below an empty one, with a fence, and with an item of another kind. Where it begins below a heading that only names
    an aspect, it goes on below others of this kind.
    """
    items: list[Item] = []
    inner: list[Item] = []
    last, is_below_item, has_headings = start, False, False
    for at, line in _lines(text, start, end):
        if not line.strip():
            is_below_item = False
            continue
        if _FENCE.match(line):
            break
        item = read_item(line, shown)
        is_heading = (item is None or not item.spans) and _HEADING.match(line) is not None
        if is_heading and not is_below_item and (has_headings or not items) and _ASIDE.search(line) is None:
            if not items:
                has_headings = _CHOSEN.search(line) is None
                continue
            if has_headings:
                continue
        is_alike = item is not None and (not items or _is_alike(items[0], item))
        if item is not None and is_alike and (not items or item.indent <= items[0].indent):
            items.append(item)
            last, is_below_item = at + len(line), True
        elif item is not None and items and item.indent > items[0].indent:
            inner.append(item)
            last = at + len(line) if not items[0].spans else last
        elif not items or not is_below_item:
            break
    return items, inner, last


def _is_alike(first: Item, item: Item) -> bool:
    """Whether an item may belong to the list that another one begins."""
    if first.is_pure and not item.is_pure:
        return False
    return bool(first.spans) == bool(item.spans) or (first.ordinal is None) == (item.ordinal is None)


def _quoted_lines_at(text: str, start: int, end: int, shown: ShownSentences) -> Found | None:
    """Return the sentences that whole lines are, where the first line is one."""
    spans: list[Span] = []
    last = start
    for at, line in _lines(text, start, end):
        if not line.strip():
            continue
        indices = shown.indices_making(line)
        if not indices:
            break
        spans += [(index, index) for index in indices]
        last = at + len(line)
    return Found(spans=spans, read_by="quotes", end=last, may_go_on=_is_last(text, last)) if spans else None


def _prose_at(text: str, start: int, end: int) -> Found | None:
    """Return the one list of numbers in a paragraph, else its last one if words such as *are* stand before it."""
    empty_line = text.find("\n\n", start, end)
    end = min(end if empty_line < 0 else empty_line, start + _MAX_PROSE)
    runs: list[tuple[int, Run]] = []
    for pattern in (_SQUARE_LIST, _NAMED_NUMBERS):
        position = start
        while (found := pattern.search(text, position, end)) is not None and len(runs) < 50:  # noqa: PLR2004 - enough
            run = read_run(text, found.start() if pattern is _SQUARE_LIST else found.end(), end)
            if run is not None:
                runs.append((found.start(), run))
            position = found.end() if run is None else max(found.end(), run.end)
        if runs:
            break
    if not runs:
        return None
    at, run = runs[-1]
    if len(runs) > 1 and _BEFORE_THE_LIST.search(text[max(start, at - 60) : at]) is None:
        return None
    return _as_found(text, run)


def _quotes_at(text: str, start: int, end: int, shown: ShownSentences) -> Found | None:
    """Return the sentences that stand between quotation marks here."""
    spans: list[Span] = []
    last = start
    for n, found in enumerate(_QUOTED.finditer(text, start, end)):
        if n >= _MAX_QUOTED:
            break
        indices = shown.indices_in(found[1])
        spans += [(index, index) for index in indices]
        last = found.end() if indices else last
    return Found(spans=spans, read_by="quotes", end=last, may_go_on=_is_last(text, last)) if spans else None
