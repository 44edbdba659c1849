"""Blocks to sentences: paragraphs split."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

import msgspec

from evidencebench.errors import UnreadableError
from evidencebench.files.disk import BROKEN_JSON, mark_of, packaged_table
from evidencebench.papers.paper import Loss, PageBox, Paper, Place, SourcedText, SourceSpan, Unit
from evidencebench.papers.tree import decoded, without_ligatures
from evidencebench.query import Kind

_WORDS = {name: frozenset(words.split()) for name, words in packaged_table(__file__, "abbreviations.toml").items()}
_ABBREVIATIONS = ("never_last", "before_number", "seldom_last")
# Each abbreviation, as it stands and with a capital -> the lists that have it.
_LISTS = {
    form: {name for name in _ABBREVIATIONS if {form, form[0].lower() + form[1:]} & _WORDS[name]}
    for word in frozenset.union(*(_WORDS[name] for name in _ABBREVIATIONS))
    for form in (word, word[0].upper() + word[1:])
}
_LONGEST_BRACKET = 200  # characters before a stop, in which an open bracket is looked for
_LOOK_BACK = 40  # characters before a stop, in which the words before it are looked for

_CLOSING = "\"'\u2019\u201d\u00bb)\\]}"
_OPENING = "\"'\u2018\u201c\u00ab(\\[{"
_BRACKETS_AND_QUOTES = _OPENING.replace("\\", "")
_NUMBERS = r"\d{1,3}(?:[,\u2013-]\s?\d{1,3}){0,19}"
# Sources cited behind the stop: "drug. [3,4] The", "drug. [3][4] The" and, where they were raised, "drug.3, 4 The".
_CITED = (
    rf"(?:(?:\s?\[{_NUMBERS}\]|(?:(?<=[^\W\d_][.!?])|(?<=[)\]%][.!?])|(?<=[.!?][{_CLOSING}])){_NUMBERS}"
    r"|[\u00b9\u00b2\u00b3\u2070-\u2079]{1,9})"
    rf"(?:[,;]?\s?\[{_NUMBERS}\]){{0,9}})"
)
# The gap is empty where white space is missing: "end.The", "20%.Mortality". Every repeat is possessive or bounded, and
# the first begins at the first of several stops, so that the time is linear.
_STOP = re.compile(
    rf"(?P<mark>[.!?\u2026](?<![.!?\u2026]{{2}})[.!?\u2026]*+)(?P<closing>[{_CLOSING}]{{0,8}}+){_CITED}?+"
    r"(?P<gap>\s++(?=\S)|(?:(?<=[a-z][a-z)\]][.!?])|(?<=[\d)]%[.!?])|(?<=[)\]][.!?]))(?=[A-Z][a-z]))"
    rf"(?=[{_OPENING}]{{0,4}}+(?P<word>[^\s,;:.!?\u2026()\[\]{{}}\"\u201d]{{0,40}}+)(?P<behind>.?))"
)
_GOES_ON = frozenset("=\u00b1<>\u2264\u2265+%/&.,;:!?)]}\u2026")
# What may begin a sentence in a small letter: an item, "(ii) The", a footnote, "a Adjusted", and "n = 5".
_SMALL_BEGINNING = re.compile(r"\(?(?:[ivx]{1,4}|[a-z])\)\s|[a-z]\s[A-Z=<>\u2264\u2265]")
# What stands before a stop and is hardly an abbreviation: a long word, a bracket or a percentage.
_NO_ABBREVIATION = re.compile(r"(?<=[a-z]{5})|(?<=[)\]%])")
# What is not the end of a sentence, but its first word or that of an item in it: "1. Wash", "were: 1. Wash".
_ITEM = re.compile(r"(?:^(?:\d\d?|[A-Za-z]|[IVX]{1,4})|: [1aAiI]|; (?:\d\d?|[A-Za-z]|[ivx]{1,4}))$")
_INITIALS = re.compile(r"(?:[A-Z]\.-?){0,9}[A-Z]$")
# A capital that is a label or a unit, as in "vitamin C", "X and Y" and "5 M", no initial.
_LABEL = re.compile(rf"(?:\b[A-Z] (?:and|or|vs|to)|\d|\b(?i:{'|'.join(sorted(_WORDS['labels']))})) [A-Z]$")
_CODE = re.compile(r"[#(]?[A-Z]{0,10}[\s:/#-]{0,2}\d|[IVX]+\b")
_SUPPLEMENT = re.compile("(?i)suppl?$")
_PART = re.compile(r"[-\u2013/)\].]")


# What a sentence without a space behind its stop ends with; shorter words may be names of code, as in "data.Frame".
_LEAST_GLUED = 5
_NO_CODE = re.compile(r"[a-z]{5}$|[%)\]]$")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return start and stop of each sentence of a paragraph, without the white space around it, in linear time."""
    spans: list[tuple[int, int]] = []
    start = len(text) - len(text.lstrip())
    for stop in _STOP.finditer(text):
        if _is_end(text, start, stop):
            spans.append((start, stop.start("gap")))
            start = stop.end()
    if start < (end := len(text.rstrip())):
        spans.append((start, end))
    return spans


def _is_end(text: str, start: int, stop: re.Match[str]) -> bool:
    word = stop["word"]
    is_starter = word in _WORDS["starters"] and not (word == "A" and stop["behind"] == ".")
    if not is_starter and not _may_begin(text, stop):
        return False
    if stop["mark"] != ".":
        return True
    if word[:1].isdigit() and _is_in_brackets(text[max(start, stop.start() - _LONGEST_BRACKET) : stop.start()]):
        return False
    window = text[max(start, stop.start() - _LOOK_BACK) : stop.start()]
    before = " ".join(part.lstrip(_BRACKETS_AND_QUOTES) for part in window.rsplit(maxsplit=3)[-3:])
    is_code = text[stop.end("mark")].isdigit() or (not is_starter and _CODE.match(text, stop.end()) is not None)
    return _ITEM.search(before) is None and _may_be_last(before, stop, is_code=is_code, is_starter=is_starter)


def _is_in_brackets(before: str) -> bool:
    """Say whether brackets are open at the end of a text, as in "(StataCorp. 2009)"."""
    return before.rfind("(") > before.rfind(")")


def _may_begin(text: str, stop: re.Match[str]) -> bool:
    # In small letters only with a sign or a digit, as in p53, or where no abbreviation can stand before.
    word = stop["word"]
    if not stop["gap"]:
        return (
            len(word) >= _LEAST_GLUED
            and word[1:].islower()
            and _NO_CODE.search(text[max(0, stop.start() - 5) : stop.start()]) is not None
        )
    if text[stop.end()] in _GOES_ON:
        return False
    is_plain = word.islower() and word[0].isalpha() and word[0] < "\u0370" and not any(map(str.isdigit, word))
    if not is_plain or _SMALL_BEGINNING.match(text, stop.end()):
        return True
    return stop["mark"] == "." and not stop["closing"] and _NO_ABBREVIATION.match(text, stop.start()) is not None


def _may_be_last(before: str, stop: re.Match[str], *, is_code: bool, is_starter: bool) -> bool:
    last = before.rpartition(" ")[2]
    if _INITIALS.match(last):
        return is_starter or (len(stop["word"]) > 1 and _LABEL.search(before) is not None)
    lists = _LISTS.get(last) or _LISTS.get(_PART.split(last)[-1]) or ()
    if "before_number" in lists and (is_code or (_SUPPLEMENT.match(last) and stop["word"] in _WORDS["numbered"])):
        return False
    if "never_last" in lists:
        return is_starter and bool(stop["closing"])
    if "seldom_last" not in lists:
        return True
    return is_starter and stop.string[stop.end()] not in "(["  # "et al. [45] (Table 3)"


_REFUSED = packaged_table(__file__, "refused.toml")
# Files that no reader takes: their first bytes, what they are, and how to get their text.
_BEGINNINGS = [
    (start.encode("latin-1"), what, file["advice"]) for what, file in _REFUSED.items() for start in file["begins"]
]

_HEAD_BYTES = 4096
_MOST_LINES = 2000  # that are examined

# From this share of zero bytes in the head on, a file is taken for text of two bytes a letter.
_WIDE = 0.2

# A tag, except those that may stand within a sentence.
_TAG = r"(?!</?(?:i|b|u|em|strong|sub|sup|italic|bold)\b)</?[a-z][\w:.-]*(?:\s[^<>]*)?/?>"
_DOCUMENT = re.compile(rf"<\?xml|<!doctype|<!--|{_TAG}", re.IGNORECASE)
_TAGGED = re.compile(rf"{_TAG}|.*{_TAG}$", re.IGNORECASE)
_TAGGED_SHARE = 0.25

# The first command; formulas taken from a page can hold a whole document, so that one further below proves nothing.
_LATEX = re.compile(r"(?:\s|%[^\n]*+)*+\\(?:documentclass|documentstyle|begin\{document\}|usepackage|input\{)")
_OBJECT = re.compile(r'\s*(?:\[\s*)?\{\s*"[^"\n]*"\s*:')


def text_of(content: bytes, *, name: str) -> str:
    """Return the text of a file of plain text; raises `UnreadableError` for an archive, markup, JSON, LaTeX, ..."""
    for beginning, what, advice in _BEGINNINGS:
        if content.lstrip()[: len(beginning)] == beginning:
            raise _refusal(name, what, advice)
    if not mark_of(content)[0]:
        n_zeros = content[:_HEAD_BYTES].count(0)
        if n_zeros > _WIDE * len(content[:_HEAD_BYTES]):
            raise _refusal(name, "UTF-16 without a mark, or no text", "save it as UTF-8")
        if n_zeros:
            raise _refusal(name, "binary, with bytes of zero", "save its text as plain text first")
    text = without_ligatures(decoded(content, name=name))
    lines = list(islice(filter(None, map(str.strip, text.splitlines())), _MOST_LINES))
    n_tagged = sum(_TAGGED.match(line) is not None for line in lines)
    if lines and (_DOCUMENT.match(lines[0]) or n_tagged > _TAGGED_SHARE * len(lines)):
        raise _refusal(name, "markup, as XML and HTML are", "take its text out first")
    if lines and (_OBJECT.match(text) or _is_json(text) or sum(map(_is_json, lines)) > len(lines) / 2):
        raise _refusal(name, "JSON", "write its text as plain text first")
    if _LATEX.match(text):
        raise _refusal(name, "LaTeX", "take its text out first, as with detex")
    if _is_in_columns(lines):
        what = "in two columns side by side, as 'pdftotext -layout' writes"
        raise _refusal(name, what, "give the PDF, or its text without -layout")
    return text


_GAP = re.compile(r"\s{3,}")
_LEAST_LINE, _LEAST_COLUMN, _LEAST_LINES, _MOST_GAPS = 40, 15, 20, 0.4  # characters, of each part; lines, their share


def _is_in_columns(lines: Sequence[str]) -> bool:
    """Say whether most long lines are two parts with a gap between them, so that sentences run across columns."""
    long = [_GAP.split(line) for line in lines if len(line) >= _LEAST_LINE]
    n_parted = sum(len(parts) == 2 and min(map(len, parts)) >= _LEAST_COLUMN for parts in long)  # noqa: PLR2004
    return len(long) >= _LEAST_LINES and n_parted > _MOST_GAPS * len(long)


def _is_json(text: str) -> bool:
    """Say whether text is a JSON object or list; a citation such as ``[9]`` is one too, but few lines are citations."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        return bool(msgspec.json.decode(text, type=dict | list))
    except BROKEN_JSON:
        return False


def _refusal(name: str, what: str, advice: str) -> UnreadableError:
    return UnreadableError(f"{name}: expected a paper as text; it is {what}; {advice}")


def metadata_only(name: str, file_format: str, got: str) -> UnreadableError:
    return UnreadableError(
        f"{name}: {file_format}: expected a paper with its body, got metadata only: {got}; get the full text, as with "
        "'evidencebench papers fetch', or give the PDF"
    )


_Source = TypeVar("_Source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading, or a paragraph of the abstract or the body."""

    text: SourcedText  # not empty, white space collapsed, as `TextWriter.finish` returns it
    kind: Kind  # the paper's title is a heading too
    section: tuple[str, ...] = ()  # titles of the sections around it, outermost first, its own title apart
    page: int | None = None  # from 1; None in a format without pages
    is_sentence: bool = False  # it is not split, as in files of one sentence a line


def paper_of(
    blocks: Iterable[Block],
    *,
    name: str,
    file_format: str,
    title: str = "",
    ids: Mapping[str, str] | None = None,
    loss: Loss | None = None,
    warnings: tuple[str, ...] = (),
    units: tuple[Unit, ...] = (),
    locate: Callable[[list[tuple[int, int]]], tuple[PageBox, ...]] | None = None,  # of `SourcedText.pieces`
) -> Paper:
    sentences: list[str] = []
    kinds: list[Kind] = []
    places: list[Place] = []
    spans: list[SourceSpan] = []
    boxes: list[tuple[PageBox, ...]] = []
    paragraph = 0
    for block in blocks:
        whole = block.is_sentence or block.kind is Kind.HEADING
        for start, stop in [(0, len(block.text.text))] if whole else sentence_spans(block.text.text):
            sentences.append(block.text.text[start:stop])
            kinds.append(block.kind)
            places.append(Place(section=block.section, paragraph=paragraph, page=block.page))
            pieces = block.text.pieces(start, stop)
            spans.append(SourceSpan(start=min(pieces)[0], stop=max(piece[1] for piece in pieces)))
            if locate is not None:
                boxes.append(locate(pieces))
        paragraph += block.kind is not Kind.HEADING
    if not paragraph:
        raise metadata_only(name, file_format, "a title" if title else "no text")
    return Paper(
        name=name,
        format=file_format,
        title=title,
        sentences=tuple(sentences),
        kinds=tuple(kinds),
        places=tuple(places),
        spans=tuple(spans),
        boxes=tuple(boxes),
        ids=ids or {},
        loss=replace(loss, left_out=dict(sorted(loss.left_out.items()))) if loss else Loss(),
        warnings=warnings,
        units=units,
    )


def each_paper(
    sources: Sequence[_Source], ids: Sequence[str], read: Callable[[_Source, str], Paper], file: str
) -> list[Paper | UnreadableError]:
    """Return the paper of each source of a file, named by its id or else number, or why it cannot be read."""
    papers: list[Paper | UnreadableError] = []
    uses = Counter(ids)
    for number, (source, own_id) in enumerate(zip(sources, ids, strict=True), 1):
        name = f"{file}#{own_id if own_id and uses[own_id] == 1 else number}" if len(ids) > 1 else file
        try:
            papers.append(read(source, name))
        except UnreadableError as error:
            papers.append(error)
    return papers
