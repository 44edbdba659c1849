"""A paper as plain text: one sentence a line, headings marked as in Markdown."""

from evidencebench.errors import UnreadableError
from evidencebench.query import Kind, Query

MOST_SENTENCES = 50_000
"""Sentences that one paper may have: the time that many systems take grows with their square."""

_ABSTRACT_TITLES = frozenset({"abstract", "summary"})


def read_plain(text: str, *, hypothesis: str, name: str) -> Query:
    r"""Return the query that asks a plain text with a hypothesis.

    A line is a sentence, empty lines apart; one that begins with ``#`` is a heading. What follows the heading
    "Abstract" or "Summary", until the next heading, is the abstract.

    Parameters
    ----------
    text
        The paper.
    hypothesis
        One sentence.
    name
        Where the text comes from, for messages and as the paper's id.

    Raises
    ------
    UnreadableError
        If there is no sentence, or no hypothesis, or there are more than `MOST_SENTENCES`.

    Examples
    --------
    >>> text = "# Abstract\nTea lowered pressure.\n# Results\nIt fell by 3 mmHg."
    >>> query = read_plain(text, hypothesis="Tea helps.", name="tea.txt")
    >>> [kind.value for kind in query.kinds]
    ['section_name', 'abstract', 'section_name', 'normal_paragraph']
    """
    if not hypothesis.strip():
        raise UnreadableError("hypothesis: expected a sentence, got an empty one")
    sentences: list[str] = []
    kinds: list[Kind] = []
    current = Kind.BODY
    for line in filter(None, map(str.strip, text.splitlines())):
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
    if len(sentences) > MOST_SENTENCES:
        raise UnreadableError(
            f"{name}: expected at most {MOST_SENTENCES:,} sentences, got {len(sentences):,}; a paper has hundreds: ask "
            "about its papers or parts one by one"
        )
    return Query(instance_id=name, paper_id=name, hypothesis=hypothesis, sentences=tuple(sentences), kinds=tuple(kinds))
