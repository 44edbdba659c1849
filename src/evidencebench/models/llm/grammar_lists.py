"""Numbers, items, quoted sentences."""

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from evidencebench.files.disk import packaged_table

MAX_CHARACTERS = 100_000  # of a longer reply only the end is read, since the answer stands last; about 25,000 tokens
MAX_LINE = 4000  # only so many characters of a line are looked at
_PLAIN_MARKS = str.maketrans(
    {mark: plain for plain, marks in packaged_table(__file__, "marks.toml").items() for mark in marks}
)
_NO_QUOTES = str.maketrans("", "", "\"'`*")
_TURN_MARK = re.compile(r"<\|[^|<>\n]{0,40}\|>|</?s>|<(?:end|start)_of_turn>")  # servers leave them between turns
_NUMBERED = re.compile(r"[\s\"'`>*-]{0,9}\[\s?[0-9]{1,9}\s?\]")
_MIN_BEGINNING = 12


def plain_text(text: str) -> str:
    """Return a text with plain marks for decorated ones and plain line breaks; of an overlong text only the end."""
    return text[-MAX_CHARACTERS:].replace("\r\n", "\n").replace("\r", "\n").translate(_PLAIN_MARKS)


def without_turn_marks(text: str) -> str:
    return _TURN_MARK.sub("", text)


def comparable(text: str) -> str:
    """Return a text in the form in which quotations are compared: no case, blanks or quotes, plain dashes."""
    text = text if text.isascii() else text.translate(_PLAIN_MARKS)
    return "".join(without_turn_marks(text).casefold().translate(_NO_QUOTES).split()).strip(".,;:")


# Cached, since a paper's sentences are compared with each of its replies.
_comparable_sentence = lru_cache(maxsize=4096)(comparable)


def has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


def has_digit(text: str) -> bool:
    return any(letter in "0123456789" for letter in text)


def line_end_of(text: str, position: int, end: int) -> int:
    line_end = text.find("\n", position, end)
    return end if line_end < 0 else line_end


def line_around(text: str, position: int) -> str:
    start = max(text.rfind("\n", 0, position) + 1, position - MAX_LINE)
    return text[start : line_end_of(text, position, min(len(text), position + MAX_LINE))]


class ShownSentences:
    """The sentences of a prompt, by their index in the paper; forms for comparison are made when first needed."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self.texts = texts

    @cached_property
    def _by_text(self) -> dict[str, int]:
        """Comparable text -> the first index that has it."""
        return {_comparable_sentence(self.texts[index]): index for index in sorted(self.texts, reverse=True)}

    @cached_property
    def _lowered(self) -> str:
        whole = "\n".join(self.texts.values())
        return (whole if whole.isascii() else whole.translate(_PLAIN_MARKS)).casefold()

    def index_of(self, quoted: str) -> int | None:
        """Return the index of the first sentence with this text; None where there is none, or the text has no word."""
        return self._by_text.get(comparable(quoted)) if re.search(r"[^\W\d_]{2}", quoted) else None

    def begins(self, index: int, text: str) -> bool:
        """Whether a text and a sentence are equal, or one of them begins with the other, which has 12 characters."""
        if index not in self.texts:
            return False
        own, other = _comparable_sentence(self.texts[index]), comparable(text)
        shorter = min(len(own), len(other))
        return own[:shorter] == other[:shorter] and (shorter >= _MIN_BEGINNING or (own == other and shorter > 0))

    def hold(self, line: str, words: str, answer: str = "") -> bool:
        """Whether a line repeats the paper. `words` would make it an answer; `answer` is what they begin."""
        if words.casefold() not in self._lowered:  # a quick check, which settles nearly all replies
            return False
        numbered = _NUMBERED.match(line)
        own, holding = comparable(line[numbered.end() :] if numbered else line), comparable(words)
        joined = "\n".join(self._by_text)
        if (has_digit(own) and own in joined) or (answer and comparable(answer) in joined):
            return True
        known = (text for text in self._by_text if holding in text and text in own and has_digit(text))
        return any(not own[own.find(text) + len(text) :][:1].isdecimal() for text in known)


# A list of sentence numbers: ``[3, 17]``, ``[3]; [17]``, ``3, 5-7 and 9``, ``Sentences 3 (pressure) and #17``.

Span = tuple[int, int | None]
"""First and last number of a range; a single number stands twice. The last is None for a number that is not whole."""

MAX_DIGITS = 12  # a number with more digits is read as 10 to the power of this: it names no sentence

# A text is first turned into letters, one for each token. The grammar of lists is an expression over these letters:
# n number, l label, m minus or range, r range, s separator, b line break, [ ( { themselves, c closing, x all else.
_TOKEN = re.compile(
    r"""
    (?:[ \t"'`*_$]+|\\(?:[A-Za-z]+)?|</?[A-Za-z][^<>\n]{0,60}>|//[^\n]*|/\*[^*]{0,200}\*/|\#(?![ ]?[0-9])[^\n]*)
    |(?P<n>[0-9]++(?:\.[0-9]++)?+(?![\w%°‰€£²³±=]|-[^\W\d_]))
    |(?P<l>\#|s(?=[0-9])|(?:sentences?|sent|indices|index|idx|lines?|numbers?|nos?|ids?)(?![^\W_])[-_.:]?)
    |(?P<m>-(?=[0-9]))
    |(?P<r>\.\.+|[-~]+(?!>)|(?:to|through)(?![^\W_]))
    |(?P<s>->|=>|[,;&+|/>]|(?:and|or|then)(?![^\W_]))
    |(?P<b>\n)
    |(?P<open>[\[({])
    |(?P<c>[\])}])
    |(?P<x>.)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_REMARK = re.compile(r"\([^()\n]{0,200}\)")
_RANGE = "n(?:[mr]l?n)?+"  # 3 | 3-5 | 3 to sentence 5
_FIRST = f"(?:mn(?![mr])|l?{_RANGE})"  # -3 | sentence 3-5
_NEXT = "(?:sb*+)"
_FLAT = f"b*+(?:{_FIRST}(?:[sb]++{_FIRST}|{_RANGE})*+[sb]*+)?+(?:c|[mrl]*$)"  # 3, 17] | 3 17 up to the text's end
_WITHIN = rf"(?:{_FLAT}|b*+(?:l?[\[({{]{_FLAT}[sb]*+)++(?:c|[mrl]*$))"  # the same, or [3], [17]]
_LIST = re.compile(
    rf"l?(?P<open>[\[({{]){_WITHIN}(?:(?:(?:[mr]|{_NEXT}++)l?)?(?P=open){_WITHIN})*+{_NEXT}*+(?![mr]?l?(?P=open))"
    rf"|{_FIRST}(?:{_NEXT}++{_FIRST}|{_RANGE})*+{_NEXT}*+c?"
)
_SPAN = re.compile(r"m?n(?:c?[mr]l?[\[({]?l?(?P<last>n))?")


class NumberList(NamedTuple):
    spans: list[Span]
    end: int  # behind the last number or bracket
    is_bracketed: bool
    is_labelled: bool
    is_open: bool  # whether a bracket is not closed
    wants_more: bool  # whether it ends with a separator


def read_numbers(text: str, start: int, end: int) -> NumberList | None:
    """Return the list at a position; None where a bracket holds anything else. An empty one is a list without spans."""
    letters: list[str] = []
    tokens: list[re.Match[str]] = []
    position = start
    while letters[-1:] != ["x"] and (token := _TOKEN.match(text, position, end)):
        position = token.end()
        if token["open"] and letters and letters[-1] in "nc":
            remark = _REMARK.match(text, token.start(), end)
            if remark and has_letter(remark[0]):
                position = remark.end()
                continue
        if token.lastgroup is not None:
            letters.append(token["open"] or token.lastgroup)
            tokens.append(token)
    numbers = _LIST.match("".join(letters))
    if numbers is None:
        return None
    used = numbers[0].rstrip("sbmrl[({")
    n_open = sum(letter in "[({" for letter in numbers[0])
    return NumberList(
        spans=[_span_of(span, tokens) for span in _SPAN.finditer(used)],
        end=tokens[len(used) - 1].end() if used else start,
        is_bracketed=n_open > 0,
        is_labelled="l" in used,
        is_open=n_open > used.count("c"),
        wants_more=numbers[0].endswith(("s", "b")),
    )


def _span_of(span: re.Match[str], tokens: list[re.Match[str]]) -> Span:
    is_negative = span[0].startswith("m")
    values, are_whole = [], not is_negative
    for position in (span.start() + is_negative, span.start("last")):
        if position >= 0:
            whole, _, fraction = tokens[position][0].partition(".")
            values.append(whole_number(whole))
            are_whole = are_whole and not fraction.strip("0")
    return (-values[0] if is_negative else values[0], values[-1] if are_whole else None)


def whole_number(digits: str) -> int:
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= MAX_DIGITS else 10**MAX_DIGITS


MARKS = " \t.!?,;:*`_\"'$\\&+/|)]}<>#~-"  # the characters that may stand around a list and mean nothing

_WINDOW = 400
_NONE = re.compile(
    r"[\s\"'`*_(\[{<\\]*(?:none|nil|null|n/?a|nothing|not\s+applicable|empty(?:\s?(?:list|set))?|varnothing"
    r"|(?:there\s+(?:is|are)\s+)?(?:no|zero|0)\s+(?:[a-z]+\s+){0,4}?(?:sentences?|evidence|indices|selection))(?![^\W_])",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    r"(?<![^\W_])(?:except\w*|(?:other\s+than|apart\s+from|aside\s+from|save\s+for|besides)"
    r"|but\s+(?:for\s+)?(?:the\s+)?(?:sentences?|last|\w+th|first|second|third|one|two|three))(?![^\W_])",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?<![^\W_])(?:i(?:'m|\s+am)?\s+(?:[a-z]+\s+)?(?:can(?:\s?not|'t)|won't|will\s+not|must\s+not|(?:un|not\s+)able)"
    r"\s+(?:to\s+)?(?:help|assist|comply|answer|provide|fulfill?|do|engage|complete|continue|process|respond|give)"
    r"|i\s+(?:must|have\s+to|respectfully)\s+(?:decline|refuse)|against\s+(?:my|our|the)\s+(?:\w{1,20}\s+)?"
    r"(?:guidelines|polic(?:y|ies)))(?![^\W_])",
    re.IGNORECASE,
)
_DECLINES = packaged_table(__file__, "refusals.toml")["declines"]
_PHRASES_REMARK = re.compile(r"[\s*_`\"')\]}>$\\!?~]*+(?:[,;:.(-]|(?:because|since|as|for|which|that)(?![^\W_]))")
_ASIDE = re.compile(r"\([^()\n]{0,200}\)|</[A-Za-z_]{1,20}>")


def says_none(text: str) -> bool:
    """Whether a text begins by saying that no sentence is selected; its paragraph has no digit and no exception."""
    none = _NONE.match(text[:_WINDOW])
    rest = "" if none is None else text[none.end() : _WINDOW].split("\n\n", 1)[0]
    return none is not None and not has_digit(rest) and _EXCEPT.search(rest) is None


def refuses(text: str) -> bool:
    text = text.strip()
    ends = (text[:_WINDOW], text[-_WINDOW:])
    return any(_REFUSAL.search(end) or any(words in end.casefold() for words in _DECLINES) for end in ends)


def is_remark(rest: str) -> bool:
    rest = without_parentheses(rest)
    return not has_digit(rest) and (not has_letter(rest) or _PHRASES_REMARK.match(rest) is not None)


def without_parentheses(text: str) -> str:
    return _ASIDE.sub(lambda aside: "" if has_letter(aside[0]) else aside[0], text)


# A list with one item a line: ``- [3] pressure``, ``1. Sentence 3: pressure``, ``3: pressure``, quoted sentences.

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


class ListItem(NamedTuple):
    """One line of a list; `spans` is empty where it is not sure which sentences it names."""

    kind: ItemKind
    indent: int
    spans: tuple[Span, ...] = ()


class ItemList(NamedTuple):
    spans: list[Span]
    kinds: set[ItemKind]
    n_items: int
    end: int

    @property
    def is_quoted(self) -> bool:
        return self.kinds <= {"quote", "echo"}


def read_item(line: str, shown: ShownSentences) -> ListItem | None:
    """Return None without bullet, number and sentence. The 3 of ``3. text`` only numbers the item."""
    head = _HEAD.match(line)
    if head is None:  # never, since the expression also matches nothing
        return None
    body, indent = line[head.end() :], len(head["indent"])
    ordinal = whole_number(head["ordinal"].strip("*(.)")) if head["ordinal"] else None
    # A sentence may begin with a number, which only seems to be the ordinal.
    quoted = shown.index_of(line[head.end("bullet") if head["bullet"] else 0 :])
    if quoted is None and ordinal is not None and shown.begins(ordinal, body):
        quoted = ordinal
    if (quoted := shown.index_of(body) if quoted is None else quoted) is not None:
        return ListItem(kind="quote", indent=indent, spans=((quoted, quoted),))
    numbers = read_numbers(body, 0, len(body))
    if numbers is not None and numbers.spans and not numbers.is_open:
        rest = body[numbers.end :]
        kind: ItemKind = "remark" if without_parentheses(rest).strip(MARKS) else "number"
        kind = "echo" if shown.begins(numbers.spans[0][0], rest.lstrip(MARKS)) else kind
        is_marked = numbers.is_bracketed or numbers.is_labelled or kind != "remark" or _BEHIND_A_NUMBER.match(rest)
        if is_marked and (kind == "echo" or not _LEFT_OUT.match(rest)):
            return ListItem(kind=kind, indent=indent, spans=tuple(numbers.spans))
    is_item = head["bullet"] or head["ordinal"] or body[:1] in {'"', "'"}
    return ListItem(kind="unread", indent=indent) if is_item else None


def begins_with_number(line: str) -> bool:
    """Whether a line begins with a number, marks aside, so that it may be an item that cannot be read."""
    return line.lstrip(MARKS + "[({")[:1].isdecimal()


def read_items(text: str, start: int, end: int, shown: ShownSentences) -> ItemList | None:
    """Return None where it is not sure whether items behind a line that ended the list belong to it."""
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
            if not item.spans or has_ended:
                return None
            items.append(item)
            last, is_below_item = position - 1, True
    kinds = {item.kind for item in items}
    if not items or len(kinds - {"echo"}) > 1:
        return None
    spans = [span for item in items for span in item.spans]
    return ItemList(spans=spans, kinds=kinds, n_items=len(items), end=last)
