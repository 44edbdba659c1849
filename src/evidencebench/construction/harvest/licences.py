"""The licence of a paper, as its file states it, in one spelling: ``cc-by``, ``cc-by-nc-nd``, ``cc0``."""

import re

from evidencebench.papers.markup_tree import Element

UNKNOWN = "unknown"

ALLOWED = ("cc0", "public-domain", "cc-by", "cc-by-sa", "cc-by-nc", "cc-by-nc-sa")
"""What may go into a data set by default. A data set is a derivative, which licences with ND do not allow."""

KNOWN = (*ALLOWED, "cc-by-nd", "cc-by-nc-nd", UNKNOWN)

_BY = (
    r"(?:creativecommons\.org/licen[sc]es/|\bcreative\s?commons\s?|\bcc[\s-]{0,2})"
    r"by(?P<parts>(?:[\s_-]{0,2}(?:nc|nd|sa)){0,2})\b"
)
_WORDS = (
    r"\bcreative\s+commons\s+(?:public\s+)?attribution"
    r"(?P<words>(?:[\s,/\u2010-\u2015-]{0,3}(?:non[\s\u2010-\u2015-]?commercial|no[\s\u2010-\u2015-]?deriv\w*|share[\s\u2010-\u2015-]?alike)){0,2})"
)
_LICENCE = re.compile(rf"{_BY}|{_WORDS}", re.IGNORECASE)
_ZERO = re.compile(r"publicdomain/zero|\bcc[\s-]?0\b|\bcc[\s-]zero\b", re.IGNORECASE)
_PUBLIC = re.compile(r"publicdomain/mark|\bpublic[\s-]domain\b", re.IGNORECASE)
_NON_COMMERCIAL = re.compile(r"\bnc\b|non", re.IGNORECASE)
_NO_DERIVATIVES = re.compile(r"\bnd\b|deriv", re.IGNORECASE)
_SHARE_ALIKE = re.compile(r"\bsa\b|share", re.IGNORECASE)
_LONGEST = 20_000  # characters that a licence may have; what follows is not read


def licence_named(text: str) -> str:
    """Return the licence that a text names, in its usual spellings, or `UNKNOWN`; of several, the first.

    >>> licence_named("cc by-nc"), licence_named("http://creativecommons.org/licenses/by-nc-nd/4.0/")
    ('cc-by-nc', 'cc-by-nc-nd')
    >>> licence_named("under the terms of the Creative Commons Attribution License"), licence_named("open-access")
    ('cc-by', 'unknown')
    """
    text = text[:_LONGEST]
    if match := _LICENCE.search(text):
        parts = (match["parts"] or match["words"] or "").replace("_", "-")
        names = (("nc", _NON_COMMERCIAL), ("nd", _NO_DERIVATIVES), ("sa", _SHARE_ALIKE))
        return "-".join(["cc-by", *(name for name, pattern in names if pattern.search(parts))])
    return "cc0" if _ZERO.search(text) else "public-domain" if _PUBLIC.search(text) else UNKNOWN


def licence_of(article: Element) -> str:
    """Return the licence of an article in JATS: by its address, its type, the links in it, its words, the copyright's.

    The address of the licence comes before all words: these often name CC0 too, for the data.
    """
    licences = list(article.all("license"))
    references = [reference.text for reference in article.all("license_ref")]
    addresses = [licence.attributes.get("href", "") for licence in licences]
    types = [licence.attributes.get("license-type", "") for licence in licences]
    links = [link.attributes.get("href", "") for licence in licences for link in licence.all("ext-link", "uri")]
    words = [one.text for one in (*licences, *article.all("copyright-statement"))]
    for text in (*addresses, *references, *types, " ".join(links), *words):
        if (found := licence_named(text)) != UNKNOWN:
            return found
    return UNKNOWN
