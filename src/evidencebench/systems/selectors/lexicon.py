"""What sentences that report evidence look like: words, phrases and numbers, each a cue that is counted.

The lists were written by hand from how biomedical papers report studies; none was derived from the labels.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evidencebench.systems.retrievers.tokens import tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """One sort of wording.

    Attributes
    ----------
    name
        Its name as a feature.
    meaning
        What a count of it says about a sentence.
    words
        Words that count, space-separated; ``increas*`` is every word that begins so.
    phrases
        Texts that count wherever they stand, in lower case.
    pattern
        A pattern that counts in sentences that hold a digit. Its repeats of what may follow itself, such as spaces,
        are bounded, so that no text takes more than linear time.
    """

    name: str
    meaning: str
    words: str = ""
    phrases: tuple[str, ...] = ()
    pattern: str = ""


CUES: tuple[Cue, ...] = (
    Cue(
        name="p_value",
        meaning="a p-value, or a statement of significance with a number",
        pattern=(
            r"\b[pP]\s{0,3}(?:[-\u2013]?\s{0,3}(?:value|trend)s?\w{0,9}\s{0,3})?(?:for trend\s{0,3})?"
            r"[=<>≤≥⩽⩾]\s{0,3}0?[.,·]?\d"
        ),
    ),
    Cue(
        name="interval",
        meaning="a confidence interval",
        words="ci cis",
        phrases=("confidence interval", "confidence limit", "credible interval"),
        pattern=r"\b9[059]\s?%\s?(?:CI|C\.I|confidence|credible)",
    ),
    Cue(
        name="ratio",
        meaning="an odds, risk, rate or hazard ratio, or a standardised ratio",
        words="ors rr rrs hr hrs irr smr smrs sir sirs pr aor",
        phrases=("odds ratio", "relative risk", "risk ratio", "hazard ratio", "rate ratio", "mortality ratio"),
    ),
    Cue(name="percent", meaning="a percentage", words="percent", phrases=("per cent",), pattern=r"\d\s?%"),
    Cue(name="n_equals", meaning="a stated group size, as in n = 20", pattern=r"\b[nN]\s?=\s?\d"),
    Cue(name="decimal", meaning="a decimal number", pattern=r"\d[.·]\d"),
    Cue(name="number", meaning="a number of any sort", pattern=r"\d+(?:[.,·]\d+)*"),
    Cue(name="year", meaning="a calendar year", pattern=r"\b(?:1[89]|20)\d\d\b"),
    Cue(
        name="fold",
        meaning="a multiple, as in 3-fold or twice",
        words="twofold threefold twice",
        pattern=r"\d[-\s]?fold\b",
    ),
    Cue(
        name="plus_minus",
        meaning="a mean with its spread",
        words="sd sem",
        phrases=("standard deviation", "±"),
        pattern=r"\+/-",
    ),
    Cue(
        name="dose",
        meaning="an amount with its unit",
        pattern=r"\d\s?(?:mg|µg|μg|ug|ng|g|kg|ml|l|ppm|ppb|mm|µm|μm|nm|mmol|nmol|µmol|μmol|mM|µM|μM|nM|Gy|mSv|Hz|GHz|MHz)\b",
    ),
    Cue(
        name="duration",
        meaning="a length of time",
        pattern=r"\d\s?(?:-\s?)?(?:years?|yr|months?|weeks?|days?|hours?|h|min)\b",
    ),
    Cue(
        name="increase",
        meaning="more of something",
        words="increas* elevat* higher rais* greater rise rose excess enhanc* induc* exceed*",
    ),
    Cue(
        name="decrease",
        meaning="less of something",
        words="decreas* reduc* lower* fewer declin* diminish* inhibit* suppress* protect* less",
    ),
    Cue(
        name="association",
        meaning="two things that go together",
        words="associat* correlat* relat* link* risk risks odds predict* effect effects trend",
        phrases=("dose-response", "dose response", "relationship between", "due to"),
    ),
    Cue(
        name="comparison",
        meaning="one group against another",
        words="compar* versus vs than differ* similar unlike",
        phrases=("relative to",),
    ),
    Cue(name="significance", meaning="a statistical judgment", words="significan* statistical*"),
    Cue(
        name="negation",
        meaning="something that was not found",
        words="no not nor neither none without absence lack* fail* unable negative unaffected unchanged nonsignificant",
    ),
    Cue(
        name="finding",
        meaning="a verb that reports a finding",
        words=(
            "found show* observ* reveal* demonstrat* detect* indicat* report* confirm* identif* exhibit* produc* "
            "caus* result* occur* develop*"
        ),
    ),
    Cue(
        name="conclusion",
        meaning="a sentence that concludes",
        words="conclu* suggest* imply implies support* therefore thus hence overall summary",
        phrases=(
            "these findings",
            "these results",
            "our findings",
            "our results",
            "our data",
            "these data",
            "the results of this",
            "may contribute",
            "may be a",
        ),
    ),
    Cue(
        name="ours",
        meaning="the authors speak of themselves",
        words="we our us",
        phrases=(
            "present study",
            "this study",
            "this investigation",
            "current study",
            "this report",
            "this work",
            "this paper",
        ),
    ),
    Cue(
        name="objective",
        meaning="what the study is for",
        words="aim* objective* purpose goal investigate examine evaluate determine assess explore hypothes*",
        phrases=("in order to", "the aim", "was conducted to", "was undertaken to", "whether"),
    ),
    Cue(
        name="design",
        meaning="a study design",
        words=(
            "cohort* prospective* retrospective* randomi* trial trials followed longitudinal ecological survey* nested "
            "blind questionnaire* interview*"
        ),
        phrases=(
            "case-control",
            "case control",
            "cross-sectional",
            "follow-up",
            "follow up",
            "meta-analysis",
            "population-based",
            "hospital-based",
        ),
    ),
    Cue(
        name="participants",
        meaning="people who take part",
        words=(
            "patient* participant* subject* women men children workers cases controls volunteers individuals "
            "persons people population employees boys girls adults smokers nonsmokers donors"
        ),
    ),
    Cue(
        name="recruitment",
        meaning="how they came to take part",
        words=(
            "recruit* enrol* includ* exclud* eligib* consist* compris* select* match* admitted consecutive "
            "diagnosed registr* aged consent*"
        ),
    ),
    Cue(
        name="animals",
        meaning="animals in an experiment",
        words="rat rats mouse mice rabbit* hamster* dog dogs monkey* animal* litter* pups guinea female* male*",
    ),
    Cue(
        name="cells",
        meaning="cells, tissue and molecules",
        words=(
            "cell cells tissue* tumor* tumour* dna rna mrna protein* gene genes mutat* expression vitro vivo lung liver"
        ),
    ),
    Cue(
        name="exposure",
        meaning="something that subjects were exposed to",
        words=(
            "expos* dose doses dosed treat* administ* intake consum* inject* gavage inhal* fed concentration* "
            "level levels"
        ),
    ),
    Cue(
        name="procedure",
        meaning="how something was measured or made",
        words=(
            "measur* analy* perform* using used assay* obtain* collect* incubat* stain* centrifug* purchas* "
            "prepar* extract* calculat* estimat* determined assessed evaluated method* technique* pcr elisa"
        ),
    ),
    Cue(
        name="adjustment",
        meaning="a statistical adjustment or model",
        words="adjust* regression logistic multivaria* confound* cox stratif* covariate* model models anova",
        phrases=("t-test", "t test"),
    ),
    Cue(
        name="outcome",
        meaning="a disease or an end point",
        words=(
            "cancer* carcinoma* mortality death* incidence prevalence disease* diagnos* lesion* adenoma* survival "
            "lymphoma* leukemia leukaemia malignan*"
        ),
    ),
    Cue(
        name="citation",
        meaning="other people's work",
        words="al et",
        phrases=("et al",),
        pattern=r"\[\s?\d+|\(\d{1,3}(?:\s?[,;\u2013-]\s?\d{1,3})*\)",
    ),
    Cue(
        name="previous",
        meaning="what was known before",
        words="previous* earlier recent* literature known hypothesi* studies authors review* established",
        phrases=("has been", "have been"),
    ),
    Cue(
        name="limitation",
        meaning="a caveat or a wish for more research",
        words="limit* however although bias* caution* unclear uncertain* further future warrant* possib* might could",
        phrases=("further studies", "more research"),
    ),
    Cue(name="display", meaning="a table or a figure", words="table tables fig figs figure figures shown"),
    Cue(
        name="boilerplate",
        meaning="funding, ethics, copyright and thanks",
        words=(
            "grant* fund* thank* acknowledg* copyright license* licence* ethic* committee conflict* "
            "correspondence journal doi citation keywords supplement* approved declar*"
        ),
    ),
    Cue(
        name="group",
        meaning="groups, highest against lowest",
        words="group groups quartile* quintile* tertile* highest lowest among never ever former current heavy",
    ),
    Cue(
        name="total",
        meaning="a count of all",
        words="total all each overall both",
        phrases=("a total of", "of whom", "of these", "of which"),
    ),
)


_WORDS = [cue.words.split() for cue in CUES]
_EXACT: dict[str, tuple[int, ...]] = {}
_PREFIXES: dict[str, tuple[int, ...]] = {}
for _number, _entries in enumerate(_WORDS):
    for _entry in _entries:
        _table = _PREFIXES if _entry.endswith("*") else _EXACT
        _table[_entry.rstrip("*")] = (*_table.get(_entry.rstrip("*"), ()), _number)
_SHORTEST_PREFIX = min(map(len, _PREFIXES))
_LONGEST_ENTRY = max(map(len, (*_EXACT, *_PREFIXES)))
_PHRASES = [(phrase, number) for number, cue in enumerate(CUES) for phrase in cue.phrases]
_PATTERNS = [(re.compile(cue.pattern), number) for number, cue in enumerate(CUES) if cue.pattern]
_DIGIT = re.compile(r"\d")


@lru_cache(maxsize=1 << 16)
def _cues_of(word: str) -> tuple[int, ...]:
    found = set(_EXACT.get(word, ()))
    for length in range(_SHORTEST_PREFIX, len(word) + 1):
        found.update(_PREFIXES.get(word[:length], ()))
    return tuple(sorted(found))


def count_cues(sentences: Sequence[str]) -> NDArray[np.float64]:
    """Return how often each cue stands in each sentence: one row a sentence, one column a cue of `CUES`.

    >>> names = [cue.name for cue in CUES]
    >>> counts = count_cues(["The hazard ratio was 2.9 (95% CI 1.2-7.1)."])
    >>> [name for name, count in zip(names, counts[0]) if count]
    ['interval', 'ratio', 'percent', 'decimal', 'number']
    """
    counts = np.zeros((len(sentences), len(CUES)))
    for row, sentence in zip(counts, sentences, strict=True):
        lower = sentence.lower()
        for word in tokens(lower, stopwords=False):
            for number in _cues_of(word[: _LONGEST_ENTRY + 1]):  # the rest of a longer word changes nothing
                row[number] += 1
        for phrase, number in _PHRASES:
            if phrase in lower:
                row[number] += lower.count(phrase)
        if _DIGIT.search(sentence):
            for pattern, number in _PATTERNS:
                row[number] += sum(1 for _ in pattern.finditer(sentence))
    return counts
