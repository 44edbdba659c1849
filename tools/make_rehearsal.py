"""Make a work folder with known labels out of Evidence Inference, to rehearse a construction on real papers.

::

    python tools/make_rehearsal.py ../shared/data/evidence_inference work

``work/papers`` gets the nxml files of some papers; ``work/gold.json`` their prompts as instances, as `data convert`
makes them; ``work/studies.jsonl`` what the trial server is to know; and ``work/aspects.jsonl`` the drafts to judge.
With ``--judged`` it is ``work/results.jsonl`` instead: the drafts as if all had been judged without error.

The worked example of docs/construction.md walks all steps: a review in JATS that cites 20 of the papers, and what the
trial server is to know of it::

    python tools/make_rehearsal.py ../shared/data/evidence_inference tea --review
    evidencebench llm serve-fake --data sample --port 8000 --construction tea/studies.jsonl
    evidencebench construct init tea --model local/noisy-0.1-0.002,base_url=http://127.0.0.1:8000/v1 --yes
    evidencebench construct run tea/construction.toml
"""

import argparse
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path

import msgspec

from evidencebench.construction.demo import GoldAspect, GoldStudy
from evidencebench.construction.draft import Draft, DraftHeader, Judging, output_of, writing_drafts
from evidencebench.data.dataset import open_dataset
from evidencebench.data.evidence_inference import find_folder, read_prompts
from evidencebench.data.evidence_inference_labels import convert_folder
from evidencebench.data.instance import Instance
from evidencebench.files.disk import file_sha256
from evidencebench.integrations.fake_model import normalised


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRehearsal:
    """What the folder has; ``left_out`` are instances with two aspects of one text, which no judge tells."""

    drafts: tuple[Draft, ...]
    left_out: tuple[str, ...]
    n_papers: int


def make_rehearsal(folder: Path, work: Path, *, n_papers: int = 20, judged: bool = False) -> MadeRehearsal:
    """Make the work folder from the first ``n_papers``, by name, of a folder of Evidence Inference."""
    found = find_folder(folder)
    asked = {f"PMC{prompt.pmcid}" for prompt in read_prompts(found.prompts)}
    names = sorted(path.stem for path in found.papers["nxml"].glob("*.nxml") if path.stem in asked)[:n_papers]
    part = work / "evidence_inference"  # a folder of the same layout, with these papers alone
    for one, papers in found.papers.items():
        (part / papers.name).mkdir(parents=True, exist_ok=True)
        for name in names:
            if (papers / f"{name}.{one}").is_file():
                shutil.copy(papers / f"{name}.{one}", part / papers.name)
    for table in (found.prompts, *found.annotations):
        shutil.copy(table, part)
    convert_folder(part, work / "gold.json", read_from="nxml")
    shutil.copytree(part / found.papers["nxml"].name, work / "papers", dirs_exist_ok=True)
    shutil.rmtree(part)
    instances = list(open_dataset(work / "gold.json"))
    left_out = tuple(one.id for one in instances if _has_twins(one))
    drafts = tuple(_draft(one, work / "papers") for one in instances if one.id not in left_out)
    if judged:
        _write(work, "label-results", drafts)
    else:
        _write(work, "aspects", [msgspec.structs.replace(one, judging=None, results=None) for one in drafts])
    studies = b"".join(msgspec.json.encode(_study(one)) + b"\n" for one in drafts)
    (work / "studies.jsonl").write_bytes(studies)
    return MadeRehearsal(drafts=drafts, left_out=left_out, n_papers=len(names))


def _has_twins(instance: Instance) -> bool:
    texts = Counter(normalised(text) for text in instance.labels.texts.values())
    return max(texts.values()) > 1


def _gold_draft(instance: Instance, *, paper_file: str, paper_sha256: str) -> Draft:
    """Return the draft from which `assemble` makes the labels of an instance again.

    Its summary is the hypothesis with the texts of the aspects behind it. ``paper_file`` must be the file that the
    sentences of the instance were read from, so that their indices agree, and ``paper_sha256`` its checksum.
    """
    query, labels = instance.query, instance.labels
    texts = tuple(labels.texts.get(aspect, aspect) for aspect in labels.aspects)
    judging = Judging(
        paper_sha256=paper_sha256,
        n_sentences=len(query.sentences),
        window=10,
        overlap=5,
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


def _draft(instance: Instance, papers: Path) -> Draft:
    paper_file = f"PMC{instance.query.paper_id.removeprefix('pmc_')}.nxml"
    draft = _gold_draft(instance, paper_file=paper_file, paper_sha256=file_sha256(papers / paper_file))
    return msgspec.structs.replace(draft, review_id=f"review of {instance.query.paper_id}")


def _write(work: Path, step: str, drafts: Sequence[Draft]) -> None:
    output_of(step, work).unlink(missing_ok=True)
    with writing_drafts(output_of(step, work), DraftHeader(step=step)) as writer:
        for draft in drafts:
            writer.append(draft)
        writer.finish()


# What an article says of itself, as a review would say it.
_OF_OTHERS = {
    r"\b[Ww]e\b": "they",
    r"\b[Oo]ur\b": "their",
    r"\b(?:[Tt]his|[Tt]he (?:present|current)) (study|trial)\b": r"that \1",
}


def write_review(folder: Path, drafts: Sequence[Draft]) -> int:
    """Write ``reviews/review.xml``, a section a paper, with ``studies.jsonl``; return how many papers it cites."""
    sections, references, studies = [], [], []
    by_paper = {draft.paper_id: draft for draft in reversed(drafts)}
    for number, draft in enumerate(by_paper.values(), 1):
        texts = [_told(text) for text in draft.aspects]
        link = f'[<xref ref-type="bibr" rid="B{number}">{number}</xref>]'
        said = " ".join(f"{escape(text)} {link}." for text in texts)
        sections.append(f"<sec><title>Study {number}</title><p>{said}</p></sec>")
        pmcid = draft.paper_id.replace("pmc_", "PMC")
        references.append(
            f'<ref id="B{number}"><label>{number}</label><mixed-citation>A trial. '
            f'<pub-id pub-id-type="pmcid">{pmcid}</pub-id></mixed-citation></ref>'
        )
        summary = " ".join(f"{text} [{number}]." for text in texts)
        told = msgspec.structs.replace(draft, summary=summary, aspects=tuple(f"{text}." for text in texts))
        studies.append(msgspec.json.encode(_study(told)) + b"\n")
    (folder / "reviews").mkdir(exist_ok=True)
    (folder / "reviews" / "review.xml").write_text(
        "<article><front><article-meta>"
        '<article-id pub-id-type="doi">10.5555/worked.example</article-id><title-group><article-title>Twenty trials: a '
        "worked example</article-title></title-group><permissions><license><license-p>CC BY 4.0</license-p></license>"
        f"</permissions></article-meta></front><body>{''.join(sections)}</body>"
        f"<back><ref-list>{''.join(references)}</ref-list></back></article>",
        encoding="utf-8",
    )
    (folder / "studies.jsonl").write_bytes(b"".join(studies))
    return len(by_paper)


def _told(text: str) -> str:
    """Return the text of an aspect as one sentence of a review, without its full stop."""
    text = re.sub(r"[.!?]+\s+", "; ", " ".join(text.split())).rstrip(".;: ")
    for pattern, said in _OF_OTHERS.items():
        text = re.sub(pattern, said, text)
    return f"It was reported: {text}"


def _study(draft: Draft) -> GoldStudy:
    sources = () if draft.judging is None else draft.judging.sources
    results = draft.results or ()
    aspects = tuple(
        GoldAspect(aspect=text, sentences=places, is_result=number in results)
        for number, (text, places) in enumerate(zip(draft.aspects, sources, strict=True))
    )
    return GoldStudy(
        passage=draft.summary,
        summary=draft.summary,
        purpose=f"The reviewer asked whether this is so: {draft.hypothesis}",
        hypothesis=draft.hypothesis,
        aspects=aspects,
    )


def main() -> None:
    """Make it, and say what it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of Evidence Inference, with nxml")
    parser.add_argument("work", type=Path, help="the work folder to make")
    parser.add_argument("--papers", type=int, default=20, help="how many papers")
    parser.add_argument("--review", action="store_true", help="a review that cites the papers, in place of drafts")
    parser.add_argument("--judged", action="store_true", help="as if all had been judged without error")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    make = partial(make_rehearsal, arguments.folder, arguments.work, n_papers=arguments.papers)
    if arguments.review:
        n_papers = write_review(arguments.work, make(judged=True).drafts)
        (arguments.work / "results.jsonl").unlink()
        print(f"{arguments.work}: a review that cites {n_papers} papers, papers, studies.jsonl")
        return
    made = make(judged=arguments.judged)
    n_aspects = sum(len(one.aspects) for one in made.drafts)
    print(f"{arguments.work}: {len(made.drafts)} drafts of {made.n_papers} papers, {n_aspects} aspects;")
    print(f"left out, since two of their aspects have one text: {', '.join(made.left_out) or 'none'}")


if __name__ == "__main__":
    main()
