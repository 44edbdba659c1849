"""The study aspects: a summary split so that one sentence can match each, then verified against the summary."""

import msgspec

from evidencebench.construction.draft import Draft
from evidencebench.construction.steps.asking_objects import FORM_PROMPTS, ask_object
from evidencebench.construction.steps.checks import words_of, wrong_with_aspect
from evidencebench.construction.steps.model_step import ModelStep, dropped
from evidencebench.systems.strategies.conversation import Asker
from evidencebench.systems.strategies.excerpt import prompt_line

MOST_ASPECTS = 50
"""The most aspects of a summary; the largest number in the published data is 30."""

ASSUMED_ASPECTS = 8
"""How many aspects a summary has where estimates know none: the mean of the published data."""


class _Aspects(msgspec.Struct):
    aspects: list[str]


class _AspectVerdict(msgspec.Struct):
    aspect: int
    faithful: bool
    single: bool


class _AspectVerdicts(msgspec.Struct):
    verdicts: list[_AspectVerdict]


def _make_aspects(asker: Asker, draft: Draft) -> Draft:
    sources = dict(draft.sources_of)
    summary = prompt_line(draft.summary)
    found, sources["aspects split"] = ask_object(
        asker,
        "aspects",
        {"hypothesis": prompt_line(draft.hypothesis), "summary": summary},
        example=_Aspects(["...", "..."]),
        stand_in=_Aspects(stand_in_aspects(summary, ASSUMED_ASPECTS)),
        check=lambda found: _wrong_with(found.aspects, draft.summary),
        what="aspects",
    )
    aspects = tuple(" ".join(aspect.split()) for aspect in found.aspects)
    made = msgspec.structs.replace(draft, aspects=aspects)
    checked, sources["aspects verify"] = ask_object(
        asker,
        "verify_aspects",
        {"summary": summary, "aspects": numbered_aspects(aspects)},
        example=_AspectVerdicts([_AspectVerdict(aspect=len(aspects) + 7, faithful=True, single=True)]),
        stand_in=_AspectVerdicts(
            [_AspectVerdict(aspect=n, faithful=True, single=True) for n in range(1, len(aspects) + 1)]
        ),
        check=lambda found: (
            ""
            if sorted(one.aspect for one in found.verdicts) == list(range(1, len(aspects) + 1))
            else f"expected one verdict for each of the aspects 1 to {len(aspects)}"
        ),
        what="verdicts on the aspects",
    )
    made = msgspec.structs.replace(made, sources_of=sources)
    verdicts = sorted(checked.verdicts, key=lambda one: one.aspect)
    for reason, failed in (
        ("an aspect says more than the summary", [one for one in verdicts if not one.faithful]),
        ("an aspect needs several sentences", [one for one in verdicts if not one.single]),
    ):
        if failed:
            return dropped(made, reason, "; ".join(aspects[verdict.aspect - 1] for verdict in failed))
    return made


def numbered_aspects(aspects: tuple[str, ...]) -> str:
    """Return aspects as a prompt lists them, each on a line behind its number from 1."""
    return "\n".join(f"{number}. {prompt_line(aspect)}" for number, aspect in enumerate(aspects, 1))


def _wrong_with(aspects: list[str], summary: str) -> str:
    if not aspects:
        return "it holds no aspect"
    if len(aspects) > MOST_ASPECTS:
        return f"it has {len(aspects):,} aspects; at most {MOST_ASPECTS} are allowed"
    if len({" ".join(words_of(aspect)) for aspect in aspects}) < len(aspects):
        return "two aspects are the same"
    return next(filter(None, (wrong_with_aspect(aspect, summary) for aspect in aspects)), "")


def stand_in_aspects(summary: str, n_aspects: int) -> list[str]:
    """Return as many texts as there may be aspects, together a little longer than the summary, as aspects are."""
    words = summary.split()
    size = max(8, -(-len(words) // max(1, n_aspects)) + 4)
    return [f"{number} {' '.join((words * size)[:size])}" for number in range(1, n_aspects + 1)]


ASPECTS = ModelStep(name="aspects", prompts=("aspects", "verify_aspects", *FORM_PROMPTS), work=_make_aspects)
"""Adds the aspects."""
