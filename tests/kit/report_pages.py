"""A report as a browser takes it apart, and reports that the tests make."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from doors import PAPERS_A_PIECE, Findings, findings_of, report_page, score_runs
from evidencebench import Dataset, Resampling, Rules, Task, load_sample, open_dataset, task_named

SAMPLE = load_sample()
QUICK = Resampling(n_draws=50)
_VOID = {"meta", "br", "img", "input", "link", "hr"}


def findings_in(
    paths: Sequence[Path], dataset: Dataset, tasks: Sequence[Task] = (), *, resampling: Resampling, rules: Rules
) -> Findings:
    """Score and rank runs as `report_page` does."""
    return findings_of(score_runs(paths, dataset, tasks, rules=rules, with_selections=True), resampling)


@dataclass(slots=True)
class Element:
    """An element of a page, with the text and the elements in it."""

    tag: str
    attributes: dict[str, str]
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, tag: str, **attributes: str) -> list["Element"]:
        """Return the elements in it that have this tag and these attributes, in order."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                if child.tag == tag and attributes.items() <= child.attributes.items():
                    found.append(child)
                found += child.all(tag, **attributes)
        return found

    def section(self, name: str) -> "Element":
        (found,) = self.all("section", id=name)
        return found

    def table(self, caption: str) -> list[dict[str, str]]:
        """Return the rows of the one table with this caption, by column."""
        (table,) = [one for one in self.all("table") if [named.text for named in one.all("caption")] == [caption]]
        head, *rows = ([cell.text for cell in cells_of(row)] for row in table.all("tr"))
        return [dict(zip(head, row, strict=True)) for row in rows]

    def skeleton(self) -> list[tuple[str, tuple[str, ...], list[Any]]]:
        """Return what it is made of, without any text and any value."""
        inner = [child for child in self.children if isinstance(child, Element)]
        return [(child.tag, tuple(sorted(child.attributes)), child.skeleton()) for child in inner]

    def data(self, name: str) -> Any:
        """Return what a page holds under an id as JSON."""
        (script,) = self.all("script", id=name)
        return msgspec.json.decode(script.text)

    def record(self, place: int) -> Any:
        """Return the record of the paper in a row of the page."""
        pieces = self.all("script", **{"class": "papers"})
        return msgspec.json.decode(lines_of(pieces[place // PAPERS_A_PIECE].text)[place % PAPERS_A_PIECE])


def lines_of(piece: str) -> list[bytes]:
    """Return the records of a piece, each as JSON."""
    return zlib.decompress(base64.b64decode(piece)).split(b"\n")


def cells_of(row: Element) -> list[Element]:
    return [cell for cell in row.children if isinstance(cell, Element) and cell.tag in ("th", "td")]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("page", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(made)
        if tag not in _VOID:
            self._open.append(made)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def parsed(page: str) -> Element:
    """Return a page as elements; one that is not well formed fails the test."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader._open == [reader.root], "an element is left open"  # noqa: SLF001 - its own
    return reader.root


def report_of(
    runs: Sequence[Path], dataset: Dataset, *tasks: str, largest: int = 5, limit: int | None = None, **options: Any
) -> Element:
    """Return a report, taken apart."""
    asked: tuple[Task, ...] = tuple(map(task_named, tasks))
    return parsed(report_page(runs, dataset, asked, resampling=QUICK, largest=largest, limit=limit, **options))


# Data and runs made by hand.


def record(sources: dict[str, list[int]], kinds: Sequence[str], word: str = "word") -> dict[str, object]:
    """Return an instance as the JSON of a data file; its first aspect is a Results aspect."""
    return {
        "hypothesis": word,
        "paper_as_candidate_pool": [f"{word} {index}" for index in range(len(kinds))],
        "aspect_list_ids": list(sources),
        "results_aspect_list_ids": list(sources)[:1],
        "aspect2sentence_indices": sources,
        "sentence_index2aspects": {},
        "sentence_types_in_candidate_pool": list(kinds),
        "paper_id": word,
        "aspect_id2aspect": dict.fromkeys(sources, word),
    }


def made(folder: Path, members: dict[str, dict[str, object]], name: str = "data.json") -> Dataset:
    """Return a data set of instances, each of a paper of its own."""
    with_papers = {
        key: one | {"paper_id": f"{one['paper_id']} {number}"} for number, (key, one) in enumerate(members.items())
    }
    (folder / name).write_text(json.dumps(with_papers))
    return open_dataset(folder / name)


def run_at(path: Path, *lines: object) -> Path:
    """Write a file of JSON Lines."""
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path


def header_of(
    name: str, options: Mapping[str, Any], *, dataset: Dataset = SAMPLE, **fields: object
) -> dict[str, object]:
    """Return the header of a run."""
    data = {"name": dataset.name, "path": "sample", "sha256": dataset.sha256, "n": len(dataset)}
    return {"evidencebench_run": 1, "system": {"name": name, "options": options}, "data": data, **fields}
