"""Hypotheses that a language model negates or paraphrases, and what sentences report of an outcome as it reads it."""

import re
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from evidencebench.decoding import prepared
from evidencebench.files.disk import BROKEN_JSON
from evidencebench.models.llm.chat import ChatReply, fault_of_end
from evidencebench.models.llm.grammar import visible_text
from evidencebench.models.llm.grammar_lists import ShownSentences
from evidencebench.models.llm.providers import asks_json
from evidencebench.systems.directions import DirectionReader, ReportedDirection
from evidencebench.systems.llm.asking import Asker, ask_until_read
from evidencebench.systems.llm.prompts import array_schema, object_schema, prompt_named

LONGEST = 2000
"""The most characters of a rewritten hypothesis: more is a reply that was misread."""

_LINE = re.compile(r"^[\s*_#>]{0,20}hypothesis[\s*_]{0,20}:[\s*_]{0,20}(\S.*)$", re.IGNORECASE | re.MULTILINE)


class _Rewritten(msgspec.Struct):
    hypothesis: str


def rewrite(asker: Asker, hypothesis: str, how: str) -> str:
    """Return a hypothesis as a model rewrites it; ``how`` is ``negated`` or ``paraphrased``."""
    own = " ".join(hypothesis.split())
    form = prompt_named("hypothesis_json" if asks_json(asker.chat) else "hypothesis_line").text
    other = f"In other words: {own}"
    answer, _ = ask_until_read(
        asker,
        prompt_named(f"rewrite_{how}").render(hypothesis=own, form=form),
        schema=object_schema(hypothesis={"type": "string"}),
        stand_in=msgspec.json.encode(_Rewritten(other)).decode() if asks_json(asker.chat) else f"HYPOTHESIS: {other}",
        read=partial(read_rewritten, own=own),
        again=lambda _: prompt_named("rewrite_again").render(form=form),
        what="rewritten hypothesis",
    )
    return answer


def read_rewritten(reply: ChatReply, own: str) -> tuple[str, str]:
    r"""Return the rewritten hypothesis of a reply, and why there is none; one of the two is empty.

    >>> read_rewritten(ChatReply(text="It lowers it.\n**Hypothesis:** Tea does not help."), "Tea helps.")
    ('Tea does not help.', '')
    """
    if fault := fault_of_end(reply.finish, reply.text):
        return "", fault
    text = visible_text(reply.text, ShownSentences({})).strip()
    try:
        hypothesis = msgspec.json.decode(text, type=prepared(_Rewritten)).hypothesis
    except (msgspec.DecodeError, RecursionError):
        lines = _LINE.findall(text)
        hypothesis = lines[-1] if lines else ""
    hypothesis = " ".join(hypothesis.split()).strip("*_ ")
    if not hypothesis or hypothesis.casefold().strip("<>[]. ") == "the rewritten hypothesis":  # of the prompts' forms
        return "", "the reply holds none"
    if len(hypothesis) > LONGEST:
        return "", f"it has {len(hypothesis):,} characters, more than {LONGEST:,}"
    if hypothesis.casefold() == own.casefold():
        return "", "it is the hypothesis itself"
    return hypothesis, ""


class _SentenceReport(msgspec.Struct):
    sentence: int
    reports: ReportedDirection


class _Reports(msgspec.Struct):
    sentences: list[_SentenceReport]


def directions_by_model(asker: Asker) -> DirectionReader:
    """Return what asks a model; the hypothesis and the sentences at the indices are all that it is sent."""

    def read(hypothesis: str, sentences: Sequence[str], indices: Sequence[int]) -> Mapping[int, ReportedDirection]:
        shown = {index: " ".join(sentences[index].split()) for index in indices}
        if not shown:
            return {}
        form = prompt_named("directions_json").render(first=str(max(shown) + 7), second=str(max(shown) + 19))
        listed = "\n".join(f"{index}: {sentence}" for index, sentence in shown.items())
        stand_in = _Reports([_SentenceReport(index, ReportedDirection.NOT_SAID) for index in shown])
        reports = {"type": "string", "enum": list(ReportedDirection)}
        answer, _ = ask_until_read(
            asker,
            prompt_named("directions").render(hypothesis=" ".join(hypothesis.split()), sentences=listed, form=form),
            schema=object_schema(sentences=array_schema(object_schema(sentence={"type": "integer"}, reports=reports))),
            stand_in=msgspec.json.encode(stand_in).decode(),
            read=partial(read_reported, shown=shown),
            again=lambda _: prompt_named("repair").render(form=form),
            what="directions",
        )
        return answer

    return read


def read_reported(reply: ChatReply, shown: Mapping[int, str]) -> tuple[Mapping[int, ReportedDirection], str]:
    """Return what a reply says of each sentence, and why that cannot be used; empty where it can.

    >>> said = '{"sentences": [{"sentence": 4, "reports": "decrease"}]}'
    >>> read_reported(ChatReply(text=said), {4: "It fell."})[0][4]
    <ReportedDirection.DECREASE: 'decrease'>
    >>> read_reported(ChatReply(text=said), {4: "It fell.", 7: "It rose."})[1]
    'sentence 7 has no entry'
    """
    if fault := fault_of_end(reply.finish, reply.text):
        return {}, fault
    text = visible_text(reply.text, ShownSentences(shown))
    try:
        entries = msgspec.json.decode(text[text.find("{") : text.rfind("}") + 1], type=prepared(_Reports)).sentences
    except BROKEN_JSON as error:
        return {}, f"expected JSON of the form asked for: {error}"
    reports = {entry.sentence: entry.reports for entry in entries}
    if len(reports) < len(entries):
        return {}, "a sentence has two entries"
    if lacking := [index for index in shown if index not in reports]:
        return {}, f"sentence {lacking[0]} has no entry"
    if strange := [index for index in reports if index not in shown]:
        return {}, f"sentence {strange[0]} was not shown"
    return reports, ""
