"""Read a language model's reply: what it is, and which sentences it names. No reply makes the reader raise.

The grammar, on a page (`evidencebench.models.llm.parsing` has its parts)::

    reply    what stands behind the reasoning marks (<think>...</think>), up to a next prompt that the model begins
    answer   the last of: a line that begins with ANSWER, a tag <answer>, a LaTeX box, JSON that opens a line
             else JSON that does not parse, by its key: "sentences": [3, 17
             else the whole reply, its last line in brackets, or what words of choosing introduce: Selected: [3, 17]
    value    JSON | none | numbers | items; behind it on its line only a remark without numbers, or (a remark)
    numbers  [3, 17] | [3] [17] | 3, 5-7 and 9 | Sentences 3, 17
    items    one a line, with or without bullets: [3] why | 3: why | Sentence 3 - why | 1. [3] why | a quoted sentence
    scores   one a line: 12: 7 | [12] 7/10 | 12 -> 70% | JSON

What this does not read is *unparseable*, and never guessed: a list in prose is a citation, an answer with an exception
(*none, but [3] is close*) may mean one thing or the other, and the model is asked again. So it is where a second list
stands behind the answer. A line of the reply that stands in a sentence of the paper is the paper's. Of a reply that was
cut off, an open list is not taken. Digits are ASCII's; those of other writings are no numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from evidencebench.models.llm.chat import ChatReply, Finish
from evidencebench.models.llm.parsing.numbers import Span
from evidencebench.models.llm.parsing.phrases import refuses
from evidencebench.models.llm.parsing.places import DoubtError, find_answer
from evidencebench.models.llm.parsing.scores import find_scores
from evidencebench.models.llm.parsing.shown import ShownSentences
from evidencebench.models.llm.parsing.values import Branch, FoundAnswer
from evidencebench.models.llm.parsing.visible import parts_before_prompts, visible_text
from evidencebench.wording import counted

MAX_LISTED = 20
"""So many of the numbers that name no shown sentence are kept in a reading."""

_MAX_NAMED = 100_000  # no more numbers of one reply are looked at
_MAX_IN_MESSAGE = 5


class ReplyClass(StrEnum):
    """What a reply is. Where several fit, the first in this order counts."""

    FAILED = "failed"
    """There is no reply: whoever asked says so, never the reader."""
    REFUSED = "refused"
    """The provider withheld it, or it says that the model will not answer and holds no list."""
    TRUNCATED = "truncated"
    """It was cut off before its answer was whole."""
    UNPARSEABLE = "unparseable"
    """No answer can be read from it."""
    EMPTY = "empty"
    """It says that no sentence is selected."""
    OUT_OF_RANGE = "out_of_range"
    """It names what is no shown sentence. The others that it names count."""
    OVER_LENGTH = "over_length"
    """It names more sentences than the budget."""
    DUPLICATE = "duplicate"
    """It names a sentence twice. Each counts once."""
    ANSWERED = "answered"
    """It is as it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reply says.

    `indices` are the sentences that it names, as indices into the paper: each once, as given, only those that were
    shown; more than the budget if it is over length; none of a reply without an answer, but those before the cut of an
    order. `out_of_range` has at most `MAX_LISTED` numbers that name no shown sentence, each once, as given: both ends
    of a range that runs backwards or is longer than the paper, the whole part of a fraction, and 10**12 for anything of
    more than 12 digits. `why` is the reason of the class, for people; empty where it is answered.
    """

    reply_class: ReplyClass
    indices: tuple[int, ...] = ()
    n_duplicates: int = 0  # how often it names one of them again
    out_of_range: tuple[int, ...] = ()
    read_by: Branch = ""  # which branch of the grammar read it; empty where none did
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreReading:
    """What a reply scores; never empty or over length. What is not said here is as in `Reading`."""

    reply_class: ReplyClass
    scores: Mapping[int, float] = field(default_factory=dict)  # index of a shown sentence -> 0..10, the last one counts
    n_unscored: int = 0  # how many of the shown sentences have none
    n_duplicates: int = 0  # how many scores were replaced by a later one
    out_of_range: tuple[int, ...] = ()
    read_by: Branch = ""
    why: str = ""

    @property
    def indices(self) -> tuple[int, ...]:
        """The sentences that have a score, in the order of their last scores."""
        return tuple(self.scores)


def read_selection(
    reply: ChatReply, shown: Mapping[int, str] | Sequence[str], *, budget: int | None, n_sentences: int
) -> Reading:
    r"""Return what a reply to a selection prompt says.

    ``shown`` are the sentences in the prompt by their index in the paper, which has ``n_sentences``; of a sequence the
    index is the position. At most ``budget`` may be selected; None: any number.

    Examples
    --------
    >>> reply = ChatReply(text="Both report deaths.\n**Answer:** sentences 0, 2 and 7.")
    >>> reading = read_selection(reply, ["Tea", "We asked.", "Deaths fell."], budget=2, n_sentences=3)
    >>> str(reading.reply_class), reading.indices, reading.out_of_range, reading.read_by
    ('out_of_range', (0, 2), (7,), 'answer line')
    """
    texts = _by_index(shown)
    missing, found = _find(reply, ShownSentences(texts))
    return missing if found is None or missing.why else _judged(found, texts, budget, n_sentences)


def read_order(reply: ChatReply, shown: Mapping[int, str] | Sequence[str], *, n_sentences: int) -> Reading:
    """Return what a reply to a prompt for an order says: the best sentence first, any of them may be missing.

    An order that is cut off is ``truncated``, and `Reading.indices` then holds what stands before the cut, without the
    last number, which may be cut itself. The parameters are those of `read_selection`.
    """
    texts = _by_index(shown)
    missing, found = _find(reply, ShownSentences(texts))
    if found is None:
        return missing
    if not missing.why:
        return _judged(found, texts, None, n_sentences)
    reading = _judged(replace(found, spans=found.spans[:-1]), texts, None, n_sentences)
    return replace(reading, reply_class=missing.reply_class, why=missing.why)


def read_scores(reply: ChatReply, shown: Mapping[int, str] | Sequence[str], *, n_sentences: int) -> ScoreReading:
    r"""Return what a reply to a scoring prompt says; the parameters are those of `read_selection`.

    Scores are read from lines such as ``12: 7``, ``[12] 7/10``, ``- 12 - 7.5``, from table rows, and from JSON. Those
    of another scale than 10, such as ``3/5`` or ``70%``, are brought to it; those outside 0..10 are clipped. Lines
    below the last line ``SCORES:`` count, else all lines. Of a sentence scored twice the last score counts. Of a reply
    that was cut off the last line does not count, the class is ``truncated``, and the other scores are kept. So are
    those where fewer than half of the shown sentences have one: the class is then ``unparseable``.

    Examples
    --------
    >>> read_scores(ChatReply(text="SCORES:\n0: 2\n[1] 7/10"), ["Tea", "Deaths fell."], n_sentences=2).scores
    {0: 2.0, 1: 7.0}
    """
    texts = _by_index(shown)
    if reply.finish == "refused":
        return ScoreReading(reply_class=ReplyClass.REFUSED, n_unscored=len(texts), why=_WITHHELD)
    sentences = ShownSentences(texts)
    whole = visible_text(reply.text, sentences)
    text, is_cut, pairs = whole, False, list[tuple[int, float]]()
    for text in parts_before_prompts(whole):
        is_cut = reply.finish == "length" and len(text) == len(whole)
        pairs = find_scores(text, sentences, is_cut=is_cut)
        if pairs:
            break
    scores: dict[int, float] = {}
    out_of_range: dict[int, None] = {}
    n_duplicates = 0
    for index, score in pairs[:_MAX_NAMED]:
        if index not in texts or index >= n_sentences:
            out_of_range[index] = None
        else:
            n_duplicates += index in scores
            scores.pop(index, None)
            scores[index] = min(10.0, max(0.0, score))
    reply_class, why = _class_of_scores(text, scores, len(texts), is_cut=is_cut)
    if not why and out_of_range:
        reply_class, why = ReplyClass.OUT_OF_RANGE, _which(out_of_range, n_sentences)
    elif not why and n_duplicates:
        reply_class, why = ReplyClass.DUPLICATE, f"sentences are scored again {counted(n_duplicates, 'time')}"
    return ScoreReading(
        reply_class=reply_class,
        scores=scores,
        n_unscored=len(texts) - len(scores),
        n_duplicates=n_duplicates,
        out_of_range=tuple(out_of_range)[:MAX_LISTED],
        read_by="refusal" if why == _REFUSAL else "score lines" if scores else "",
        why=why,
    )


_WITHHELD = "the provider withheld the reply"
_REFUSAL = "the reply says that the model will not answer"
_DOUBT = "the reply may mean one list or another"


def _class_of_scores(text: str, scores: Mapping[int, float], n_shown: int, *, is_cut: bool) -> tuple[ReplyClass, str]:
    if is_cut:
        return ReplyClass.TRUNCATED, "the reply was cut off at its longest length"
    if scores and 2 * len(scores) < n_shown:
        return ReplyClass.UNPARSEABLE, f"only {len(scores)} of {n_shown} sentences have a score that can be read"
    if scores:
        return ReplyClass.ANSWERED, ""
    if refuses(text):
        return ReplyClass.REFUSED, _REFUSAL
    return ReplyClass.UNPARSEABLE, "no scores were found in the reply" if text.strip() else "the reply is empty"


def _by_index(shown: Mapping[int, str] | Sequence[str]) -> Mapping[int, str]:
    return shown if isinstance(shown, Mapping) else dict(enumerate(shown))


def _find(reply: ChatReply, shown: ShownSentences) -> tuple[Reading, FoundAnswer | None]:
    """Return the reading of a reply without an answer, and the answer; both of one that is cut within its list."""
    if reply.finish == "refused":
        return Reading(reply_class=ReplyClass.REFUSED, why=_WITHHELD), None
    whole = visible_text(reply.text, shown).rstrip()
    missing: tuple[Reading, FoundAnswer | None] = (_UNREAD, None)
    for part in parts_before_prompts(whole):
        finish = reply.finish if len(part) == len(whole) else "stop"
        missing = _find_in(part.rstrip(), finish, shown)
        if missing[1] is not None or missing[0].why == _DOUBT:
            break
    return missing


def _find_in(text: str, finish: Finish, shown: ShownSentences) -> tuple[Reading, FoundAnswer | None]:
    is_cut = finish == "length"
    try:
        found = find_answer(text, shown, is_cut=is_cut)
    except DoubtError:
        if not refuses(text):
            why = "the reply was cut off before its list" if is_cut else _DOUBT
            return Reading(reply_class=ReplyClass.TRUNCATED if is_cut else ReplyClass.UNPARSEABLE, why=why), None
        found = None
    # What ended for a reason that is not known may be cut, so that an open list is not taken either.
    is_open = found is not None and ((found.is_open and finish != "stop") or (found.may_go_on and is_cut))
    if is_open or (found is None and is_cut):
        why = "the reply was cut off in its list" if is_open else "the reply was cut off before its list"
        return Reading(reply_class=ReplyClass.TRUNCATED, why=why), found
    if found is not None and (found.spans or not found.is_open):
        return _UNREAD, found
    if refuses(text):
        return Reading(reply_class=ReplyClass.REFUSED, read_by="refusal", why=_REFUSAL), None
    why = "no list of sentences was found in the reply" if text else "the reply is empty"
    return Reading(reply_class=ReplyClass.UNPARSEABLE, why=why), None


_UNREAD = Reading(reply_class=ReplyClass.UNPARSEABLE)


def _judged(found: FoundAnswer, shown: Mapping[int, str], budget: int | None, n_sentences: int) -> Reading:
    """Return the reading of a list."""
    if not found.spans:
        why = "the reply says that no sentence is selected"
        return Reading(reply_class=ReplyClass.EMPTY, read_by=found.read_by, why=why)
    indices: dict[int, None] = {}
    out_of_range: dict[int, None] = {}
    n_duplicates = 0
    for number, is_whole in _numbers(found.spans, n_sentences):
        if not is_whole or number not in shown or number >= n_sentences:
            out_of_range[number] = None
        else:
            n_duplicates += number in indices
            indices[number] = None
    reply_class, why = ReplyClass.ANSWERED, ""
    if out_of_range:
        reply_class, why = ReplyClass.OUT_OF_RANGE, _which(out_of_range, n_sentences)
    elif budget is not None and len(indices) > budget:
        reply_class, why = ReplyClass.OVER_LENGTH, f"{len(indices)} sentences are named, of at most {budget}"
    elif n_duplicates:
        reply_class, why = ReplyClass.DUPLICATE, f"sentences are named again {counted(n_duplicates, 'time')}"
    return Reading(
        reply_class=reply_class,
        indices=tuple(indices),
        n_duplicates=n_duplicates,
        out_of_range=tuple(out_of_range)[:MAX_LISTED],
        read_by=found.read_by,
        why=why,
    )


def _numbers(spans: Sequence[Span], n_sentences: int) -> list[tuple[int, bool]]:
    """Return the numbers that spans hold, each with whether it may be an index."""
    numbers: list[tuple[int, bool]] = []
    for first, last in spans:
        if last is None:
            numbers.append((first, False))
        elif last < first or last - first >= n_sentences:
            # A single number of an empty paper ends here too, and is out of range all the same.
            numbers += dict.fromkeys([(first, False), (last, False)])
        else:
            numbers += [(number, True) for number in range(first, last + 1)]
        if len(numbers) >= _MAX_NAMED:
            break
    return numbers


def _which(out_of_range: Mapping[int, None], n_sentences: int) -> str:
    named = ", ".join(map(str, list(out_of_range)[:_MAX_IN_MESSAGE]))
    n_more = len(out_of_range) - _MAX_IN_MESSAGE
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"{named}{more}: no sentence of this number was shown, of a paper with 0..{n_sentences - 1}"
