"""What people answer where an effect is not asked for: numbers, one for each arm if wanted, and words."""

import re
from collections.abc import Collection, Iterator, Sequence

from evidencebench.errors import PeopleError
from evidencebench.papers.numbers import numbers_in
from evidencebench.papers.paper import Unit, UnitKind
from evidencebench.review.questions import ReviewQuestion
from evidencebench.runs.answers import ArmValue
from evidencebench.systems.relevance import topic_words

_NUMBER = (  # 1,200 and 1 200 are thousands; 49,7 is a decimal
    r"[-\u2212+]?(?:(?:\d{1,3}(?:[, ]\d{3})+(?!\d)|\d+)(?:[.\u00b7]\d+|,\d{1,2}(?!\d))?|[.\u00b7]\d+)(?![.,\u00b7]?\d)"
)
_BESIDE = rf"\u00b1\s?{_NUMBER}|\([^;]*\)"  # the spread of a number
_WRITTEN = re.compile(
    rf"(?P<value>{_NUMBER})(?:\s+of\s+(?P<whole>{_NUMBER}))?\s*"
    rf"(?P<unit>[^\d\s(;,./\u00b1\u2013\u2212<>=+-][^(;\u00b1]*?)?\s*(?P<beside>{_BESIDE})?"
)
_MOST_CHARACTERS = 1_000
_EXAMPLES = "such as 120, 3.1 mg, 12 of 100, or for each arm 'tea: 61; water: 59'"


def values_in(text: str, question: ReviewQuestion) -> tuple[ArmValue, ...]:
    """Return what a person typed as values; raises `PeopleError` where it is no answer to the question.

    >>> question = ReviewQuestion(text="How many were randomised?", kind="number")
    >>> [(value.arm, value.value) for value in values_in("tea: 61; water: 59", question)]
    [('tea', '61'), ('water', '59')]
    """
    text = " ".join(text.split())
    if len(text) > _MOST_CHARACTERS:
        raise PeopleError(f"the answer has {len(text):,} characters; at most {_MOST_CHARACTERS:,}, please")
    if not text:
        return ()
    if question.kind == "choice" and text not in question.choices:
        raise PeopleError(f"'{text}': expected one of {', '.join(question.choices)}")
    if question.kind != "number":
        return (ArmValue(value=text),)
    values = tuple(_number(part.strip(), question.unit) for part in text.split(";") if part.strip())
    if len({value.arm for value in values}) < len(values):
        raise PeopleError(f"'{text}': expected one number, or one for each arm, {_EXAMPLES}")
    return values


def _number(text: str, unit: str) -> ArmValue:
    arm, _, written = text.rpartition(":")
    found = _WRITTEN.fullmatch(written.strip())
    if found is None:
        raise PeopleError(f"'{text}': expected a number, {_EXAMPLES}")
    value, whole, given = found["value"], found["whole"], (found["unit"] or "").strip()
    if whole is not None:
        if as_number(value) > as_number(whole):
            raise PeopleError(f"'{text}': {value} of {whole} is more than there are")
        value = f"{value} of {whole}"
    if unit and given and given.casefold() != unit.casefold():
        raise PeopleError(f"'{text}': expected {unit}, got {given}; change the unit here, or in questions.txt")
    return ArmValue(arm=arm.strip(), value=value, unit=given or unit, beside=found["beside"] or "")


def as_number(value: str) -> float:
    """Return the first number of a value that was checked."""
    found = re.match(_NUMBER, value)
    digits = re.sub(r"[, ](?=\d{3}(?!\d))", "", found[0]) if found else "nan"
    return float(digits.replace("\u2212", "-").replace("\u00b7", ".").replace(",", "."))


def words_of(values: Sequence[ArmValue]) -> str:
    """Return values in words, as they can be typed too."""
    return "; ".join(
        " ".join(filter(None, (value.arm and f"{value.arm}:", value.value, value.unit, value.beside)))
        for value in values
    )


# Values that a sentence or a row of a table offers.

MOST_OFFERED = 7  # as many as keys take
_MEASURE = re.compile(
    r"%|\u00b0C|[\u00b5\u03bcmckndh]?(?:g|L|l|m|M|s|mol|Hg|Pa|cal|J|W|V|Hz|IU|U)|mm ?Hg|h|d|min"
    r"|\w+[/%\u00b2\u00b3][\w/\u00b2\u00b3]*|(?:second|minute|hour|day|week|month|year)s?"
)
_UNIT = re.compile(r"\s?(%|\u00b0C|[A-Za-z\u00b5\u03bc][\w\u00b5/%\u00b2\u00b3]*)")
_ARM = re.compile(
    r"\b(?:in|for|with|of|under|to|received) (?:the |an? )?(?!each |both |either |one )"
    r"((?:[\w+-]+ ){0,2}?[\w+-]+) (?:group|arm)\b"
)
_CHANCE = re.compile(r"\bp\s*[<>=]\s*$", re.IGNORECASE)
_CELL = re.compile(rf"{_NUMBER}(?:\s?%)?(?:\s*(?:{_BESIDE}))?")
_P_VALUE = re.compile(r"p\b", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_LEVEL = re.compile(r"\s?% (?:ci|confidence)", re.IGNORECASE)


def offered_by_sentence(text: str, question: ReviewQuestion) -> list[str]:
    """Return the numbers of a sentence as answers to a question, those with words of the question first.

    >>> question = ReviewQuestion(text="How many adults were randomised?", kind="number")
    >>> offered_by_sentence("In 2004, we randomised 120 adults, 61 in the tea group.", question)
    ['120 adults', 'tea: 61', '2004']
    """
    asked = {word.casefold() for word in topic_words(question.text)}
    ranked: dict[str, int] = {}  # what fits, what may, and years
    for number in numbers_in(text):
        if _CHANCE.search(number.before) or _LEVEL.match(number.behind):
            continue
        values = sorted(number.values)
        sign = "-" if re.search(r"(?:^|[\s(])-$", number.before) else ""
        digits = number.written if number.written[-1].isdecimal() else f"{values[0]:g}"
        unit = _unit_behind(number.behind, asked)
        arm = _arm_of(number.behind)
        fits = unit.casefold() == question.unit.casefold() if question.unit else unit.casefold() in asked
        shown = unit if question.unit == "" or fits else ""
        written = " ".join(filter(None, (arm and f"{arm}:", f"{sign}{digits}", shown)))
        if _WRITTEN.fullmatch(written.rpartition(": ")[2]) is None:  # such as the number of a trial
            continue
        rank = 0 if fits else 2 if _YEAR.fullmatch(written) else 1
        ranked[written] = min(rank, ranked.get(written, rank))
    return sorted(ranked, key=ranked.__getitem__)[:MOST_OFFERED]


def _unit_behind(text: str, asked: Collection[str]) -> str:
    """Return the unit behind a number: a sign, an abbreviation or a time, or a word that the question has."""
    found = _UNIT.match(text)
    return found[1] if found and (_MEASURE.fullmatch(found[1]) or found[1].casefold() in asked) else ""


def _arm_of(behind: str) -> str:
    clause = re.split(r"[;.]\s|,\s| and ", behind, maxsplit=1)[0]
    found = _ARM.search(clause)
    return found[1] if found else ""


def offered_by_unit(unit: Unit, question: ReviewQuestion) -> list[str]:
    """Return the numbers of a row of a table, each with the head of its column; of other lines, as of a sentence."""
    if unit.kind is not UnitKind.TABLE_ROW:
        return offered_by_sentence(unit.text, question)
    return list(_cells_of(unit.text))[:MOST_OFFERED]


def _cells_of(row: str) -> Iterator[str]:
    for part in row.split("; "):
        head, _, cell = part.rpartition(": ")
        head = head.rpartition(". ")[2].replace(";", ",")
        found = _CELL.match(cell)
        if found and head and not _P_VALUE.match(head):
            yield f"{head}: {found[0]}"
