"""A synthetic review of five papers, the data set that must come of it, and what the trial server answers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import msgspec

from evidencebench.data.instance import Instance, Labels
from evidencebench.data.sample import load_sample
from evidencebench.errors import UnreadableError
from evidencebench.files.atomic import write_whole
from evidencebench.files.disk import BROKEN_JSON, read_text
from evidencebench.query import Kind


class GoldAspect(msgspec.Struct, frozen=True, kw_only=True):
    aspect: str
    sentences: tuple[int, ...] = ()  # of the paper, that hold it
    is_result: bool = False


class GoldStudy(msgspec.Struct, frozen=True, kw_only=True):
    """What is right of one passage of a review; ``summary`` is the part of the passage that is about the paper."""

    passage: str
    summary: str
    reports_results: bool = True
    purpose: str = ""
    hypothesis: str = ""
    aspects: tuple[GoldAspect, ...] = ()


def read_gold(path: Path) -> list[GoldStudy]:
    studies = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            try:
                studies.append(msgspec.json.decode(line, type=GoldStudy))
            except BROKEN_JSON as error:
                raise UnreadableError(f"{path}: line {number}: expected a gold study: {error}") from error
    return studies


NAME = "synthetic"  # how the ids of the data set begin

_DOI = "10.5555/synthetic."
_CHOSEN = (0, 1, 3, 4, 5)  # of the sample's instances, each of another paper


def _filled(name: str, **fields: str) -> str:
    """Return a file of ``demo_files`` with its fields filled in."""
    return Template((files(__package__) / "demo_files" / name).read_text(encoding="utf-8")).substitute(fields)


def write_synthetic_review(folder: Path, *, model: str) -> None:
    """Write what `construct run` takes, with ``gold.jsonl`` for the trial server; ``model`` is what it asks."""
    instances = _instances()
    for name in ("reviews", "papers"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number, instance in enumerate(instances, 1):
        write_whole(folder / "papers" / f"paper_{number}.xml", _paper_xml(instance, number))
    write_whole(folder / "reviews" / "review.xml", _filled("review.xml", **_cited_summaries(instances)))
    write_whole(folder / "gold.jsonl", (msgspec.json.encode(study) + b"\n" for study in synthetic_studies()))
    write_whole(folder / "construction.toml", _filled("construction.toml", model=model))


def _instances() -> list[Instance]:
    sample = load_sample()
    return [sample[f"evidencebench_sample_id_{number}"] for number in _CHOSEN]


def expected_instances() -> list[Instance]:
    """Return the data set that must come out: the sample's instances under other ids, without any other key."""
    renamed = []
    for number, instance in enumerate(_instances()):
        instance_id, labels = f"{NAME}_test_id_{number}", instance.labels
        ids = {aspect: f"{instance_id}_aspect_{m}" for m, aspect in enumerate(labels.aspects)}
        new_labels = Labels(
            aspects=tuple(ids.values()),
            results=tuple(map(ids.__getitem__, labels.results)),
            sources={ids[aspect]: labels.sources[aspect] for aspect in labels.aspects},
            texts={ids[aspect]: labels.texts[aspect] for aspect in labels.aspects},
            review_id=f"doi_{_DOI}review",
            evaluations={
                task: msgspec.structs.replace(evaluation, covered=tuple(map(ids.__getitem__, evaluation.covered)))
                for task, evaluation in labels.evaluations.items()
            },
        )
        query = replace(instance.query, instance_id=instance_id, paper_id=f"doi_{_DOI}{number + 1}")
        renamed.append(Instance(query=query, labels=new_labels))
    return renamed


def _paper_xml(instance: Instance, number: int) -> str:
    parts = {Kind.HEADING: "</sec>\n<sec><title>{}</title>", Kind.ABSTRACT: "", Kind.BODY: "<p>{}</p>"}
    (title, _), *rest = zip(map(escape, instance.query.sentences), instance.query.kinds, strict=True)
    abstract = " ".join(text for text, kind in rest if kind is Kind.ABSTRACT)
    body = "".join(parts[kind].format(text) for text, kind in rest).removeprefix("</sec>")
    return _filled("paper.xml", number=str(number), title=title, abstract=abstract, body=f"{body}</sec>")


def _cited_summaries(instances: Sequence[Instance]) -> dict[str, str]:
    """Return what the review says of each study, with the mark of its paper in each sentence."""
    summaries = {}
    for number, instance in enumerate(instances, 1):
        mark = f'[<xref ref-type="bibr" rid="B{number}">{number}</xref>]'
        sentences = (f"{escape(text.rstrip('.'))} {mark}." for text in instance.labels.texts.values())
        summaries[f"study_{number}"] = " ".join(sentences)
    return summaries


def synthetic_studies() -> Iterator[GoldStudy]:
    for number, instance in enumerate(_instances(), 1):
        labels = instance.labels
        summary = " ".join(f"{text.rstrip('.')} [{number}]." for text in labels.texts.values())
        yield GoldStudy(
            passage=summary,
            summary=summary,
            purpose=f"The reviewer asked whether this is so: {instance.query.hypothesis}",
            hypothesis=instance.query.hypothesis,
            aspects=tuple(
                GoldAspect(
                    aspect=labels.texts[aspect_id],
                    sentences=labels.sources[aspect_id],
                    is_result=aspect_id in labels.results,
                )
                for aspect_id in labels.aspects
            ),
        )
    protocol = "The registered protocol of a trial described its two arms [4]."
    yield GoldStudy(passage=protocol, summary=protocol, reports_results=False)
