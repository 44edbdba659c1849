"""Split a paragraph into sentences, with their offsets."""

import re

_GAP = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9(\[])")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, stop) of each sentence of a paragraph, in order, without the white space around it."""
    bounds = [0, *(place for found in _GAP.finditer(text) for place in found.span()), len(text)]
    pairs = zip(bounds[::2], bounds[1::2], strict=True)
    trimmed = (
        (start + len(text[start:stop]) - len(text[start:stop].lstrip()), start + len(text[start:stop].rstrip()))
        for start, stop in pairs
    )
    return [(start, stop) for start, stop in trimmed if start < stop]
