"""Pages of a PDF without text that can be read: those that cannot be opened, pictures, and gibberish."""

import unicodedata
from collections import Counter
from collections.abc import Sequence

from evidencebench.errors import UnreadableError
from evidencebench.papers.losses import LossCount
from evidencebench.papers.pdf.pages import PdfPage
from evidencebench.tables import shortened

_OCR = "recognise its text first, as with 'ocrmypdf"
_LEAST_CHARACTERS = 80  # of a page that holds text; the last one of a paper may have less
_ALMOST_NONE = 25
_MOST = 0.5
"""A PDF is refused where more than this share of its pages has no text, or gibberish."""

_LONGEST_LIST = 60

# The least of a text that can be read; articles have 0.7 and 0.57 on their worst pages, and letters that were swapped
# for others, as by fonts that do not say which letters they show, 0.41 at most where all are moved by as many places.
# Pages of tables, where most characters are no letters, say little.
_LEAST_LETTERS_AND_DIGITS = 0.3
_FREQUENT_LETTERS = "eaiontrs"
_LEAST_FREQUENT = 0.45
_LEAST_SAMPLE, _LEAST_LETTERS = 200, 0.5


def unread_pages(pages: Sequence[PdfPage], name: str, count: LossCount) -> tuple[str, ...]:
    """Return what a reader must know of single pages, and count them; raises `UnreadableError` if most are unread."""
    opened = [page for page in pages if not page.is_broken]
    if not opened:
        raise UnreadableError(
            f"{name}: PDF: damaged: none of its {len(pages)} pages can be opened; fetch it again, or open it in a "
            "viewer and print it to a new PDF"
        )
    n_without = sum(_n_visible(page) < _LEAST_CHARACTERS for page in opened)
    if n_without > _MOST * len(opened) or not any(map(_n_visible, opened)):
        raise UnreadableError(
            f"{name}: PDF: scanned: {n_without} of {len(opened)} pages hold no text, only pictures of it; {_OCR} "
            "scan.pdf paper.pdf'"
        )
    illegible = [page for page in opened if not _is_legible(page.text)]
    if len(illegible) > _MOST * (len(opened) - n_without):
        raise UnreadableError(
            f"{name}: PDF: the text of {len(illegible)} of {len(opened)} pages is gibberish: its fonts do not say "
            f"which letters they show; {_OCR} --force-ocr old.pdf paper.pdf'"
        )
    warnings: list[str] = []
    if broken := [page for page in pages if page.is_broken]:
        listed = _listed(broken)
        count.leave_out(f"{listed}, which could not be opened", "", n_elements=len(broken))
        warnings.append(f"{listed.capitalize()} could not be opened; fetch the PDF again to have all of it.")
    if empty := [page for page in opened if _n_visible(page) < _ALMOST_NONE]:
        listed = _listed(empty)
        count.leave_out(f"{listed}, with hardly any text", "", n_elements=len(empty))
        warnings.append(f"There is hardly any text on {listed}; pictures of text are not read.")
    if illegible:
        warnings.append(f"The text of {_listed(illegible)} is gibberish: its fonts do not say which letters they show.")
    return tuple(warnings)


def _is_legible(text: str) -> bool:
    """Say whether text looks like words of a language, by the share of letters, and that of frequent ones.

    >>> _is_legible("SBP (mmHg) 0.41 (1.23) -1.99 (1.14) 0.82 (-3.09, 4.72) LDL (mmHg) 0.01 (0.02) 0.02 (0.03) " * 20)
    True
    """
    counts = Counter(unicodedata.normalize("NFKD", text.casefold()))
    n_visible = sum(n for letter, n in counts.items() if not letter.isspace())
    n_meant = sum(n for letter, n in counts.items() if unicodedata.category(letter)[0] in "LMN")
    n_latin = sum(n for letter, n in counts.items() if "a" <= letter <= "z")
    n_frequent = sum(counts[letter] for letter in _FREQUENT_LETTERS)
    is_prose = n_latin >= max(_LEAST_SAMPLE, _LEAST_LETTERS * n_visible)
    is_swapped = is_prose and n_frequent < _LEAST_FREQUENT * n_latin
    return n_visible < _LEAST_SAMPLE or not (is_swapped or n_meant < _LEAST_LETTERS_AND_DIGITS * n_visible)


def _n_visible(page: PdfPage) -> int:
    return sum(not letter.isspace() for letter in page.text)


def _listed(pages: Sequence[PdfPage]) -> str:
    numbers = shortened(", ".join(str(page.number) for page in pages), _LONGEST_LIST)
    return f"page{'s' * (len(pages) > 1)} {numbers}"
