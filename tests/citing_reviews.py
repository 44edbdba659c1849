"""Small reviews of our own in JATS XML."""

from collections.abc import Iterable


def reference(number: int, *, pmid: int | None = None, more: str = "") -> str:
    """Return an entry of a list of references, with a PMID unless told."""
    given = 1000 + number if pmid is None else pmid
    ids = f'<pub-id pub-id-type="pmid">{given}</pub-id>' if given else ""
    return (
        f'<ref id="B{number}"><label>{number}</label><element-citation><name><surname>Author{number}</surname>'
        f"</name><year>{2000 + number}</year>{ids}{more}</element-citation></ref>"
    )


def cite(number: int, text: str = "") -> str:
    """Return a mark."""
    return f'<xref ref-type="bibr" rid="B{number}">{text or number}</xref>'


CC_BY = '<license xlink:href="http://creativecommons.org/licenses/by/4.0/"/>'


def review(*paragraphs: str, references: Iterable[str] | None = None, licence: str = CC_BY) -> bytes:
    """Return a review with these paragraphs in one section, and 12 references."""
    listed = map(reference, range(1, 13)) if references is None else references
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return (
        '<?xml version="1.0"?><article xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta>'
        '<article-id pub-id-type="pmc">77</article-id><title-group><article-title>Tea: a review</article-title>'
        f"</title-group><permissions>{licence}</permissions></article-meta></front>"
        f"<body><sec><title>Trials</title>{body}</sec></body>"
        f"<back><ref-list>{''.join(listed)}</ref-list></back></article>"
    ).encode()
