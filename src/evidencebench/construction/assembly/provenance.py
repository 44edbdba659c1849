"""Where the parts of drafts come from: which models and prompts, with which settings, on papers of which licences."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evidencebench.construction.draft import Draft, Judging
from evidencebench.construction.draft_file import DraftFile
from evidencebench.construction.harvest.papers_at_hand import papers_in
from evidencebench.tables import Cell, Table, printable

_SHOWN_DIGITS = 12
_ADDRESS = "url"  # of one's own server: no one's business


class PartSource(NamedTuple):
    """What a part of drafts was read from: a model's replies to a prompt."""

    part: str  # of a draft, such as "hypotheses" or "judge, round 2, all aspects at once"
    model: str
    prompt: str  # SHA-256 of its file


class WindowSettings(NamedTuple):
    """How papers were cut into windows to be judged."""

    window: int
    overlap: int


class Sources(NamedTuple):
    """Part, model and prompt -> how many drafts have it; windows -> how many drafts were judged so."""

    parts: Counter[PartSource]
    windows: Counter[WindowSettings]


def sources_of_drafts(drafts: Iterable[Draft]) -> Sources:
    """Return where the parts of drafts come from, counted."""
    found = Sources(Counter(), Counter())
    for draft in drafts:
        found.parts.update(PartSource(part, source.model, source.prompt) for part, source in draft.sources_of.items())
        if draft.judging is not None:
            found.parts.update(_rounds(draft.judging))
            found.windows[WindowSettings(draft.judging.window, draft.judging.overlap)] += 1
    return found


def _rounds(judging: Judging) -> Iterable[PartSource]:
    for number, one in enumerate(judging.rounds, 1):
        details = (" all aspects at once" if one.asks_all else "", " where windows disagreed" if one.decides else "")
        part = ",".join([f"judge, round {number}", *filter(None, details)])
        yield PartSource(part, one.model, one.prompt)


def source_table(parts: Counter[PartSource]) -> Table:
    """Return a table with a row a part, model and prompt, in the order in which drafts name them."""
    rows: list[list[Cell]] = [[one.part, one.model, one.prompt[:_SHOWN_DIGITS], n] for one, n in parts.items()]
    return Table(columns=["part", "model", "prompt (SHA-256)", "instances"], rows=rows)


def setting_lines(files: Sequence[DraftFile]) -> list[str]:
    """Return a line a step with its settings, without addresses of servers."""
    told = {file.header.step: list(_told_settings(file.header.settings)) for file in files}
    return [f"{step}: {', '.join(settings)}" for step, settings in told.items() if settings]


def _told_settings(settings: Mapping[str, Any]) -> Iterator[str]:
    for key, value in sorted(settings.items()):
        if value not in (None, "", [], {}) and _ADDRESS not in key:
            yield printable(f"{key} {' '.join(map(str, value)) if isinstance(value, list) else value}")


def licences_in(folder: Path, paper_files: Iterable[str]) -> Counter[str]:
    """Return licence -> how many of these papers are under it, as far as their files or ``papers.csv`` tell."""
    papers = papers_in(folder)
    found = (papers.at(paper_file) for paper_file in paper_files)
    return Counter("unknown" if paper is None else paper.licence for paper in found)
