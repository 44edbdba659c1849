"""Cut a query whose sentences are several articles into articles, and find the one that the hypothesis is about."""

from collections.abc import Sequence

from evidencebench.query import Kind

_LEAST_SENTENCES = 20


def article_slices(kinds: Sequence[Kind]) -> list[slice]:
    """Return the sentences of each article: another one begins where, after body text, an abstract begins.

    The headings right before an abstract, such as a title, belong to it. Less than 20 sentences are no article of their
    own. One article is what most queries hold.
    """
    starts = [0]
    headings = 0  # how many headings stand right before
    has_body = False
    for index, kind in enumerate(kinds):
        if kind is Kind.ABSTRACT:
            start = index - headings
            if has_body and start - starts[-1] >= _LEAST_SENTENCES:
                starts.append(start)
            has_body = False
        headings = headings + 1 if kind is Kind.HEADING else 0
        has_body = has_body or kind is Kind.BODY
    if len(starts) > 1 and len(kinds) - starts[-1] < _LEAST_SENTENCES:
        starts.pop()
    return [slice(start, stop) for start, stop in zip(starts, [*starts[1:], len(kinds)], strict=True)]
