"""Read a language model's reply: its class, and the sentences that it names. Nothing is guessed, and nothing raises."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice

from evidencebench.models.llm.chat import ChatReply, Finish, fault_of_end
from evidencebench.models.llm.grammar import (
    Branch,
    DoubtError,
    FoundAnswer,
    find_answer,
    find_scores,
    visible_text,
)
from evidencebench.models.llm.grammar_lists import ShownSentences, Span, refuses
from evidencebench.models.llm.logprobs import weighed_scores
from evidencebench.wording import counted

_MAX_NAMED = 100_000  # the most numbers of one reply that are looked at
_MAX_IN_MESSAGE = 5
_NEXT_PROMPT = re.compile(r"^[ \t]*<paper>[ \t]*$", re.MULTILINE)


class ReplyClass(StrEnum):
    """The class of a reply. Where several fit, the first in this order counts."""

    FAILED = "failed"  # there is no reply; the code that asks sets this class, never the reader
    REFUSED = "refused"  # the provider withheld it, or it says that the model will not answer and holds no list
    TRUNCATED = "truncated"  # it was cut off before its answer was whole
    UNPARSEABLE = "unparseable"  # no answer can be read from it
    EMPTY = "empty"  # it says that no sentence is selected
    OUT_OF_RANGE = "out_of_range"
    """It names a number that is no shown sentence. The shown sentences that it names count."""
    OVER_LENGTH = "over_length"  # it names more sentences than the budget
    DUPLICATE = "duplicate"  # it names a sentence twice; each counts once
    ANSWERED = "answered"  # it names shown sentences, each once and within the budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    reply_class: ReplyClass
    # The shown sentences that it names, each once, in its order (with scores: that of their last ones), even if more
    # than the budget or cut off.
    indices: tuple[int, ...] = ()
    scores: Mapping[int, float] = field(default_factory=dict)  # of `indices`, 0..10; empty unless they were asked for
    read_by: Branch | None = None  # which branch of the grammar read it; None where none did
    why: str = ""  # the reason of the class, for people; empty if ``answered``


def read_selection(reply: ChatReply, shown: Mapping[int, str], *, budget: int | None, n_sentences: int) -> Reading:
    """`shown`: index in the paper -> sentence in the prompt. `budget`: the most to select; None: any number."""
    missing, answer = _find(reply, ShownSentences(shown))
    return missing if answer is None or missing.why else _judge(answer, shown, budget, n_sentences)


def read_order(reply: ChatReply, shown: Mapping[int, str], *, n_sentences: int) -> Reading:
    missing, answer = _find(reply, ShownSentences(shown))
    if answer is None:
        return missing
    if not missing.why:
        return _judge(answer, shown, None, n_sentences)
    # An order that is cut off leaves out its last number, which may be cut itself.
    reading = _judge(answer._replace(spans=answer.spans[:-1]), shown, None, n_sentences)
    return replace(reading, reply_class=missing.reply_class, why=missing.why)


def read_scores(reply: ChatReply, shown: Mapping[int, str], *, n_sentences: int) -> Reading:
    """Scale scores to 0..10; a sentence's last one counts. With fewer than half, the class is ``unparseable``."""
    if reply.finish == "refused":
        return _WITHHELD
    sentences = ShownSentences(shown)
    text, finish = _visible(reply, sentences)
    pairs = find_scores(text, sentences, is_cut=finish == "length")
    named = [index for index, _ in pairs if index in shown]
    out_of_range = dict.fromkeys(index for index, _ in pairs if index not in shown)
    indices = tuple(dict.fromkeys(reversed(named)))[::-1]
    reply_class, why = _class_of(named, out_of_range, None, n_sentences, "scored")
    if finish == "length":
        reply_class, why = ReplyClass.TRUNCATED, fault_of_end(finish, text)
    elif not indices:
        return _without_list(text, "no scores were found in the reply", finish)
    elif 2 * len(indices) < len(shown):
        why = f"only {len(indices)} of {len(shown)} sentences have a score that can be read"
        reply_class = ReplyClass.UNPARSEABLE
    scores = dict(pairs)
    return Reading(
        reply_class=reply_class,
        indices=indices,
        scores=weighed_scores({index: min(10.0, max(0.0, scores[index])) for index in indices}, reply),
        read_by=Branch.SCORE_LINES if indices else None,
        why=why,
    )


_WITHHELD = Reading(reply_class=ReplyClass.REFUSED, why="the provider withheld the reply")


def _visible(reply: ChatReply, shown: ShownSentences) -> tuple[str, Finish]:
    """Return what counts of a reply, and how that ended: by itself where the model went on with a prompt of its own."""
    whole = visible_text(reply.text, shown)
    text = _NEXT_PROMPT.split(whole, 1)[0]
    return text, reply.finish if text == whole else "stop"


def _without_list(text: str, why: str, finish: Finish) -> Reading:
    if refuses(text):
        why = "the reply says that the model will not answer"
        return Reading(reply_class=ReplyClass.REFUSED, read_by=Branch.REFUSAL, why=why)
    why = why if text.strip() else "the reply is empty"
    return Reading(reply_class=ReplyClass.UNPARSEABLE, why=fault_of_end(finish, "") if finish == "tool" else why)


def _find(reply: ChatReply, shown: ShownSentences) -> tuple[Reading, FoundAnswer | None]:
    """Return a reading that says why a reply has no whole answer, `why` empty if it has one, and the answer found."""
    if reply.finish == "refused":
        return _WITHHELD, None
    text, finish = _visible(reply, shown)
    is_cut, answer, why = finish == "length", None, "no list of sentences was found in the reply"
    try:
        answer = find_answer(text.rstrip(), shown, is_cut=is_cut)
    except DoubtError:
        why = "the reply may mean one list or another"
    # A reply that ended for an unknown reason may be cut off, so that an open list is not taken either.
    if answer is not None and ((answer.is_open and finish != "stop") or (answer.may_go_on and is_cut)):
        why = "the reply was cut off in its list"
        return Reading(reply_class=ReplyClass.TRUNCATED, why=f"{why}; raise max_tokens" if is_cut else why), answer
    if answer is not None and (answer.spans or not answer.is_open):
        return Reading(reply_class=ReplyClass.ANSWERED), answer
    if is_cut:
        return Reading(reply_class=ReplyClass.TRUNCATED, why=fault_of_end(finish, text)), None
    return _without_list(text, why, finish), None


def _judge(answer: FoundAnswer, shown: Mapping[int, str], budget: int | None, n_sentences: int) -> Reading:
    if not answer.spans:
        why = "the reply says that no sentence is selected"
        return Reading(reply_class=ReplyClass.EMPTY, read_by=answer.read_by, why=why)
    numbers = list(islice(_numbers_of(answer.spans, n_sentences), _MAX_NAMED))
    named = [number for number, is_sound in numbers if is_sound and number in shown]
    out_of_range = dict.fromkeys(number for number, is_sound in numbers if not (is_sound and number in shown))
    reply_class, why = _class_of(named, out_of_range, budget, n_sentences, "named")
    indices = tuple(dict.fromkeys(named))
    return Reading(reply_class=reply_class, indices=indices, read_by=answer.read_by, why=why)


def _numbers_of(spans: Iterable[Span], n_sentences: int) -> Iterator[tuple[int, bool]]:
    """Yield each number, and whether it may be a sentence: of a range that is too long or backwards, both ends."""
    for first, last in spans:
        if last is not None and (first == last or first < last < first + n_sentences):
            yield from ((number, True) for number in range(first, last + 1))
        else:
            yield from ((number, False) for number in (first, last) if number is not None)


def _class_of(
    named: Collection[int], out_of_range: Collection[int], budget: int | None, n_sentences: int, verb: str
) -> tuple[ReplyClass, str]:
    n_named = len(set(named))
    if out_of_range:
        first = ", ".join(map(str, list(out_of_range)[:_MAX_IN_MESSAGE]))
        n_more = len(out_of_range) - _MAX_IN_MESSAGE
        more = f" and {n_more} more" if n_more > 0 else ""
        why = f"{first}{more}: no sentence of this number was shown, of a paper with 0..{n_sentences - 1}"
        return ReplyClass.OUT_OF_RANGE, why
    if budget is not None and n_named > budget:
        return ReplyClass.OVER_LENGTH, f"{n_named} sentences are named, of at most {budget}"
    if n_named < len(named):
        return ReplyClass.DUPLICATE, f"sentences are {verb} again {counted(len(named) - n_named, 'time')}"
    return ReplyClass.ANSWERED, ""
