"""Replies as they are read: bounded, with plain marks, without the reasoning that servers and models leave in them."""

# ruff: noqa: RUF001 - a table of marks that look alike

import re
import unicodedata

MAX_CHARACTERS = 100_000
"""Of a longer reply only the end is read, since the answer stands last. So much is some 25,000 tokens."""

_PLAIN_MARKS = str.maketrans(
    {
        # Single marks, so that those inside a JSON text do not end it.
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
_ASCII_MARKS = str.maketrans({"\x0b": "\n", "\x0c": "\n", "\x00": ""})
_NO_QUOTES = str.maketrans("", "", "\"'`*")
_TURN_MARK = re.compile(r"<\|[^|<>\n]{0,40}\|>|</?s>|<(?:end|start)_of_turn>")  # what servers leave between turns


def plain_text(text: str) -> str:
    """Return the end of a text where it is overlong, with plain marks for decorated ones and plain line breaks."""
    text = text[-MAX_CHARACTERS:].replace("\r\n", "\n").replace("\r", "\n")
    return text.translate(_ASCII_MARKS if text.isascii() else _PLAIN_MARKS)


def comparable(text: str) -> str:
    """Return a text as quotations are compared: NFKC, no case, blanks or quotation marks, plain dashes.

    Examples
    --------
    >>> comparable("  “Mortality”  fell by 3 %. ")
    'mortalityfellby3%'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_PLAIN_MARKS)).translate(_PLAIN_MARKS)
    if "<" in text:
        text = _TURN_MARK.sub("", text)
    return "".join(text.casefold().translate(_NO_QUOTES).split()).strip(".,;:")


def without_turn_marks(text: str) -> str:
    """Return a text without marks such as ``<|im_end|>``."""
    return _TURN_MARK.sub("", text)
