"""An instance of a data set, made of a draft and its paper."""

from evidencebench.construction.assembly.paper_texts import PaperText
from evidencebench.construction.draft import Draft
from evidencebench.construction.judged_draft import judging_of
from evidencebench.data.instance import Instance, Labels
from evidencebench.errors import ChangedDataError
from evidencebench.query import Query


def instance_of(draft: Draft, instance_id: str, paper: PaperText) -> Instance:
    """Return the instance of a judged draft and its paper, without optima."""
    judging = judging_of(draft)
    aspects = tuple(f"{instance_id}_aspect_{number}" for number in range(len(draft.aspects)))
    query = Query(
        instance_id=instance_id,
        paper_id=draft.paper_id,
        hypothesis=draft.hypothesis,
        sentences=paper.sentences,
        kinds=paper.kinds,
    )
    labels = Labels(
        aspects=aspects,
        results=tuple(aspects[number] for number in sorted(set(draft.results or ()))),
        sources={one: tuple(sorted(set(places))) for one, places in zip(aspects, judging.sources, strict=True)},
        texts=dict(zip(aspects, draft.aspects, strict=True)),
        review_id=draft.review_id,
    )
    return Instance(query=query, labels=labels)


def require_judged_paper(draft: Draft, *, sha256: str, n_sentences: int) -> None:
    """Raise `ChangedDataError` unless a paper is the one that the draft's labels were judged on."""
    judging = judging_of(draft)
    if sha256 != judging.paper_sha256:
        raise ChangedDataError(
            f"draft '{draft.id}': paper '{draft.paper_file}' has changed since it was judged: expected the file with "
            f"SHA-256 {judging.paper_sha256[:12]}…, got {sha256[:12]}…; put the former file back, or judge anew"
        )
    if n_sentences != judging.n_sentences:
        raise ChangedDataError(
            f"draft '{draft.id}': paper '{draft.paper_file}' is read as {n_sentences} sentences, and had "
            f"{judging.n_sentences} when it was judged; use the evidencebench that judged it, or judge anew"
        )
