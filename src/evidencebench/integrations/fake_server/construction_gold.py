"""The right answers to the prompts of the steps of construction, from gold studies."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from evidencebench.construction.gold_studies import GoldStudy
from evidencebench.integrations.fake_server.prompt_content import PromptContent, normalised

_SUMMARY = re.compile(r"^Summary(?:, for context only)?: (.*)$", re.MULTILINE)
_ASPECT = re.compile(r"^Aspect: (.*)$", re.MULTILINE)
_ASPECT_LINE = re.compile(r"^([0-9]{1,5})\. (.*)$", re.MULTILINE)
_CITING = re.compile(r"^.*?Sentences ([0-9]{1,5})(?: to ([0-9]{1,5}))? of the text", re.MULTILINE)
_NOISY = re.compile(r"noisy-(?P<misses>[01](?:\.[0-9]{1,6})?)-(?P<invents>[01](?:\.[0-9]{1,6})?)")


class GoldStudies:
    """The studies that the model knows, found again by the texts that prompts hold."""

    def __init__(self, studies: Iterable[GoldStudy] = ()) -> None:
        self._studies = list(studies)
        self._by_summary = {normalised(text): one for one in self._studies for text in (one.passage, one.summary)}
        self._sources: dict[tuple[str, str], frozenset[int]] = {
            (normalised(one.summary), normalised(aspect.aspect)): frozenset(aspect.sentences)
            for one in self._studies
            for aspect in one.aspects
        }

    def answer(self, content: PromptContent, model: str, draw: Callable[..., float]) -> Mapping[str, Any] | None:
        """Return the object that answers a step's prompt; None where the study is not known.

        A model named ``noisy-0.1-0.01`` misses a tenth of the sources in each window, and says so of a hundredth of the
        other sentences; ``draw`` returns a number in [0, 1) of what it is given.
        """
        if content.step == "delimit the passage":
            return self._delimited(content)
        if content.step == "label results":
            return self._labelled(content)
        summary = _SUMMARY.search(content.instructions)
        study = None if summary is None else self._by_summary.get(normalised(summary[1]))
        if study is None:
            return None
        return self._of_study(study, content, model, draw)

    def _of_study(
        self, study: GoldStudy, content: PromptContent, model: str, draw: Callable[..., float]
    ) -> Mapping[str, Any] | None:
        def judged(aspect: str) -> list[int]:
            return self._judged(study, aspect, content, model, draw)

        asked = _ASPECT.search(content.instructions)
        listed = _listed_aspects(content)
        known = {normalised(one.aspect) for one in study.aspects}
        answers: dict[str, Callable[[], Mapping[str, Any]]] = {
            "keep summaries of results": lambda: {"reports_results": study.reports_results},
            "purpose of the evidence": lambda: {"purpose": study.purpose},
            "hypothesis": lambda: {"hypothesis": study.hypothesis},
            "aspects": lambda: {"aspects": [one.aspect for one in study.aspects]},
            "verify the aspects": lambda: {
                "verdicts": [
                    {"aspect": number, "faithful": normalised(text) in known, "single": True} for number, text in listed
                ]
            },
            "judge one aspect": lambda: {"sentences": judged(asked[1] if asked else "")},
            "judge all aspects": lambda: {
                "aspects": [{"aspect": number, "sentences": judged(text)} for number, text in listed]
            },
        }
        return answers[content.step]() if content.step in answers else None

    def _labelled(self, content: PromptContent) -> Mapping[str, Any]:
        """Return which aspects of a prompt are results: its summary is not in it, so they are found by themselves."""
        results = {normalised(one.aspect) for study in self._studies for one in study.aspects if one.is_result}
        return {"results": [number for number, text in _listed_aspects(content) if normalised(text) in results]}

    def _delimited(self, content: PromptContent) -> Mapping[str, Any] | None:
        """Return the shown sentences that stand in the summary of the study whose passage is asked about."""
        place = _CITING.search(content.instructions)
        if place is None:
            return None
        first, last = int(place[1]), int(place[2] or place[1])
        cited = " ".join(text for number, text in content.shown if first <= number <= last)
        study = next((one for one in self._studies if normalised(cited) in normalised(one.passage)), None)
        if study is None:
            return None
        summary = normalised(study.summary)
        return {"sentences": [number for number, text in content.shown if normalised(text) in summary]}

    def _judged(
        self, study: GoldStudy, aspect: str, content: PromptContent, model: str, draw: Callable[..., float]
    ) -> list[int]:
        """Return the shown sentences that hold an aspect, with the errors of a noisy model."""
        key = (normalised(study.summary), normalised(aspect))
        sources: frozenset[int] = self._sources.get(key, frozenset())
        noise = _NOISY.fullmatch(model)
        if noise is None:
            return [number for number in content.numbers if number in sources]
        start = min(content.numbers, default=0)

        def says(number: int) -> bool:
            drawn = draw("judges", model, *key, start, number)
            return drawn >= float(noise["misses"]) if number in sources else drawn < float(noise["invents"])

        return list(filter(says, content.numbers))


def _listed_aspects(content: PromptContent) -> list[tuple[int, str]]:
    """Return the numbers and texts of the aspects that a prompt lists."""
    listed = content.instructions.partition("\nAspects:\n")[2].partition("\n\n")[0]
    return [(int(number), text) for number, text in _ASPECT_LINE.findall(listed)]
