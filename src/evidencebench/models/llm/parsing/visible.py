"""What a reply says, without reasoning marks, and where it goes on with a prompt of its own."""

import re

from evidencebench.models.llm.parsing.shown import ShownSentences
from evidencebench.models.llm.parsing.text import plain_text, without_turn_marks

_MAX_TAGS = 1000  # no more tags of one reply are looked at
_MAX_LINE = 4000
_FINAL_CHANNEL = re.compile(r"<\|channel\|>\s{0,9}final[^<\n]{0,40}<\|message\|>")
_TAG = re.compile(
    r"(?P<start>^[ \t]{0,20})?[<\[](?P<slash>/?)"
    r"(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)[>\]](?P<end>[ \t]{0,20}$)?",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_PAPER = re.compile(r"^[ \t]*<paper>[ \t]*$", re.MULTILINE)
_NEXT_PROMPT = re.compile(r"^Hypothesis:", re.MULTILINE)


def visible_text(text: str, shown: ShownSentences) -> str:
    """Return what a reply says: with plain marks, without hidden reasoning.

    Reasoning ends with the last ``</think>`` (or a tag of such a name) that starts or ends its line or that follows a
    ``<think>``, whether something opened it or not, since some servers open it in the prompt. What an unclosed
    ``<think>`` at the start of a line opens is all reasoning. A tag in a line of the paper is none.
    """
    text = plain_text(text)
    if "<" not in text and "[" not in text:
        return text
    finals = [one for one in _FINAL_CHANNEL.finditer(text) if not _is_of_paper(text, one, shown)]
    text = text[finals[-1].end() :] if finals else text
    tags = [tag for tag in list(_TAG.finditer(text))[-_MAX_TAGS:] if not _is_of_paper(text, tag, shown)]
    start, is_opened = 0, False
    for tag in tags:
        if not tag["slash"]:
            is_opened = is_opened or tag["start"] is not None
        elif is_opened or tag["start"] is not None or tag["end"] is not None:
            start, is_opened = tag.end(), False
    ends = [tag.start() for tag in tags if tag.start() >= start and not tag["slash"] and tag["start"] is not None]
    return without_turn_marks(text[start : min(ends, default=len(text))])


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
    end = text.find("\n", tag.end())
    line = text[text.rfind("\n", 0, tag.start()) + 1 : len(text) if end < 0 else end][:_MAX_LINE]
    words = tag[0].strip()
    return line.strip() != words and shown.hold(line, words, line)
