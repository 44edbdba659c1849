"""What a reply says, without reasoning marks, and where it goes on with a prompt of its own."""

import re

from evidencebench.models.llm.parsing.text import ShownSentences, line_around, plain_text, without_turn_marks

_MAX_TAGS = 1000  # no more tags of one reply are looked at
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
    """Return what a reply says: with plain marks, without hidden reasoning.

    Reasoning ends with the last ``</think>`` (or a tag of such a name) that starts or ends its line or that follows a
    ``<think>``, whether something opened it or not, since some servers open it in the prompt. What an unclosed
    ``<think>`` at the start of a line opens is all reasoning. A tag in a line of the paper is none.
    """
    text = plain_text(text)
    start, opened = 0, -1
    for tag in list(_TAG.finditer(text))[-_MAX_TAGS:]:
        if _is_of_paper(text, tag, shown):
            continue
        stands_alone = tag["start"] is not None or tag["end"] is not None
        if tag["final"] or (tag["slash"] and (opened >= 0 or stands_alone)):
            start, opened = tag.end(), -1
        elif opened < 0 and not tag["slash"] and tag["start"] is not None:
            opened = tag.start()
    return without_turn_marks(text[start : len(text) if opened < 0 else opened])


def parts_before_prompts(text: str) -> list[str]:
    """Return what stands before the first lines that begin prompts, which are the model's own next ones, not its reply.

    A line ``<paper>`` always ends a reply. A line ``Hypothesis:`` may also begin one, so that the text before the first
    one and that before the last are candidates: the earlier one with an answer is the reply.
    """
    prompts = list(_NEXT_PROMPT.finditer(text))
    end = next((one.start() for one in prompts if not one[0].startswith("H")), len(text))
    before = text[: prompts[0].start()] if prompts and prompts[0].start() < end else ""
    return [*([before] if before.strip() else []), text[:end]]


def _is_of_paper(text: str, tag: re.Match[str], shown: ShownSentences) -> bool:
    """Whether the line of a tag, which is not alone on it, stands in a sentence of the paper."""
    words, line = tag[0].strip(), line_around(text, tag.start())
    return line.strip() != words and shown.hold(line, words, line)
