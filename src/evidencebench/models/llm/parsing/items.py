"""Lists with one item a line: bullets, numbered lists, ``[12] text``, ``12: text``, quoted sentences, tables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from evidencebench.models.llm.parsing.numbers import Run, read_group, read_run
from evidencebench.models.llm.parsing.phrases import is_left_out
from evidencebench.models.llm.parsing.quotes import ShownSentences
from evidencebench.models.llm.parsing.tokens import Span, whole_number

_HEAD = re.compile(
    r"(?P<indent>[ \t]*)(?P<bullet>(?:[-+>]|\*(?!\*))[ \t]+|[-+](?=[\[#(]))?(?:\[[ xX]\][ \t]+)?"
    r"(?P<ordinal>\*{0,2}\(?[0-9]{1,6}[.)]\*{0,2}(?=[\s\[\"']|$))?[ \t]*"
)
_BEHIND_A_NUMBER = re.compile(r"[\s\"'`*_]*(?:[:|=(.,;]|-+[\s>]|->|$)")
_BARE_NUMBER = re.compile(r"[\"'`*_\s]*([0-9]{1,9})[\"'`*_]*\s+(?=\S)")
_LABEL_AND_LIST = re.compile(r":[\s*_]{0,9}(\[[0-9][0-9,;\s-]{0,400}\])[\s.*_]*$")
_LABELLED_AT_THE_END = re.compile(
    r"([\[(]\s?(?:sentences?|sent\.|indices|index|idx|\#|s(?=[0-9]))[^\[\]()\n]{1,80}[\])])[\s.*_\"']*$", re.IGNORECASE
)
_LETTERS = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item of a list.

    Attributes
    ----------
    indent
        Blanks before it.
    ordinal
        The number before a dot or a bracket, as in ``3. text``, which may be the item's own or a sentence's.
    spans
        Numbers that are marked as such.
    text
        All behind bullet and ordinal.
    whole
        All behind the bullet.
    is_pure
        Whether it holds numbers alone.
    is_left_out
        Whether it says that its numbers are not selected.
    """

    indent: int
    ordinal: int | None
    spans: tuple[Span, ...]
    text: str
    whole: str
    is_pure: bool
    is_left_out: bool = False


def read_item(line: str, shown: ShownSentences) -> Item | None:
    """Return the item that a line is; None where it has neither bullet, number nor quotation mark at its head."""
    head = _HEAD.match(line)
    if head is None:  # every part may be missing
        return None
    body = line[head.end() :]
    ordinal = None if head["ordinal"] is None else whole_number(head["ordinal"].strip("*(.)"))
    run = read_run(body, 0, len(body))
    is_marked = run is not None and (
        run.is_pure or run.is_bracketed or run.is_labelled or _BEHIND_A_NUMBER.match(body, run.end) is not None
    )
    whole = line[head.start("ordinal") if head["ordinal"] else head.end() :]
    if is_marked and (shown.index_of(whole) is not None or shown.index_of(body) is not None):
        is_marked = False
    spans = tuple(run.spans) if is_marked and run is not None else _spans_elsewhere(body, shown)
    is_item = bool(spans) or ordinal is not None or head["bullet"] is not None or body[:1] in {'"', "'", "`"}
    if not is_item:
        return None
    return Item(
        indent=len(head["indent"]),
        ordinal=ordinal,
        spans=spans,
        text=body,
        whole=whole,
        is_pure=run is not None and run.is_pure and is_marked,
        is_left_out=run is not None and is_marked and _is_left_out(run, body, shown),
    )


def _is_left_out(run: Run, body: str, shown: ShownSentences) -> bool:
    return is_left_out(body[run.end :]) and not shown.begins(run.spans[0][0], body[run.end :].lstrip(" \t:.*_`-\"'|"))


def _spans_elsewhere(body: str, shown: ShownSentences) -> tuple[Span, ...]:
    """Return what ``12 text``, ``label: [12]`` and ``text (sentence 12)`` name, if it is sure."""
    bare = _BARE_NUMBER.match(body)
    if bare is not None and shown.begins(int(bare[1]), body[bare.end() :]):
        return ((int(bare[1]), int(bare[1])),)
    tail = body[-500:]
    found = _LABEL_AND_LIST.search(tail) or _LABELLED_AT_THE_END.search(tail)
    if found is None or shown.index_of(body) is not None:
        return ()
    return tuple(read_group(tail, found.start(1), len(tail)).spans)


def spans_of_items(items: Sequence[Item], shown: ShownSentences) -> tuple[list[Span], bool]:
    """Return what items name, and whether quoted sentences alone told it.

    Numbers that are marked count (``1. [12] text`` is 12). Where no item has one, texts that are sentences count.
    Where there are none either, the numbers before dots count, unless they may only number the items: with text behind
    them, where the first is 0 or 1, or one follows another, as 2 and 3. Items that say that they are left out are.
    """
    items = [item for item in items if not item.is_left_out]
    if any(item.spans for item in items):
        return [span for item in items for span in item.spans or _quoted(item, shown)], False
    quoted = [span for item in items for span in _quoted(item, shown)]
    if quoted:
        return quoted, True
    ordinals = [item.ordinal for item in items if item.ordinal is not None]
    if not ordinals or len(ordinals) < len(items):
        return [], False
    may_number = ordinals[0] <= 1 or any(later == one + 1 for one, later in pairwise(ordinals))
    if may_number and any(item.text.strip(" \t*_`\"'") for item in items):
        return [], False
    return [(ordinal, ordinal) for ordinal in ordinals], False


def _quoted(item: Item, shown: ShownSentences) -> list[Span]:
    """Return the sentence whose text an item is, that of its ordinal where it is one of several."""
    if not _LETTERS.search(item.text):
        return []
    whole = shown.index_of(item.whole)
    if whole is not None:
        return [(whole, whole)]
    if item.ordinal is not None and shown.begins(item.ordinal, item.text):
        return [(item.ordinal, item.ordinal)]
    index = shown.index_of_part(item.text)
    return [] if index is None else [(index, index)]


def read_table(lines: Sequence[str], shown: ShownSentences) -> tuple[list[Span], bool]:
    """Return what a Markdown table names: its column of sentence numbers, else its quoted sentences.

    Of several columns of numbers the one whose head speaks of an index or a sentence counts. Where the table has no
    head it is the first one that does not only number the rows.
    """
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    rules = [n for n, row in enumerate(rows) if all(cell and not cell.strip(":- ") for cell in row)]
    head = rows[rules[0] - 1] if rules and rules[0] > 0 else []
    body = rows[rules[0] + 1 :] if rules else rows
    if not body:
        return [], False
    if not rules and len(body) == 1:
        run = read_run(",".join(body[0]), 0, sum(map(len, body[0])) + len(body[0]) - 1)
        return (run.spans if run is not None and run.is_pure else []), False
    columns: list[tuple[int, list[Span]]] = []
    for n in range(min(len(body[0]), 30)):
        runs = [read_run(row[n], 0, len(row[n])) if n < len(row) else None for row in body]
        if all(run is not None and run.is_pure for run in runs):
            spans = [span for run in runs if run is not None for span in run.spans]
            columns.append((_rank_of_column(head[n] if n < len(head) else "", spans, has_head=bool(head)), spans))
    best = min(columns, key=lambda column: column[0], default=None)
    if best is not None and best[0] < _ONLY_NUMBERS_ROWS:
        return best[1], False
    cells = [shown.index_of_part(cell) for row in body for cell in row]
    quoted: list[Span] = [(index, index) for index in cells if index is not None]
    return quoted, bool(quoted)


_ONLY_NUMBERS_ROWS = 9


_COLUMN_WORDS = ("index", "indices", "idx", "sentence", "sentences", "id", "ids", "number", "no", "#")
_WORD = re.compile("[a-z]+|#")


def _rank_of_column(head: str, spans: Sequence[Span], *, has_head: bool) -> int:
    """Return how little a column of numbers looks like one of sentences."""
    words = _WORD.findall(head.lower())
    firsts = [first for first, _ in spans]
    only_numbers = firsts == list(range(1, len(firsts) + 1))
    for rank, word in enumerate(_COLUMN_WORDS):
        if word in words and "of" not in words:
            is_sure = word.startswith(("ind", "idx", "sent"))
            return _ONLY_NUMBERS_ROWS if only_numbers and not is_sure else min(rank, _ONLY_NUMBERS_ROWS - 1)
    return _ONLY_NUMBERS_ROWS if has_head or (only_numbers and len(firsts) > 1) else _ONLY_NUMBERS_ROWS - 1
