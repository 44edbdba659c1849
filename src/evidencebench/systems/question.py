"""A reader's question in parts: what is compared with what, on which outcome, and which change is claimed.

"What is the effect of tea versus water on pressure?", "Tea lowers pressure compared with water", "tea vs water:
pressure" and "Is pressure lower with tea than with water?" have the same parts. The forms are in `question.toml`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache

from evidencebench.files.disk import packaged_table


class QuestionKind(StrEnum):
    """What is asked for: an effect, an amount ("how many"), how the study was done, or something else."""

    EFFECT = "effect"
    AMOUNT = "amount"
    METHOD = "method"
    OTHER = "other"


class Claim(StrEnum):
    """Which change of the outcome a question names."""

    INCREASE = "increase"
    DECREASE = "decrease"
    NO_DIFFERENCE = "no difference"
    BETTER = "better"
    WORSE = "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuestion:
    """The parts of a question, each empty where it is not named.

    Where no form fits, ``is_split`` is False: the whole text is the outcome, and of an effect the intervention too.
    """

    kind: QuestionKind = QuestionKind.EFFECT
    intervention: str = ""
    comparator: str = ""
    outcome: str = ""
    claim: Claim | None = None
    is_denied: bool = False  # that it is so, as in "tea does not lower pressure"
    is_split: bool = True


_MOST_CHARACTERS = 1_000  # in which forms are looked for: a hypothesis is a sentence

_LEXICON = packaged_table(__file__)
_VERBS = {name: "|".join(stems) for name, stems in _LEXICON["verbs"].items()}
_LEVELS = {name: "|".join(words) for name, words in _LEXICON["levels"].items()}
_NAMED = {
    **{name: "|".join(words) for name, words in _LEXICON["named"].items()},
    "how": "|".join(_LEVELS.values()),
    "verbs": "|".join(_VERBS.values()),
}
_GROUPS = {name: group for group, names in _LEXICON["groups"].items() for name in names}
_NAME = re.compile(r"\{([a-z_]+)([?*]?)\}")


def _filled(form: str) -> str:
    """Return a form with what its names stand for, as a part of an expression."""

    def named(match: re.Match[str]) -> str:
        name, repeat = match.groups()
        start = f"(?P<{_GROUPS[name]}>" if name in _GROUPS else "(?:"
        words = f"{start}{_filled(_NAMED[name])})"
        return f"(?:{words} ){repeat}" if repeat else words

    return _NAME.sub(named, form)


def _one_of(name: str, behind: str = "") -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(map(_filled, _LEXICON['forms'][name]))}){behind}", re.IGNORECASE)


@cache
def _forms() -> list[re.Pattern[str]]:  # which take most of this module's time to compile
    return [re.compile(f"{_filled(form)}$", re.IGNORECASE) for form in _LEXICON["forms"]["effect"]]


_LEAD, _COMPARED_FIRST, _PEOPLE_FIRST = _one_of("lead"), _one_of("compared_first"), _one_of("people_first")
_DENIAL, _DENIED_PART = _one_of("denial"), _one_of("denied_part")
_AMOUNT, _METHOD, _USUAL_ARM = _one_of("amount", r"\b"), _one_of("method", "$"), _one_of("usual_arm")
_COMPARED = re.compile(rf",? *\b{_filled('{compared}')}(?= ) *", re.IGNORECASE)
_THAN = re.compile(rf",? (?:more |less |better )?than (?:(?:{_filled('{with}|{be}')}|did|does|do) )?", re.IGNORECASE)
_BEFORE_ARM = re.compile(_filled("(?:{with} |{group} )+"), re.IGNORECASE)
_BEHIND_ARM = re.compile(_filled(" (?:did|does|do|{be})$"), re.IGNORECASE)
# As data sets of comparisons are converted; no word of theirs is looked at.
_OF_DATA_SETS = re.compile(r"(?P<a>.+?), compared with (?P<c>.+), changes (?P<o>.+?)\.?", re.DOTALL)
_ARTICLE = re.compile(r"^(?:the use of|use of|using|treatment with|administration of|the|an?) (?=\S)", re.IGNORECASE)
_ASKS = re.compile(_filled(r"(?:what|which|who|whom|where|when|why|how|{be}|{auxiliary})\b"), re.IGNORECASE)
_ASKS_OF_EFFECT = re.compile(r"(?:how (?:does|do|did)|is|are|was|were)\b", re.IGNORECASE)
_FEW_WORDS = 5
_LEAST_STATED = 8  # words of a statement
_CLEAR_MARK = re.compile(r"\s*[;:|/]\s+|\s+[|/\u2013\u2014-]\s+")
_MARK = re.compile(r"\s*[;:|/]\s+|,\s+|\s+[\u2013\u2014-]\s+")
_TOPIC_MARK = re.compile(r"\s+(?:for|on|regarding|in terms of|with respect to|in)\s+", re.IGNORECASE)
_BRACKETS = re.compile(r" ?(?:\([^()]*\)|\[[^\[\]]*\])")
_HIDDEN = re.compile("[\ue000-\uefff]")


@lru_cache(maxsize=512)
def question_of(text: str) -> ParsedQuestion:
    """Return the parts of a question, a claim or keywords.

    >>> question = question_of("Does tea lower blood pressure more than water?")
    >>> question.intervention, question.comparator, question.outcome, question.claim.value
    ('tea', 'water', 'blood pressure', 'decrease')
    """
    hidden: list[str] = []

    def hide(match: re.Match[str]) -> str:  # in brackets, no verb is looked for
        hidden.append(match[0])
        return chr(0xE000 + len(hidden) - 1)

    def restored(part: str) -> str:
        return _HIDDEN.sub(lambda match: hidden[ord(match[0]) - 0xE000], part).strip()

    if exact := _OF_DATA_SETS.fullmatch(text.strip()):
        return ParsedQuestion(intervention=exact["a"], comparator=exact["c"], outcome=exact["o"])
    plain = " ".join(_HIDDEN.sub("", text).split())[:_MOST_CHARACTERS].strip(" .?!;\"'\u201c\u201d\u2018\u2019")
    question = _parsed(_BRACKETS.sub(hide, plain))
    intervention, comparator, outcome = map(restored, (question.intervention, question.comparator, question.outcome))
    return replace(question, intervention=intervention, comparator=comparator, outcome=outcome)


def is_statement(text: str) -> bool:
    """Say whether a text states something, and asks nothing; a few words are keywords.

    >>> is_statement("Word order was modelled first by the authors of this very paper")
    True
    >>> is_statement("Who modelled word order?"), is_statement("word order models")
    (False, False)
    """
    words = text.split()
    return len(words) >= _LEAST_STATED and not _ASKS.match(text) and not text.rstrip().endswith("?")


def kind_asked(text: str) -> str:
    """Return what a question asks for, as `QuestionKind` has it, or ``"claim"`` where it has no parts.

    >>> kind_asked("Does tea lower pressure?"), kind_asked("Word order was modelled first by its authors")
    ('effect', 'claim')
    """
    question = question_of(text)
    return str(question.kind) if question.is_split or question.kind is not QuestionKind.EFFECT else "claim"


def _parsed(plain: str) -> ParsedQuestion:
    bare, comparator, n_denials = _bare(plain)
    versus = _COMPARED.search(bare)
    is_keywords = versus is not None and re.search(r"\S: ", bare[versus.end() :]) and not _ASKS.match(bare)
    for form in () if is_keywords else _forms():
        match = form.match(bare)
        if match and (question := _of_form(match, comparator)):
            return _denied(question, n_denials)
    for kind, asked in ((QuestionKind.AMOUNT, _AMOUNT), (QuestionKind.METHOD, _METHOD)):
        if asked.match(bare):
            return ParsedQuestion(kind=kind, outcome=plain, is_split=False)
    question = _of_keywords(bare, comparator)
    if question is None and _ASKS.match(bare):
        return ParsedQuestion(kind=QuestionKind.OTHER, outcome=plain, is_split=False)
    return question or ParsedQuestion(intervention=bare, comparator=comparator, outcome=bare, is_split=False)


def _denied(question: ParsedQuestion, n_denials: int) -> ParsedQuestion:
    """Return a question whose claim what stands before it denies.

    One that is denied twice, or within a part of it, claims nothing that is sure.
    """
    if n_denials > 1 or _DENIED_PART.search(f"{question.intervention} {question.outcome}"):
        return replace(question, claim=None, is_denied=False)
    return replace(question, is_denied=question.is_denied != bool(n_denials)) if question.claim else question


def _bare(text: str) -> tuple[str, str, int]:
    """Return a question without what stands before it, the comparator that is named there, and how often it denies."""
    comparator, n_denials = "", 0
    while True:
        if lead := _LEAD.match(text):
            n_denials += len(_DENIAL.findall(lead[0]))
            text = text[lead.end() :]
        elif first := _COMPARED_FIRST.fullmatch(text):
            comparator, text = first["c"], first["rest"]
        elif people := _PEOPLE_FIRST.fullmatch(text):
            text = people["rest"]
        else:
            return text, comparator, n_denials


def _of_form(match: re.Match[str], comparator: str) -> ParsedQuestion | None:
    asked = _ASKS.match(match[0]) and (_AMOUNT.match(match[0]) or _METHOD.match(match[0]))
    if asked and not _ASKS_OF_EFFECT.match(match[0]):
        return None
    groups = match.groupdict()
    intervention, outcome = groups["a"].strip(" ,;:."), groups["o"].strip(" ,;:.")
    comparator = groups.get("c") or comparator
    for sign in (_COMPARED, _THAN):
        before, *behind = sign.split(outcome, maxsplit=1)
        if behind and before and behind[0]:
            outcome, comparator = before, behind[0]
    before, *behind = _COMPARED.split(intervention, maxsplit=1)
    if behind and before and behind[0]:
        intervention, comparator = before, behind[0]
    if begun := _BEFORE_ARM.match(comparator):
        comparator = comparator[begun.end() :]
    if not intervention or not outcome:
        return None
    parts = (intervention, _BEHIND_ARM.sub("", comparator), outcome)
    intervention, comparator, outcome = (_ARTICLE.sub("", part.strip(" ,;:."), count=1) for part in parts)
    claim, is_denied = _claim_of(groups)
    return ParsedQuestion(
        intervention=intervention, comparator=comparator, outcome=outcome, claim=claim, is_denied=is_denied
    )


def _claim_of(groups: Mapping[str, str | None]) -> tuple[Claim | None, bool]:
    """Return what is claimed, and whether it is denied."""
    how, verb = groups.get("how") or "", groups.get("verb") or ""
    is_denied = bool(groups.get("not") or groups.get("isnot") or (groups.get("no") or "").lower() == "no")
    claims = [name for name, words in _LEVELS.items() if re.fullmatch(words, how, re.IGNORECASE)] if how else []
    claims += [name for name, stems in _VERBS.items() if re.match(f"(?:{stems})", verb, re.IGNORECASE)] if verb else []
    claim = claims[0] if claims else "better" if how else "open"  # "is tea effective for pain"
    if claim == "not worse":
        return Claim.WORSE, not is_denied
    if claim == "no difference" and is_denied:
        return Claim.WORSE if how.lower().startswith("as") else None, False  # "not as effective as"
    if claim == "open":
        return Claim.NO_DIFFERENCE if is_denied else None, False
    return Claim(claim), is_denied


def _of_keywords(text: str, comparator: str) -> ParsedQuestion | None:
    """Return the parts of "tea vs water: blood pressure" and the like; None where nothing parts them."""
    before, *behind = _COMPARED.split(text, maxsplit=1)
    if not (behind and before and behind[0]):
        if _ASKS.match(text):
            return None
        for mark, most in ((_CLEAR_MARK, 0), (_MARK, 0), (_TOPIC_MARK, 1)):
            parts = [part for part in mark.split(text, maxsplit=most) if part]
            # In long texts, a comma or "in" may stand within a part.
            if len(parts) in {2, 3} and (mark is _CLEAR_MARK or max(len(part.split()) for part in parts) <= _FEW_WORDS):
                intervention, *arms, outcome = parts
                return ParsedQuestion(intervention=intervention, comparator=[*arms, comparator][0], outcome=outcome)
        return None
    match _MARK.split(before):
        case [outcome, intervention]:  # "blood pressure: tea vs water"
            return ParsedQuestion(intervention=intervention, comparator=behind[0], outcome=outcome)
    usual = _USUAL_ARM.match(behind[0])
    ends = [(mark.start(), mark.end()) for mark in (_MARK.search(behind[0]), _TOPIC_MARK.search(behind[0])) if mark]
    if not ends and usual:
        ends = [(usual.end(), usual.end())]
    middle = len(" ".join(behind[0].split()[: len(behind[0].split()) // 2]))
    end, start = ends[0] if ends else (middle, middle)
    arm, outcome = behind[0][:end].strip(), behind[0][start:].strip()
    return ParsedQuestion(intervention=before, comparator=arm, outcome=outcome or arm, is_split=bool(ends and outcome))
