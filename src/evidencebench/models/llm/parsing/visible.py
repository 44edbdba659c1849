"""The visible text of a reply: without hidden reasoning, and without a next prompt that the model itself begins."""

import re

from evidencebench.models.llm.parsing.text import ShownSentences, line_around, plain_text, without_turn_marks

_MAX_TAGS = 1000  # only the last so many tags of a reply are looked at
_TAG = re.compile(
    r"""
    (?P<final><\|channel\|>\s{0,9}final[^<\n]{0,40}<\|message\|>)
    |(?P<start>^[ \t]{0,20})?[<\[](?P<slash>/?)
        (?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)[>\]](?P<end>[ \t]{0,20}$)?
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_NEXT_PROMPT = re.compile(r"^(?:[ \t]*<paper>[ \t]*$|Hypothesis:)", re.MULTILINE)


def visible_text(text: str, shown: ShownSentences) -> str:
    """Return the text of a reply with plain marks and without hidden reasoning.

    Reasoning ends with the last ``</think>`` (or a similar tag) that starts or ends its line, or that follows a
    ``<think>``. It need not be opened, since some servers open it in the prompt. All text behind an unclosed
    ``<think>`` at the start of a line is reasoning. A tag in a line that repeats the paper does not count.
    """
    text = plain_text(text)
    start, opened = 0, -1
    for tag in list(_TAG.finditer(text))[-_MAX_TAGS:]:
        words, line = tag[0].strip(), line_around(text, tag.start())
        if line.strip() != words and shown.hold(line, words, line):  # it repeats the paper
            continue
        stands_alone = tag["start"] is not None or tag["end"] is not None
        if tag["final"] or (tag["slash"] and (opened >= 0 or stands_alone)):
            start, opened = tag.end(), -1
        elif opened < 0 and not tag["slash"] and tag["start"] is not None:
            opened = tag.start()
    return without_turn_marks(text[start : len(text) if opened < 0 else opened])


def parts_before_prompts(text: str) -> list[str]:
    """Return the parts of a text that may be the reply, before a next prompt that the model itself begins.

    A line ``<paper>`` always ends a reply. A line ``Hypothesis:`` may end one, or belong to it: then the text before it
    is the first candidate and the longer text the second. The first candidate with an answer is the reply.
    """
    prompts = list(_NEXT_PROMPT.finditer(text))
    end = next((one.start() for one in prompts if not one[0].startswith("H")), len(text))
    before = text[: prompts[0].start()] if prompts and prompts[0].start() < end else ""
    return [*([before] if before.strip() else []), text[:end]]
