"""A paper as plain text: one sentence a line, headings marked as in Markdown."""

from evidencebench.errors import UnreadableError
from evidencebench.papers.blocks import Block, paper_of
from evidencebench.papers.paper import Paper
from evidencebench.papers.refusal import text_of
from evidencebench.papers.sourced_text import TextWriter
from evidencebench.query import Kind

_ABSTRACT_TITLES = frozenset({"abstract", "summary"})


def read_plain(content: bytes, name: str) -> Paper:
    r"""Return the paper in a plain text.

    Each line that is not empty is a sentence; a line that begins with ``#`` is a heading. The sentences between the
    heading "Abstract" or "Summary" and the next heading are the abstract.

    >>> paper = read_plain(b"# Abstract\nTea lowered pressure.\n# Results\nIt fell by 3 mmHg.", name="tea.txt")
    >>> [kind.value for kind in paper.kinds]
    ['section_name', 'abstract', 'section_name', 'normal_paragraph']
    """
    blocks: list[Block] = []
    kind, section = Kind.BODY, tuple[str, ...]()
    position = 0
    for line in text_of(content, name=name).splitlines(keepends=True):
        writer = TextWriter()
        marks = len(line) - len(line.lstrip().lstrip("#")) if line.lstrip().startswith("#") else 0
        writer.add(line[marks:], start=position + marks)
        position += len(line)
        text = writer.finish()
        if marks:
            kind = Kind.ABSTRACT if text.text.lower().rstrip(".:") in _ABSTRACT_TITLES else Kind.BODY
            section = (text.text,)
        if text.text:
            blocks.append(
                Block(
                    text=text,
                    kind=Kind.HEADING if marks else kind,
                    section=() if marks else section,
                    is_sentence=True,
                )
            )
    if not any(block.kind is not Kind.HEADING for block in blocks):
        raise UnreadableError(f"{name}: expected one sentence a line, headings marked with #; got no sentence")
    return paper_of(blocks, name=name, file_format="text, one sentence a line")
