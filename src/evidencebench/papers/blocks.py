"""Blocks, which readers return, and the paper that is made of them: paragraphs are split into sentences here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evidencebench.errors import UnreadableError
from evidencebench.papers.paper import Loss, Paper, Place, SourceSpan
from evidencebench.papers.sentences import sentence_spans
from evidencebench.papers.sourced_text import SourcedText
from evidencebench.query import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading, or a paragraph of the abstract or the body.

    Attributes
    ----------
    text
        Not empty, white space collapsed, as `TextWriter.finish` returns it.
    kind
        The paper's title is a heading too.
    section
        Titles of the sections around it, outermost first, its own title apart.
    page
        From 1; None in a format without pages.
    is_sentence
        Whether it is one sentence, which is not split, as in files of one sentence a line.
    """

    text: SourcedText
    kind: Kind
    section: tuple[str, ...] = ()
    page: int | None = None
    is_sentence: bool = False


def paper_of(
    blocks: Iterable[Block],
    *,
    name: str,
    file_format: str,
    title: str = "",
    ids: Mapping[str, str] | None = None,
    loss: Loss | None = None,
    warnings: tuple[str, ...] = (),
) -> Paper:
    """Return the paper that the blocks make up, in order; raises `UnreadableError` if they hold no sentence."""
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
