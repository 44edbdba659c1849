"""Build the synthetic sample data set from its readable source files.

Each file of ``tools/sample`` holds one invented paper with one or more instances. The part above the line
``---`` names the paper, its instances and their aspects; the part below it has one sentence a line::

    paper: synthetic_paper_01
    instance: evidencebench_sample_id_0
    hypothesis: One sentence.
    aspect a [results]: A study aspect that is a result.
    aspect b: Any other study aspect.
    ---
    # A heading {a}
    > A sentence of the abstract. {a b}
    A sentence of the body.

Braces at the end of a sentence name the aspects that it is a source of information for. Blank lines and
lines that start with ``//`` are ignored.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evidencebench.data.dataset import write_dataset
from evidencebench.data.instance import Origin
from evidencebench.data.json_format import decode_instance
from evidencebench.data.optima import derive_optima, with_optima
from evidencebench.data.sample import sample_path

SAMPLE_FOLDER = Path(__file__).resolve().parent / "sample"

_ASPECT = re.compile(r"aspect (?P<key>[a-z][a-z0-9]*)(?P<results> \[results\])?: (?P<text>\S.*)")
_FIELD = re.compile(r"(?P<name>paper|instance|hypothesis): (?P<value>\S.*)")
_INSTANCE_ID = re.compile(r".+_id_(?P<number>[0-9]+)")
_SENTENCE = re.compile(r"(?P<mark>[#>] +)?(?P<text>[^#>{}\s][^{}]*?)(?:\s+\{(?P<keys>[a-z0-9 ]+)\})?")
_TYPE_OF_MARK = {"#": "section_name", ">": "abstract", "": "normal_paragraph"}


@dataclass
class _Aspect:
    key: str
    text: str
    is_result: bool
    line: int


@dataclass
class _Header:
    instance_id: str
    line: int
    hypothesis: str = ""
    aspects: list[_Aspect] = field(default_factory=list)


@dataclass
class _Sentence:
    text: str
    kind: str
    keys: list[str]


def _fail(path: Path, line: int, expected: str) -> ValueError:
    return ValueError(f"{path}:{line}: expected {expected}")


def _parse_header(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[str, list[_Header]]:
    """Read the lines up to ``---``; return the paper id and the instances."""
    papers: list[str] = []
    headers: list[_Header] = []
    number = 0
    for number, line in lines:
        if line == "---":
            break
        if match := _ASPECT.fullmatch(line):
            _add_aspect(path, number, headers, match)
        elif match := _FIELD.fullmatch(line):
            _add_field(path, number, papers, headers, match)
        else:
            expected = (
                "'paper: ID', 'instance: ID', 'hypothesis: TEXT', 'aspect KEY: TEXT', 'aspect KEY [results]: TEXT'"
            )
            raise _fail(path, number, f"{expected} or '---', found {line!r}")
    else:
        raise _fail(path, number + 1, "a line '---' after the aspects, found the end of the file")
    if not papers or not headers:
        raise _fail(path, number, "'paper: ID' and at least one 'instance: ID' above '---'")
    for header in headers:
        if not header.hypothesis or not header.aspects:
            raise _fail(path, header.line, f"a hypothesis and at least one aspect for {header.instance_id}")
    return papers[0], headers


def _add_aspect(path: Path, number: int, headers: list[_Header], match: re.Match[str]) -> None:
    if not headers:
        raise _fail(path, number, "'instance: ID' before the first aspect")
    if any(aspect.key == match["key"] for header in headers for aspect in header.aspects):
        raise _fail(path, number, f"an aspect key not yet used in this file, found {match['key']!r} again")
    aspect = _Aspect(key=match["key"], text=match["text"], is_result=match["results"] is not None, line=number)
    headers[-1].aspects.append(aspect)


def _add_field(path: Path, number: int, papers: list[str], headers: list[_Header], match: re.Match[str]) -> None:
    name, value = match["name"], match["value"]
    if name == "paper":
        if papers:
            raise _fail(path, number, "one 'paper: ID' line, found a second one")
        papers.append(value)
    elif name == "instance":
        if not _INSTANCE_ID.fullmatch(value) or any(header.instance_id == value for header in headers):
            raise _fail(path, number, f"an instance id that ends in '_id_N' and is new, found {value!r}")
        headers.append(_Header(instance_id=value, line=number))
    else:
        if not headers or headers[-1].hypothesis:
            raise _fail(path, number, "one 'hypothesis: TEXT' line after each 'instance: ID' line")
        headers[-1].hypothesis = value


def _parse_sentences(path: Path, lines: Iterator[tuple[int, str]], known: set[str]) -> list[_Sentence]:
    """Read the sentences below ``---``."""
    sentences: list[_Sentence] = []
    keys_of_text: dict[str, set[str]] = {}
    for number, line in lines:
        match = _SENTENCE.fullmatch(line)
        if match is None:
            expected = "'# HEADING', '> ABSTRACT' or a body sentence, then perhaps '{a b}'"
            raise _fail(path, number, f"{expected}, found {line!r}")
        keys = (match["keys"] or "").split()
        if unknown := [key for key in keys if key not in known]:
            raise _fail(path, number, f"aspect keys that are defined above '---', found {', '.join(unknown)}")
        if len(set(keys)) < len(keys):
            raise _fail(path, number, f"each aspect key once, found {match['keys']!r}")
        if keys_of_text.setdefault(match["text"], set(keys)) != set(keys):
            raise _fail(path, number, "the same aspect keys as at the earlier copy of this sentence")
        sentences.append(_Sentence(match["text"], _TYPE_OF_MARK[(match["mark"] or "").strip()], keys))
    return sentences


def _build_instance(path: Path, paper_id: str, header: _Header, sentences: list[_Sentence]) -> dict[str, Any]:
    """Put one instance into the published format, without the evaluation fields."""
    ids = {aspect.key: f"{header.instance_id}_aspect_{m}" for m, aspect in enumerate(header.aspects)}
    sources: dict[str, list[int]] = {}
    for aspect in header.aspects:
        indices = [index for index, sentence in enumerate(sentences) if aspect.key in sentence.keys]
        if not indices:
            raise _fail(path, aspect.line, f"at least one sentence with the key {aspect.key!r}")
        sources[ids[aspect.key]] = indices
    results = [ids[aspect.key] for aspect in header.aspects if aspect.is_result]
    return {
        "hypothesis": header.hypothesis,
        "paper_as_candidate_pool": [sentence.text for sentence in sentences],
        "aspect_list_ids": list(ids.values()),
        "results_aspect_list_ids": results or None,
        "aspect2sentence_indices": sources,
        "sentence_index2aspects": {
            str(index): [ids[key] for key in ids if key in sentence.keys] for index, sentence in enumerate(sentences)
        },
        "sentence_types_in_candidate_pool": [sentence.kind for sentence in sentences],
        "paper_id": paper_id,
        "aspect_id2aspect": {ids[aspect.key]: aspect.text for aspect in header.aspects},
        "synthetic": True,
    }


def read_paper(path: Path) -> dict[str, dict[str, Any]]:
    """Read one source file.

    Parameters
    ----------
    path
        A file in the format described at the top of this module.

    Returns
    -------
    dict
        Instance id to instance, in file order: the published format without the four evaluation fields, plus
        ``aspect_id2aspect`` and ``synthetic``.

    Raises
    ------
    ValueError
        If the file departs from the format; the message names file and line.
    """
    numbered = ((number, line.strip()) for number, line in enumerate(path.read_text("utf-8").splitlines(), 1))
    lines = ((number, line) for number, line in numbered if line and not line.startswith("//"))
    paper_id, headers = _parse_header(path, lines)
    sentences = _parse_sentences(path, lines, {aspect.key for header in headers for aspect in header.aspects})
    return {header.instance_id: _build_instance(path, paper_id, header, sentences) for header in headers}


def read_sample(folder: Path) -> dict[str, dict[str, Any]]:
    """Read all source files of a folder.

    Parameters
    ----------
    folder
        The folder with the ``*.txt`` files.

    Returns
    -------
    dict
        Instance id to instance, in the order of the instance numbers.

    Raises
    ------
    ValueError
        If there is no file, a file departs from the format, or an instance or paper id appears in two files.
    """
    merged: dict[str, dict[str, Any]] = {}
    file_of_paper: dict[str, Path] = {}
    paths = sorted(folder.glob("*.txt"))
    if not paths:
        raise ValueError(f"{folder}: expected at least one .txt file")
    for path in paths:
        for instance_id, instance in read_paper(path).items():
            if instance_id in merged:
                raise _fail(path, 1, f"instance ids not used in another file, found {instance_id!r} again")
            if file_of_paper.setdefault(instance["paper_id"], path) != path:
                raise _fail(path, 1, f"a paper id not used in another file, found {instance['paper_id']!r} again")
            merged[instance_id] = instance
    return dict(sorted(merged.items(), key=lambda item: int(item[0].rpartition("_")[2])))


def main() -> None:
    """Write the sample into the package, its optima derived."""
    sample = read_sample(SAMPLE_FOLDER)
    instances = (
        decode_instance(instance_id, Origin(raw=json.dumps(fields).encode())) for instance_id, fields in sample.items()
    )
    write_dataset(sample_path(), (with_optima(instance, derive_optima(instance)) for instance in instances))


if __name__ == "__main__":
    main()
