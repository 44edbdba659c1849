"""A labelled instance as a draft that was judged without error: to rehearse a construction on known labels."""

from evidencebench.construction.draft import Draft, Judging
from evidencebench.data.instance import Instance

_WINDOW, _OVERLAP = 10, 5


def gold_draft(instance: Instance, *, paper_file: str, paper_sha256: str) -> Draft:
    """Return the draft from which `assemble` makes the labels of an instance again.

    Its summary is the hypothesis with the texts of the aspects behind it. ``paper_file`` must be the file that the
    sentences of the instance were read from, so that their indices agree, and ``paper_sha256`` its checksum.
    """
    query, labels = instance.query, instance.labels
    texts = tuple(labels.texts.get(aspect, aspect) for aspect in labels.aspects)
    judging = Judging(
        paper_sha256=paper_sha256,
        n_sentences=len(query.sentences),
        window=_WINDOW,
        overlap=_OVERLAP,
        rounds=(),
        sources=tuple(tuple(sorted(set(labels.sources.get(aspect, ())))) for aspect in labels.aspects),
    )
    return Draft(
        id=instance.id,
        review_id=labels.review_id or "",
        paper_id=query.paper_id,
        paper_file=paper_file,
        summary=" ".join([query.hypothesis, *texts]),
        hypothesis=query.hypothesis,
        aspects=texts,
        judging=judging,
        results=tuple(n for n, aspect in enumerate(labels.aspects) if aspect in labels.results),
    )
