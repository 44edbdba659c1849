"""How lines of printed text join."""

import pytest

from doors import joint
from doors import line_words_of as words_of

_WORDS = words_of("A double-blind trial of treatment for long and term")


@pytest.mark.parametrize(
    ("line", "after", "joined"),
    [
        ("the treat-", "ment", (1, "")),
        ("double-", "blind", (0, "")),
        ("long-", "term", (0, "")),
        ("no-", "long", (1, "")),
        ("TREAT-", "MENT", (1, "")),
        ("off-the-", "shelf", (0, "")),
        ("of tea", "was", (0, " ")),
        ("COX-", "2 rose", (0, "")),
        ("pre-", "and post", (0, " ")),
    ],
)
def test_a_hyphen_at_a_lines_end_goes_or_stays(line: str, after: str, joined: tuple[int, str]) -> None:
    assert joint(line, after, _WORDS) == joined
