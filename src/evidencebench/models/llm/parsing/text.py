"""Compare texts: plain marks for decorated ones, and the sentences of the prompt, found again in a reply."""

# ruff: noqa: RUF001 - a table of marks that look alike

import re
import unicodedata
from collections.abc import Mapping
from functools import cached_property, lru_cache

MAX_CHARACTERS = 100_000
"""Of a longer reply only the end is read, since the answer stands last. It is about 25,000 tokens."""

MAX_LINE = 4000
"""Only so many characters of a line are looked at."""

_PLAIN_MARKS = str.maketrans(
    {
        # Single marks, since double ones inside a JSON text would end it.
        **dict.fromkeys("“”„‟«»「」『』＂‘’‚‛‹›＇´", "'"),
        **dict.fromkeys("‐‑‒–—―−－﹣•◦▪▫‣●○■□⁃∙", "-"),
        **dict.fromkeys("（﹙", "("),
        **dict.fromkeys("）﹚", ")"),
        **dict.fromkeys("［【〔〖⟦", "["),
        **dict.fromkeys("］】〕〗⟧", "]"),
        **dict.fromkeys("｛﹛", "{"),
        **dict.fromkeys("｝﹜", "}"),
        **dict.fromkeys("，、،﹐", ","),
        **dict.fromkeys("；؛", ";"),
        **dict.fromkeys("：﹕ː", ":"),
        **dict.fromkeys("～〜∼", "~"),
        **dict.fromkeys("→⇒➜➡⟶", "->"),
        **dict.fromkeys("＃№", "#"),
        **dict.fromkeys("\u2028\u2029\x85\x0b\x0c", "\n"),
        **dict.fromkeys(
            "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000", " "
        ),
        **dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\x00", ""),
        "＝": "=",
        "＊": "*",
        "…": "...",
        "∅": " none ",
    }
)
_NO_QUOTES = str.maketrans("", "", "\"'`*")
_TURN_MARK = re.compile(r"<\|[^|<>\n]{0,40}\|>|</?s>|<(?:end|start)_of_turn>")  # servers leave them between turns
_NUMBERED = re.compile(r"[\s\"'`>*-]{0,9}\[\s?[0-9]{1,9}\s?\]")
_MIN_PART = 30  # characters without blanks: a part this long names a sentence, if no other sentence holds it
_MIN_BEGINNING = 12
_MAX_LOOK_UPS = 2000  # of parts of sentences: each reads the whole paper


def plain_text(text: str) -> str:
    """Return a text with plain marks for decorated ones and plain line breaks; of an overlong text only the end."""
    return text[-MAX_CHARACTERS:].replace("\r\n", "\n").replace("\r", "\n").translate(_PLAIN_MARKS)


def without_turn_marks(text: str) -> str:
    """Return a text without marks such as ``<|im_end|>``."""
    return _TURN_MARK.sub("", text)


def comparable(text: str) -> str:
    """Return a text in the form in which quotations are compared: NFKC, no case, blanks or quotes, plain dashes.

    Examples
    --------
    >>> comparable("  “Mortality”  fell by 3 %. ")
    'mortalityfellby3%'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_PLAIN_MARKS)).translate(_PLAIN_MARKS)
    return "".join(without_turn_marks(text).casefold().translate(_NO_QUOTES).split()).strip(".,;:")


# Cached, since a paper's sentences are compared with each of its replies.
_comparable_sentence = lru_cache(maxsize=4096)(comparable)
_lowered_sentence = lru_cache(maxsize=4096)(lambda sentence: plain_text(sentence).casefold())


def has_letter(text: str) -> bool:
    """Whether a text holds a letter."""
    return any(map(str.isalpha, text))


def has_digit(text: str) -> bool:
    """Whether a text holds a digit of ASCII."""
    return any(letter in "0123456789" for letter in text)


def line_end_of(text: str, position: int, end: int) -> int:
    """Return the end of the line at a position, at most ``end``."""
    found = text.find("\n", position, end)
    return end if found < 0 else found


def line_around(text: str, position: int) -> str:
    """Return the line at a position, at most `MAX_LINE` characters before and behind it."""
    start = max(text.rfind("\n", 0, position) + 1, position - MAX_LINE)
    return text[start : line_end_of(text, position, min(len(text), position + MAX_LINE))]


class ShownSentences:
    """The sentences that a prompt showed, by their index in the paper; finds their texts again in a reply.

    The forms for comparison are computed when they are first needed, since most replies hold numbers alone.
    """

    def __init__(self, texts: Mapping[int, str]) -> None:
        self.texts = texts
        self._n_look_ups = 0

    @cached_property
    def _by_text(self) -> dict[str, int]:
        """Comparable text -> the first index that has it."""
        found: dict[str, int] = {}
        for index in sorted(self.texts):
            found.setdefault(_comparable_sentence(self.texts[index]), index)
        return found

    @cached_property
    def _joined(self) -> str:
        """All comparable texts, each once."""
        return "\n".join(self._by_text)

    @cached_property
    def _lowered(self) -> str:
        return "\n".join(map(_lowered_sentence, self.texts.values()))

    def index_of(self, quoted: str) -> int | None:
        """Return the index of the first sentence with this text; None where there is none, or the text has no word."""
        return self._by_text.get(comparable(quoted)) if re.search(r"[^\W\d_]{2}", quoted) else None

    def index_of_part(self, quoted: str) -> int | None:
        """Return the index of the only sentence that holds a text, or its part before ``...``; None without one."""
        part = comparable(quoted.split("...", 1)[0])
        self._n_look_ups += 1
        if len(part) < _MIN_PART or self._n_look_ups > _MAX_LOOK_UPS:
            return None
        holding = [index for text, index in self._by_text.items() if part in text]
        return holding[0] if len(holding) == 1 else None

    def begins(self, index: int, text: str) -> bool:
        """Whether a text and a sentence are equal, or one of them begins with the other, which has 12 characters."""
        if index not in self.texts:
            return False
        own, other = _comparable_sentence(self.texts[index]), comparable(text)
        shorter = min(len(own), len(other))
        return own[:shorter] == other[:shorter] and (shorter >= _MIN_BEGINNING or (own == other and shorter > 0))

    def hold(self, line: str, words: str, said: str = "") -> bool:
        """Whether a line of a reply repeats the paper, and so is no answer: it stands in a sentence, or holds one.

        `words` in the line would make it an answer, such as ``ANSWER``; `said` is the answer, from these words on.
        """
        if words.casefold() not in self._lowered:  # a quick check, which settles nearly all replies
            return False
        numbered = _NUMBERED.match(line)
        own, holding = comparable(line[numbered.end() :] if numbered else line), comparable(words)
        if (has_digit(own) and own in self._joined) or (said and comparable(said) in self._joined):
            return True
        known = (text for text in self._by_text if holding in text and text in own and has_digit(text))
        return any(not own[own.find(text) + len(text) :][:1].isdecimal() for text in known)
