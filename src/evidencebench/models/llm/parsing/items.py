"""A list with one item a line: ``- [3] pressure``, ``1. Sentence 3: pressure``, ``3: pressure``, quoted sentences."""

import re
from dataclasses import dataclass
from typing import Literal

from evidencebench.models.llm.parsing.numbers import Span, read_numbers, whole_number
from evidencebench.models.llm.parsing.phrases import MARKS, without_parentheses
from evidencebench.models.llm.parsing.text import ShownSentences, has_letter

ItemKind = Literal["number", "remark", "echo", "quote", "unread"]
"""Numbers alone; numbers with a remark; a number with its sentence's text; that text alone; not sure what."""

_HEAD = re.compile(
    r"(?P<indent>[ \t]*)(?P<bullet>(?:[-+>]|->|=>|\*(?!\*))[ \t]+|[-+](?=[\[#(]))?"
    r"(?P<ordinal>\*{0,2}\(?[0-9]{1,6}[.)]\*{0,2}(?=[ \t]+[^ \t]|[\[\"']))?[ \t]*"
)
_LEFT_OUT = re.compile(
    r"[\W_]{0,12}(?:(?:is|was|were|are)\s+)?"
    r"(?:excluded|omitted|rejected|discarded|dropped|skipped|removed|left\s+out|not\s)",
    re.IGNORECASE,
)
_BEHIND_A_NUMBER = re.compile(r"[\s\"'`*_]*(?:[:|(.,;]|-+[\s>]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListItem:
    """One line of a list; `spans` is empty where it is not sure which sentences it names."""

    kind: ItemKind
    indent: int
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemList:
    """One or more items, one below the other; `end` is the position behind them."""

    spans: list[Span]
    kinds: set[ItemKind]
    n_items: int
    end: int

    @property
    def is_quoted(self) -> bool:
        """Whether every item gives the text of its sentence."""
        return self.kinds <= {"quote", "echo"}


def read_item(line: str, shown: ShownSentences) -> ListItem | None:
    """Return a line as an item; None where it has neither bullet nor number nor sentence.

    The 3 of ``3. text`` only numbers the item.
    """
    head = _HEAD.match(line)
    if head is None:  # never, since the expression also matches nothing
        return None
    body, indent = line[head.end() :], len(head["indent"])
    ordinal = whole_number(head["ordinal"].strip("*(.)")) if head["ordinal"] else None
    if (quoted := _find_quoted(line[head.end("bullet") if head["bullet"] else 0 :], body, ordinal, shown)) is not None:
        return ListItem(kind="quote", indent=indent, spans=((quoted, quoted),))
    found = read_numbers(body, 0, len(body))
    if found is not None and found.spans and not found.is_open:
        rest = body[found.end :]
        kind: ItemKind = "remark" if without_parentheses(rest).strip(MARKS) else "number"
        kind = "echo" if shown.begins(found.spans[0][0], rest.lstrip(MARKS)) else kind
        is_marked = found.is_bracketed or found.is_labelled or kind != "remark" or _BEHIND_A_NUMBER.match(rest)
        if is_marked and (kind == "echo" or not _LEFT_OUT.match(rest)):
            return ListItem(kind=kind, indent=indent, spans=tuple(found.spans))
    is_item = head["bullet"] or head["ordinal"] or body[:1] in {'"', "'"}
    return ListItem(kind="unread", indent=indent) if is_item else None


def _find_quoted(whole: str, body: str, ordinal: int | None, shown: ShownSentences) -> int | None:
    """Return the index of the sentence whose text an item is; of several such sentences, that of the ordinal."""
    if not has_letter(body):
        return None
    index = shown.index_of(whole)
    if index is None and ordinal is not None and shown.begins(ordinal, body):
        return ordinal
    index = shown.index_of(body) if index is None else index
    return shown.index_of_part(body) if index is None else index


def begins_with_number(line: str) -> bool:
    """Whether a line begins with a number, marks aside, so that it may be an item that cannot be read."""
    return line.lstrip(MARKS + "[({")[:1].isdecimal()


def read_items(text: str, start: int, end: int, shown: ShownSentences) -> ItemList | None:
    """Return the list of items that begins at ``start``; None where there is none, or where its end is not sure.

    The list goes on over empty lines, over lines indented below an item, and over a remark right below one. Any other
    line ends it. It is not sure whether items behind that line belong to the list, unless the list holds numbers alone
    and those items explain them.
    """
    items: list[ListItem] = []
    position = last = start
    is_below_item = has_ended = False
    for line in text[start:end].split("\n"):
        position += len(line) + 1
        item = read_item(line, shown) if line.strip() else None
        if not line.strip():
            is_below_item = False
        elif item is None:
            if not items or (is_below_item and begins_with_number(line)):
                return None
            has_ended = has_ended or not is_below_item or line.rstrip(" *_").endswith(":")
        elif not items or item.indent <= items[0].indent:
            if not item.spans or (has_ended and (items[0].kind != "number" or item.kind == "number")):
                return None
            if not has_ended:
                items.append(item)
                last, is_below_item = position - 1, True
    kinds = {item.kind for item in items}
    if not items or len(kinds - {"echo"} | ({"remark"} if "echo" in kinds else set())) > 1:
        return None
    spans = [span for item in items for span in item.spans]
    return ItemList(spans=spans, kinds=kinds, n_items=len(items), end=last)
