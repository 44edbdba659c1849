"""The causes of a miss that people choose from, and which of them are the system's fault."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Why a miss counts as one: its name in files, its words for people, and whether it is the system's fault."""

    name: str
    words: str
    is_fault: bool
    needs_note: bool = False


_CAUSES = (
    Cause(name="missed", words="The selection does not hold the aspect: the system missed it.", is_fault=True),
    Cause(
        name="label_lacks_sentence",
        words="A selected sentence holds the aspect, but the labels do not list that sentence.",
        is_fault=False,
    ),
    Cause(
        name="no_single_sentence",
        words="No sentence of the paper holds the aspect by itself, the marked sources included.",
        is_fault=False,
    ),
    Cause(
        name="not_about_hypothesis",
        words="The aspect is not about the hypothesis, so that nobody could know it is wanted.",
        is_fault=False,
    ),
    Cause(
        name="reading_error",
        words="The paper was read or split wrongly, so that a source is broken or makes no sense.",
        is_fault=False,
    ),
    Cause(
        name="other_fault",
        words="Another cause, and the system's fault; the note says which.",
        is_fault=True,
        needs_note=True,
    ),
    Cause(
        name="other_no_fault",
        words="Another cause, and not the system's fault; the note says which.",
        is_fault=False,
        needs_note=True,
    ),
)

CAUSES: Mapping[str, Cause] = MappingProxyType({cause.name: cause for cause in _CAUSES})
"""Every cause, by name, in the order in which people read them."""
