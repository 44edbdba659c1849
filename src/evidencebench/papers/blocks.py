"""Blocks, which readers return, and the paper that is made of them: paragraphs are split into sentences here."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evidencebench.errors import UnreadableError
from evidencebench.papers.paper import Loss, Paper, Place, SourceSpan
from evidencebench.papers.refusal import metadata_only
from evidencebench.papers.sentences import sentence_spans
from evidencebench.papers.sourced_text import SourcedText
from evidencebench.query import Kind

_Source = TypeVar("_Source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading, or a paragraph of the abstract or the body."""

    text: SourcedText  # not empty, white space collapsed, as `TextWriter.finish` returns it
    kind: Kind  # the paper's title is a heading too
    section: tuple[str, ...] = ()  # titles of the sections around it, outermost first, its own title apart
    page: int | None = None  # from 1; None in a format without pages
    is_sentence: bool = False  # it is not split, as in files of one sentence a line


def paper_of(
    blocks: Iterable[Block],
    *,
    name: str,
    file_format: str,
    title: str = "",
    ids: Mapping[str, str] | None = None,
    loss: Loss | None = None,
    warnings: tuple[str, ...] = (),
    is_record: bool = False,
) -> Paper:
    """Return the paper of the blocks; ``is_record``: of a format that also holds papers without their text."""
    sentences: list[str] = []
    kinds: list[Kind] = []
    places: list[Place] = []
    spans: list[SourceSpan] = []
    paragraph = 0
    for block in blocks:
        whole = block.is_sentence or block.kind is Kind.HEADING
        for start, stop in [(0, len(block.text.text))] if whole else sentence_spans(block.text.text):
            sentences.append(block.text.text[start:stop])
            kinds.append(block.kind)
            places.append(Place(section=block.section, paragraph=paragraph, page=block.page))
            spans.append(block.text.span(start, stop))
        paragraph += block.kind is not Kind.HEADING
    if not paragraph and is_record:
        raise metadata_only(name, file_format, "a title" if title else "no text")
    if not paragraph:
        raise UnreadableError(f"{name}: {file_format}: expected a paper with sentences, got none")
    return Paper(
        name=name,
        format=file_format,
        title=title,
        sentences=tuple(sentences),
        kinds=tuple(kinds),
        places=tuple(places),
        spans=tuple(spans),
        ids=ids or {},
        loss=loss or Loss(),
        warnings=warnings,
    )


def each_paper(
    sources: Sequence[_Source], ids: Sequence[str], read: Callable[[_Source, str], Paper], file: str
) -> list[Paper | UnreadableError]:
    """Return the paper of each source of a file, named by its id or else number, or why it cannot be read."""
    papers: list[Paper | UnreadableError] = []
    uses = Counter(ids)
    for number, (source, own_id) in enumerate(zip(sources, ids, strict=True), 1):
        name = f"{file}#{own_id if own_id and uses[own_id] == 1 else number}" if len(ids) > 1 else file
        try:
            papers.append(read(source, name))
        except UnreadableError as error:
            papers.append(error)
    return papers
