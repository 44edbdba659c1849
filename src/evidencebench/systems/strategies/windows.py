"""A paper in parts: its sections, tiny ones merged with their neighbours and long ones cut into overlapping windows."""

import math
from bisect import bisect_left
from collections.abc import Sequence

from evidencebench.query import Query
from evidencebench.sections import sections_of
from evidencebench.systems.strategies.excerpt import Excerpt, line_tokens, prompt_line

Sentences = tuple[int, ...]

MIN_WINDOW_TOKENS = 64
"""The smallest window that is worth a question, in estimated tokens of the lines."""


def windows_of(query: Query, *, max_tokens: int, min_tokens: int = 0, overlap: int = 0) -> tuple[Excerpt, ...]:
    """Return a paper in parts of bounded length, by its sections. Every sentence is in at least one part.

    A tiny section is joined to the next one, and a tiny last one to the one before it. A section that is then longer
    than a window is cut into windows of like length that share sentences. A single sentence that is longer than a
    window has a window of its own and is cut; it counts in that window's `n_cut`.

    `max_tokens` and `min_tokens` are of the lines together, as estimated. A section with fewer than `min_tokens` is
    tiny. `overlap` is how many sentences a window shares with the one before it in its section: fewer where they would
    fill half of it. Raises `ValueError` where windows are too short for any sentence.
    """
    if max_tokens < MIN_WINDOW_TOKENS:
        raise ValueError(f"max_tokens: expected at least {MIN_WINDOW_TOKENS}, got {max_tokens}")
    texts = [prompt_line(text) for text in query.sentences]
    sizes = [line_tokens(index, text) for index, text in enumerate(texts)]
    sections = [tuple(range(section.start, section.stop)) for section in sections_of(query.kinds)]
    windows: list[Sentences] = []
    for section in _merge_sections(sections, sizes, min_tokens):
        windows += _cut_section(section, sizes, max_tokens, overlap)
    return tuple(_excerpt(window, texts, sizes, max_tokens) for window in windows)


def _merge_sections(sections: Sequence[Sentences], sizes: Sequence[int], min_tokens: int) -> list[Sentences]:
    """Return the sections, each tiny one joined to the next, and a tiny last one to the one before it."""
    merged: list[Sentences] = []
    for section in sections:
        if merged and _size(merged[-1], sizes) < min_tokens:
            merged[-1] += section
        else:
            merged.append(section)
    if len(merged) > 1 and _size(merged[-1], sizes) < min_tokens:
        last = merged.pop()
        merged[-1] += last
    return merged


def _size(section: Sentences, sizes: Sequence[int]) -> int:
    return sum(sizes[index] for index in section)


def _cut_section(section: Sentences, sizes: Sequence[int], max_tokens: int, overlap: int) -> list[Sentences]:
    """Return windows of like length over a section; each but the first begins with the last sentences before it."""
    size = _size(section, sizes)
    enough = size / math.ceil(size / max_tokens)
    windows: list[Sentences] = []
    window: list[int] = []
    n_new_tokens = 0
    for index in section:
        if window and (n_new_tokens >= enough or _size((*window, index), sizes) > max_tokens):
            windows.append(tuple(window))
            window = _shared_sentences(window, sizes, min(max_tokens // 2, max_tokens - sizes[index]), overlap)
            n_new_tokens = 0
        window.append(index)
        n_new_tokens += sizes[index]
    return [*windows, tuple(window)]


def _shared_sentences(window: Sequence[int], sizes: Sequence[int], max_tokens: int, overlap: int) -> list[int]:
    """Return the last sentences of a window for the next one: at most ``overlap``, and as many as fit."""
    shared: list[int] = []
    for index in reversed(window[1:]):  # never all of it, so that windows move on
        if len(shared) == overlap or _size((*shared, index), sizes) > max_tokens:
            break
        shared.append(index)
    return shared[::-1]


def _excerpt(window: Sentences, texts: Sequence[str], sizes: Sequence[int], max_tokens: int) -> Excerpt:
    if _size(window, sizes) <= max_tokens:
        return Excerpt(shown={index: texts[index] for index in window})
    (index,) = window  # only a sentence alone can be longer than a window
    text = texts[index]
    n_fit = bisect_left(range(1, len(text) + 1), x=True, key=lambda end: line_tokens(index, text[:end]) > max_tokens)
    return Excerpt(shown={index: text[:n_fit]}, n_cut=1)
