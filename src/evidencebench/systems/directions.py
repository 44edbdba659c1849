"""What a sentence reports of the outcome."""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from evidencebench.decoding import prepared
from evidencebench.files.disk import packaged_table
from evidencebench.systems.question import Claim, ParsedQuestion, question_of
from evidencebench.systems.relevance import abbreviations, root, roots
from evidencebench.systems.words import STOPWORDS

SIGNIFICANT, NOT_SIGNIFICANT, _BELOW_A_LARGER_VALUE = "p<0.05", "p>0.05", "p<1"
_LEVEL = 0.05

_TOKEN = re.compile(r"[^\W\d_][^\W_]*|\d+(?:[.·,]\d+)*|[^\w\s]")
_P_VALUE = re.compile(
    r"\bp ?-?(?: ?values?)?(?: (?:of|was|were|is))? ?([<>=≤≥⩽⩾]{1,2}) ?(0?[.·] ?\d{1,12}|1(?:\.0{1,9})?)", re.IGNORECASE
)
_AT_MOST = frozenset("<≤⩽")
# "5.2 ± 1.1 (n = 20) vs 4.1": two numbers of the arms.
_NUMBER = r"[-−]?\d{1,9}(?:[.·]\d{1,9})?"
_TWO_NUMBERS = re.compile(
    rf"(?<![\w.])({_NUMBER})(?!\.?\d)([^\d.;()[\]]{{0,9}}(?:± ?{_NUMBER}[^\d.;()[\]]{{0,9}})?(?:[(\[][^()[\]]{{0,60}}"
    rf"[)\]])?[^\d.;()[\]]{{0,60}}?\b(?:vs\.?|versus|and|than|while|whereas|compared (?:with|to)) )({_NUMBER})(?!\.?\d)"
)
_MOST_WORDS, _MOST_SIGNALS = 1_000, 60

_DATA = packaged_table(__file__)
_COMPARISONS = {word: signal for signal, words in _DATA["comparisons"].items() for word in words.split()}
_RISE, _FALL = "numbersrise", "numbersfall"  # of the later number
_BETTER, _WORSE = frozenset(["improved", "improvement", "better", "superior"]), frozenset(["worse", "inferior"])
_LINKS, _ASKING = (frozenset(_DATA["words"][name].split()) for name in ("linking", "asking"))
_AGAINST, _WORDS_TO_ARM = frozenset(["than", "compared", "versus", "vs"]), 6
_TEXTS = "|".join(_DATA["no_finding"]["texts"]).replace("SET", _DATA["no_finding"]["SET"])
_NO_FINDING = re.compile("|".join([rf"\b(?:{_TEXTS})\b", *_DATA["no_finding"]["signs"]]))
# Before the intervention: this arm has none of it, as "males with no gift".
_HAS_NO = r"\b(?:with|had|having|receiv\w+|given|taking|on|or|and|vs|versus|than) no"
_IS_WITHOUT = re.compile(rf"(?:{_HAS_NO}|\b(?:without|lacking)|\b(?:lack|absence|withdrawal) of)$")
# "Does not consistently yield higher recall" reports no increase.
_NOT_ALWAYS = re.compile(r"\bnot (?:\w+ )?(?:always|consistently|necessarily|uniformly|invariably|universally)\b")
_MOST_JOINT = 10  # the first sentences, which say something of the others
_MOST_AGAINST = 0.5  # by how much a sentence's own words may speak for something else than is read with the others'
_USUAL_COMPARATORS = "placebo control controls sham"
_OTHER_ARM = {"I": "C", "C": "I"}
_UNMARKED = STOPWORDS | _LINKS | frozenset(_COMPARISONS)  # of a sentence they say more than of a part
_P_VALUES = frozenset((SIGNIFICANT, NOT_SIGNIFICANT))
_TELLING = _P_VALUES | {"UP", "DOWN", "NONE"}
_CORE = _TELLING | {"I", "C", _RISE, _FALL}


def part_marks(hypothesis: str, abbreviations: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the mark, I, C or O, of the root of each word of a hypothesis's parts, each in one part only.

    ``abbreviations`` are the paper's, each with the words of its full name. Where it is known whether more of the
    outcome is good, words such as "better" are marked UP or DOWN.
    """
    question = question_of(hypothesis)
    texts = (question.intervention, question.comparator or _USUAL_COMPARATORS, question.outcome)
    intervention, comparator, outcome = ({stem for stem in roots(text) if stem not in _UNMARKED} for text in texts)
    outcome -= intervention | comparator
    of_parts = {"O": outcome, "C": comparator - intervention, "I": intervention - comparator}
    for short, full in abbreviations.items():
        of_full = {root(word) for word in full if word not in STOPWORDS}
        for part in of_parts.values():
            if of_full and of_full <= part:
                part.add(root(short))
    marks = {stem: mark for mark, part in of_parts.items() for stem in part}
    if (is_good := is_more_good(question.outcome)) is not None:
        better, worse = ("UP", "DOWN") if is_good else ("DOWN", "UP")
        marks |= dict.fromkeys(_BETTER, better) | dict.fromkeys(_WORSE, worse)
    return marks


def marked_words(sentence: str, mark_of: Mapping[str, str]) -> list[str]:
    """Return a sentence's words, such as ``O fell by # mmhg with I ( p<0.05 )``: at most the first thousand."""
    text = _TWO_NUMBERS.sub(_with_order, " ".join(sentence.split()))
    words: list[str] = []
    position = 0
    for match in _P_VALUE.finditer(text):
        _add(words, text[position : match.start()], mark_of)
        words.append(_p_value_mark(match[1], match[2]))
        position = match.end()
    _add(words, text[position:], mark_of)
    return words[:_MOST_WORDS]


def _with_order(match: re.Match[str]) -> str:
    first, last = (float(number.replace("−", "-").replace("·", ".")) for number in (match[1], match[3]))
    return match[0] if first == last else f"{match[1]}{match[2]} {_RISE if first < last else _FALL} {match[3]}"


def _add(words: list[str], text: str, mark_of: Mapping[str, str]) -> None:
    for token in _TOKEN.findall(text.lower()):
        mark = "#" if token[0].isdigit() else mark_of.get(token if token in _UNMARKED else root(token))
        if mark is None or mark == "#" or words[-1:] != [mark]:  # "blood pressure" is one outcome
            if mark == "I" and _IS_WITHOUT.search(" ".join(words[-2:])):
                mark = "C"
                del words[-1 if words[-1] == "no" else len(words) :]  # which would read as "no difference"
            words.append(mark or token)


def _p_value_mark(sign: str, number: str) -> str:
    value = float(number.replace("·", ".").replace(" ", ""))
    if sign[0] in _AT_MOST:
        return SIGNIFICANT if value <= _LEVEL else _BELOW_A_LARGER_VALUE
    if sign == "=":
        return SIGNIFICANT if value < _LEVEL else NOT_SIGNIFICANT
    return NOT_SIGNIFICANT if value >= _LEVEL else SIGNIFICANT


def reports_comparison(words: Sequence[str]) -> bool:
    if _NO_FINDING.search(" ".join(words)):
        return False
    signals = {_COMPARISONS.get(word, word) for word in words}
    return not signals.isdisjoint(_P_VALUES) or (not signals.isdisjoint(_TELLING) and signals.isdisjoint(_ASKING))


def turned_to_intervention(words: Sequence[str]) -> tuple[list[str], bool]:
    """Exchange the arms of "higher with water than with tea", and say whether that was done: the answer is opposite."""
    # The first word such as "than" that is near an arm decides.
    is_turned = next((near for near in _near(words, _AGAINST) if near in _OTHER_ARM), None) == "I"
    return [_OTHER_ARM.get(word, word) if is_turned else word for word in words], is_turned


def is_of_other_arm(words: Sequence[str]) -> bool:
    """Whether a sentence compares the other arm alone with something else: "with water, it was higher than in 1990"."""
    return {"C", "than"} <= set(words) and "I" not in words and "C" not in _near(words, {"than"})


def _near(words: Sequence[str], against: Collection[str]) -> list[str]:
    behind = (words[index + 1 : index + 1 + _WORDS_TO_ARM] for index, word in enumerate(words) if word in against)
    return list(chain(*behind))


def direction_features(words: Sequence[str]) -> frozenset[str]:
    names = set(words)
    signals: list[str] = []
    for word in words:
        signal = _COMPARISONS.get(word, word)
        is_signal = signal in _CORE or signal == "O" or signal in _LINKS
        if is_signal and signals[-1:] != [signal]:
            signals.append(signal)
    signals = signals[:_MOST_SIGNALS]
    core = [signal for signal in signals if signal in _CORE]
    for size in range(1, 5):
        if size > 1:
            names |= {f"run:{' '.join(signals[at : at + size])}" for at in range(len(signals) - size + 1)}
        names |= {f"core:{' '.join(core[at : at + size])}" for at in range(len(core) - size + 1)}
    names |= {f"pair:{first} {later}" for at, first in enumerate(core) for later in core[at + 1 :]}
    return frozenset(names)


SHIPPED = Path(__file__).with_name("shipped_directions.json")


class ReportedDirection(StrEnum):
    """What a sentence reports of the outcome, under the intervention."""

    INCREASE = "increase"
    DECREASE = "decrease"
    NO_DIFFERENCE = "no difference"
    NOT_SAID = "not said"


LEARNED = (ReportedDirection.INCREASE, ReportedDirection.DECREASE, ReportedDirection.NO_DIFFERENCE)


class Stance(StrEnum):
    """What a sentence says of a hypothesis that claims a direction."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    NO_DIFFERENCE = "no difference"


_GOOD, _BAD, _RELIEVED, _IMPAIRED, _TIME_TO = (
    re.compile(rf"\b(?:{'|'.join(_DATA['outcomes'][name].split())})")
    for name in ("good", "bad", "relieved", "impaired", "time_to")
)
_MEASURED_BY = re.compile(r" ?\(| (?:according to|assessed|measured|as per|using|scored?|scale|on the)\b")


def is_more_good(outcome: str) -> bool | None:
    """Whether more of an outcome is good; None where its words do not say."""
    words = _MEASURED_BY.split(outcome.lower(), maxsplit=1)[0]
    good, bad = bool(_GOOD.search(words)), bool(_BAD.search(words))
    if relieved := bool(_RELIEVED.search(words)) or _IMPAIRED.search(words):
        good, bad = relieved is True, relieved is not True
    return None if good == bad else good != bool(_TIME_TO.search(words))


def stance_of(direction: ReportedDirection | None, question: ParsedQuestion) -> Stance | None:
    """Return what a reported direction says of a question's claim; None where one of them is not known."""
    claim = question.claim
    if claim is None or direction in {None, ReportedDirection.NOT_SAID}:
        return None
    if direction is ReportedDirection.NO_DIFFERENCE and claim is not Claim.NO_DIFFERENCE:
        return Stance.SUPPORTS if question.is_denied else Stance.NO_DIFFERENCE
    if claim in {Claim.BETTER, Claim.WORSE}:
        is_good = is_more_good(question.outcome)
        if is_good is None:
            return None
        claim = Claim.INCREASE if is_good is (claim is Claim.BETTER) else Claim.DECREASE
    return Stance.SUPPORTS if (direction is ReportedDirection(claim)) is not question.is_denied else Stance.CONTRADICTS


DirectionReader = Callable[[str, Sequence[str], Sequence[int]], Mapping[int, ReportedDirection]]
"""Given a hypothesis, a paper's sentences and the indices of some: what these report, by index."""


class DirectionWeights(msgspec.Struct, frozen=True, kw_only=True):
    """A linear model: for each of `LEARNED` a start, and a weight of each feature.

    Sentences that were found together are read together: each gets a share of the others' scores, by their ranks.
    """

    format: Literal["evidencebench-directions/1"] = "evidencebench-directions/1"
    data: dict[str, Any]  # what it was trained on: for people
    starts: tuple[float, float, float]
    least: float = 0.0  # by how much a score must lead; what leads by less is not said
    weights: dict[str, tuple[float, float, float]]

    def directions(self, texts: Sequence[Sequence[str]]) -> list[ReportedDirection]:
        """Return what sentences report that were found together, best first, each as marked words."""
        return [
            direction if lead >= self.least and not is_of_other_arm(words) else ReportedDirection.NOT_SAID
            for words, (direction, lead) in zip(texts, self.leading(texts), strict=True)
        ]

    def leading(self, texts: Sequence[Sequence[str]]) -> list[tuple[ReportedDirection, float]]:
        """Return the direction with the highest score of each sentence, and by how much it leads."""
        own = np.array([self._scores(words) for words in texts])
        shares = own * [[0.5 / rank if rank <= _MOST_JOINT else 0.0] for rank in range(1, len(texts) + 1)]
        joint = own - shares + shares.sum(axis=0)
        return [_lead(scores, alone) for scores, alone in zip(joint.tolist(), own.tolist(), strict=True)]

    def _scores(self, words: Sequence[str]) -> Sequence[float]:
        if not reports_comparison(words):
            return [0.0, 0.0, 0.0]
        if _NOT_ALWAYS.search(" ".join(words)):
            return [0.0, 0.0, 3.0]
        turned, is_turned = turned_to_intervention(words)
        known = [self.weights[name] for name in direction_features(turned) if name in self.weights]
        share = 1 / math.sqrt(max(1, len(known)))  # long sentences have more features, and are no surer
        scores = [start + share * math.fsum(of_place) for start, *of_place in zip(self.starts, *known, strict=True)]
        return [scores[1], scores[0], scores[2]] if is_turned else scores


def _lead(scores: Sequence[float], alone: Sequence[float]) -> tuple[ReportedDirection, float]:
    _, second, first = sorted(scores)
    direction, lead = LEARNED[scores.index(first)], first - second
    if not any(alone) or alone[scores.index(first)] < max(alone) - _MOST_AGAINST:  # of another outcome, most often
        return direction if any(alone) else ReportedDirection.NOT_SAID, -1.0
    # To tell the opposite is worse than to miss a difference.
    against = math.inf if direction is ReportedDirection.NO_DIFFERENCE else abs(scores[0] - scores[1]) / 2
    return direction, min(lead, against)


@cache
def shipped_weights() -> DirectionWeights:
    """Return the weights that come with the package. They were trained on Evidence Inference alone."""
    return msgspec.json.decode(SHIPPED.read_bytes(), type=prepared(DirectionWeights))


def reported_directions(
    hypothesis: str, sentences: Sequence[str], indices: Sequence[int]
) -> Mapping[int, ReportedDirection]:
    """Return what each sentence reports, by its index; `indices` stand best first."""
    mark_of = part_marks(hypothesis, abbreviations(sentences))
    texts = [marked_words(sentences[index], mark_of) for index in indices]
    return dict(zip(indices, shipped_weights().directions(texts) if texts else [], strict=True))
