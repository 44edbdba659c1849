"""A paper as plain text: one sentence a line, headings marked as in Markdown."""

from evidencebench.errors import UnreadableError
from evidencebench.papers.paper import Paper
from evidencebench.papers.refusal import text_of
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
    sentences: list[str] = []
    kinds: list[Kind] = []
    current = Kind.BODY
    for line in filter(None, map(str.strip, text_of(content, name=name).splitlines())):
        if line.startswith("#"):
            title = line.lstrip("#").strip()
            current = Kind.ABSTRACT if title.lower().rstrip(".:") in _ABSTRACT_TITLES else Kind.BODY
            if title:
                sentences.append(title)
                kinds.append(Kind.HEADING)
        else:
            sentences.append(line)
            kinds.append(current)
    if not any(kind is not Kind.HEADING for kind in kinds):
        raise UnreadableError(f"{name}: expected one sentence a line, headings marked with #; got no sentence")
    return Paper(name=name, sentences=tuple(sentences), kinds=tuple(kinds))
