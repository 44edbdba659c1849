"""Published figures, to compare with: mean aspect recall in percent on the official test split.

Source: Wang, Cao et al., "EvidenceBench: A Benchmark for Extracting Evidence from Biomedical Papers", COLM 2025,
arXiv:2504.18736, and the result log of its repository. They are for the test split: scores
on other data cannot be ranked against them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedResult:
    """One system's published means: ``percents`` is task name -> mean aspect recall in percent."""

    system: str
    strategy: str
    percents: Mapping[str, float]

    @property
    def name(self) -> str:
        """The name in tables, such as ``GPT-4o-2024-05-13, 8-shot``."""
        return f"{self.system}, {self.strategy}" if self.strategy else self.system

    def recall(self, task: str) -> float | None:
        """Return its mean on a task in 0..1, to the published digits; None where none was published."""
        return round(self.percents[task] / 100, 4) if task in self.percents else None


_TASKS = ("er_at_optimal", "er_at_10", "result_er_at_optimal", "result_er_at_5")


def _row(system: str, strategy: str, *recalls: float | None) -> PublishedResult:
    known = {task: recall for task, recall in zip(_TASKS, recalls, strict=False) if recall is not None}
    return PublishedResult(system=system, strategy=strategy, percents=MappingProxyType(known))


PUBLISHED: tuple[PublishedResult, ...] = (
    _row("maximum", "", 100.0, 99.3, 100.0, 99.8),
    _row("Gemini 2.5 Pro", "base", 52.5),
    _row("GPT-4o-2024-05-13", "8-shot", 51.4, 68.7),
    _row("GPT-4o-2024-05-13", "sections", 50.9, 71.6, 52.6, 70.8),
    _row("Claude 4 Sonnet", "base", 49.1),
    _row("Gemini 1.5 Pro", "sections", 48.4, 65.4, 46.7, 65.4),
    _row("GPT-4o-2024-05-13", "base", 48.1, 69.6),
    _row("Claude 3 Opus", "sections", 47.6, 66.4, 51.7, 68.7),
    _row("Llama-3-70B", "sections", 46.7, 65.4, 46.2, 63.7),
    _row("Gemini 1.5 Pro", "8-shot", 43.2, 62.4),
    _row("Gemini 1.5 Pro", "base", 42.7, 63.0),
    _row("Claude 3 Opus", "base", 41.1, 53.6),
    _row("Llama-3-8B", "sections, fine-tuned", None, None, 41.0),
    _row("Claude 3 Opus", "8-shot", 38.3, 55.4),
    _row("Llama-3-8B", "sections", None, None, 35.8),
    _row("E5-large-v2", "fine-tuned", None, None, 32.9),
    _row("GritLM-7B", "instruction", 27.0, 46.4, 18.9, 39.1),
    _row("NV-Embed-v2", "instruction", 25.2, 44.7, 20.1, 35.6),
    _row("text-embedding-3-large", "no instruction", 25.1, 42.2, 19.1, 33.1),
    _row("E5-Mistral-7B", "no instruction", 22.7, 41.9, 19.3, 33.6),
    _row("BM25", "", 16.5, 34.4),
    _row("E5-large-v2", "not fine-tuned", None, None, 15.2),
    _row("random", "", 9.6, 22.3, 4.4, 11.4),
)
"""Best first by ER@Optimal, as published."""
