"""The text of a reply as the reader takes it: bounded, without hidden reasoning, with plain marks."""

# ruff: noqa: RUF001 - a table of marks that look alike

import re
import unicodedata

MAX_CHARACTERS = 200_000
"""Of a longer reply only the end is read, since the answer stands last. The longest real replies are half of that."""

_PLAIN_MARKS = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»「」『』＂", '"'),
        **dict.fromkeys("‘’‚‛‹›＇´", "'"),
        **dict.fromkeys("‐‑‒–—―−－﹣", "-"),
        **dict.fromkeys("•◦▪▫‣●○■□⁃∙", "-"),
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

_SPECIAL_TOKEN = re.compile(r"<\|[^|<>\n]{0,40}\|>|</?s>|<(?:end|start)_of_turn>")
_FINAL_CHANNEL = re.compile(r"<\|channel\|>\s{0,9}final[^<\n]{0,40}<\|message\|>")
_HIDDEN_TAG = re.compile(
    r"[<\[](?P<slash>/?)(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)[>\]]", re.IGNORECASE
)


def visible_text(text: str) -> str:
    """Return what a reply says: its end where it is overlong, no hidden reasoning, plain marks for decorated ones.

    Hidden reasoning is what stands between ``<think>`` and ``</think>`` (or a tag of such a name), and what stands
    before a ``</think>`` that nothing opened, as of servers that open it in the prompt. A tag counts where it starts or
    ends its line, so that a quoted sentence that holds one changes nothing. What an unclosed tag opens is all hidden.
    """
    text = text[-MAX_CHARACTERS:]
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.translate(_ASCII_MARKS if text.isascii() else _PLAIN_MARKS)
    if "<" not in text and "[/" not in text and "[" not in text[:40]:
        return text
    if "<|" in text:
        finals = list(_FINAL_CHANNEL.finditer(text))
        text = text[finals[-1].end() :] if finals else text
    return _SPECIAL_TOKEN.sub("", _without_hidden(text))


def _without_hidden(text: str) -> str:
    """Return a text without what hidden-reasoning tags enclose."""
    kept: list[str] = []
    start = 0  # of the text that is neither kept nor dropped yet
    is_hidden = False
    tags = list(_HIDDEN_TAG.finditer(text))
    for n, tag in enumerate(tags):
        starts_line, ends_line = _starts_line(text, tag.start()), _ends_line(text, tag.end())
        if not tag["slash"]:
            if starts_line and not is_hidden:
                kept.append(text[start : tag.start()])
                start, is_hidden = tag.end(), True
        elif is_hidden and (starts_line or ends_line or _closes_nothing_else(text, tags[n + 1 :])):
            start, is_hidden = tag.end(), False
        elif not is_hidden and (starts_line or ends_line) and not kept:
            start = tag.end()  # opened in the prompt
    return "".join(kept) if is_hidden else "".join([*kept, text[start:]])


def _closes_nothing_else(text: str, later: list[re.Match[str]]) -> bool:
    """Whether none of the later tags is a better end of what is hidden."""
    for tag in later[:20]:
        if tag["slash"] and (_starts_line(text, tag.start()) or _ends_line(text, tag.end())):
            return False
    return True


def _starts_line(text: str, position: int) -> bool:
    """Whether only blanks stand between a position and the start of its line, as far as 20 characters."""
    before = text[max(0, position - 20) : position].rstrip(" \t")
    return before.endswith("\n") or (not before and position <= 20)  # noqa: PLR2004 - as said above


def _ends_line(text: str, position: int) -> bool:
    """Whether only blanks stand between a position and the end of its line, as far as 20 characters."""
    after = text[position : position + 20].lstrip(" \t")
    return after.startswith("\n") or (not after and position + 20 >= len(text))


def comparable(text: str) -> str:
    """Return a text as quotations are compared: NFKC, no case, blanks or quotation marks, plain dashes.

    Examples
    --------
    >>> comparable("  “Mortality”  fell by 3 %. ")
    'mortalityfellby3%'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_PLAIN_MARKS)).translate(_PLAIN_MARKS)
    return "".join(text.casefold().translate(_NO_QUOTES).split()).strip(".,;:")
