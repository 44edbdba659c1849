"""What a reply says, without the reasoning that servers and models leave in it."""

import re

from evidencebench.models.llm.parsing.quotes import ShownSentences
from evidencebench.models.llm.parsing.text import SPECIAL_TOKEN, plain_text

_MAX_TAGS = 1000  # no more tags of one reply are looked at
_MAX_LINE = 4000

_FINAL_CHANNEL = re.compile(r"<\|channel\|>\s{0,9}final[^<\n]{0,40}<\|message\|>")
_HIDDEN_TAG = re.compile(
    r"[<\[](?P<slash>/?)(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)[>\]]", re.IGNORECASE
)


def visible_text(text: str, shown: ShownSentences) -> str:
    """Return what a reply says: as `plain_text`, without hidden reasoning.

    Hidden reasoning is what stands between ``<think>`` and ``</think>`` (or a tag of such a name), and what stands
    before a ``</think>`` that nothing opened, as of servers that open it in the prompt. A tag counts where it starts or
    ends its line, and not where its line is a sentence of the paper. What an unclosed tag opens is all hidden.
    """
    text = plain_text(text)
    if "<" not in text and "[" not in text:
        return text
    if "<|" in text:
        finals = [final for final in _FINAL_CHANNEL.finditer(text) if not _is_of_paper(text, final, shown)]
        text = text[finals[-1].end() :] if finals else text
    return SPECIAL_TOKEN.sub("", _without_hidden(text, shown))


_NEXT_PAPER = re.compile(r"^[ \t]*<paper>[ \t]*$", re.MULTILINE)
_NEXT_PROMPT = re.compile(r"^Hypothesis:", re.MULTILINE)
_STRUCK = re.compile(r"(?<!~)~~(?!~)[^~\n]{1,400}~~(?!~)")
_ARROW = re.compile(r"\n[ \t]*(?:->|=>)[ \t]*(?=[\[#(]?[0-9])")


def without_struck(text: str) -> str:
    """Return a text without what is struck through, and with an order that has one arrow a line on one line."""
    return _ARROW.sub(" > ", _STRUCK.sub("", text))


def parts_before_prompts(text: str) -> list[str]:
    """Return what stands before the first lines that begin prompts, which are the model's own next ones, not its reply.

    A line ``<paper>`` always ends a reply. A line ``Hypothesis:`` may also begin one, so that the text before the first
    one and that before the last are candidates: the earlier one with an answer is the reply.
    """
    paper = _NEXT_PAPER.search(text)
    text = text if paper is None else text[: paper.start()]
    prompt = _NEXT_PROMPT.search(text)
    before = [] if prompt is None or not text[: prompt.start()].strip() else [text[: prompt.start()]]
    return [*before, text]


def _is_of_paper(text: str, tag: re.Match[str], shown: ShownSentences) -> bool:
    """Whether the line of a tag, which is not alone on it, stands in a sentence of the paper."""
    if not shown.may_hold(tag[0]):
        return False
    end = text.find("\n", tag.end())
    line = text[text.rfind("\n", 0, tag.start()) + 1 : len(text) if end < 0 else end][:_MAX_LINE]
    return line.strip() != tag[0] and shown.hold(line, tag[0], line)


def _without_hidden(text: str, shown: ShownSentences) -> str:
    """Return a text without what hidden-reasoning tags enclose."""
    kept: list[str] = []
    start = 0  # of the text that is neither kept nor dropped yet
    is_hidden = False
    tags = list(_HIDDEN_TAG.finditer(text))[:_MAX_TAGS]
    tags = [tag for tag in tags if not _is_of_paper(text, tag, shown)]
    for n, tag in enumerate(tags):
        starts_line, ends_line = _starts_line(text, tag.start()), _ends_line(text, tag.end())
        if not tag["slash"]:
            if starts_line and not is_hidden:
                kept.append(text[start : tag.start()])
                start, is_hidden = tag.end(), True
        elif is_hidden and (starts_line or ends_line or _closes_nothing_else(text, tags[n + 1 :])):
            start, is_hidden = tag.end(), False
        elif not is_hidden and (starts_line or ends_line) and not kept:
            start = tag.end()  # opened in the prompt
    return "".join(kept) if is_hidden else "".join([*kept, text[start:]])


def _closes_nothing_else(text: str, later: list[re.Match[str]]) -> bool:
    """Whether none of the later tags is a better end of what is hidden."""
    for tag in later[:20]:
        if tag["slash"] and (_starts_line(text, tag.start()) or _ends_line(text, tag.end())):
            return False
    return True


def _starts_line(text: str, position: int) -> bool:
    """Whether only blanks stand between a position and the start of its line, as far as 20 characters."""
    before = text[max(0, position - 20) : position].rstrip(" \t")
    return before.endswith("\n") or (not before and position <= 20)  # noqa: PLR2004 - as said above


def _ends_line(text: str, position: int) -> bool:
    """Whether only blanks stand between a position and the end of its line, as far as 20 characters."""
    after = text[position : position + 20].lstrip(" \t")
    return after.startswith("\n") or (not after and position + 20 >= len(text))
