"""The DOI and the year of a PDF: by what the file says of itself, and what stands on its first page beside the text."""

import re
from collections.abc import Iterable, Mapping

_DOI = re.compile(r"(?i)\bdoi(?:\.org/|[:\s]\s?)\s*(10\.\d{4,9}/[^\s\"<>]*[^\s\"<>.,;)\]])")
_YEAR = re.compile(r"(?<![\d.])(?:19|20)\d\d(?!\d)")
_STAMP = re.compile(r"(?i)download|accessed|printed (?:by|on)")  # of whoever saved the file


def doi_of(lines: Iterable[str], facts: Mapping[str, str]) -> str | None:
    """Return the first DOI that is named as one."""
    match = _DOI.search("\n".join([facts.get("Subject", ""), *lines]))
    return match[1] if match else None


def year_of(lines: Iterable[str], facts: Mapping[str, str]) -> int | None:
    """Return the latest year that is named, but none after the file was made."""
    made = facts.get("CreationDate", "")[2:6]  # of D:20200519234246Z
    named = [int(year) for line in lines if not _STAMP.search(line) for year in _YEAR.findall(line)]
    return max((year for year in named if not made.isdecimal() or year <= int(made) + 1), default=None)
