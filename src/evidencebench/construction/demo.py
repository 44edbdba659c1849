"""A synthetic review of five papers, the data set that must come of it, and what the trial server answers."""

import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import msgspec

from evidencebench.data.instance import Instance
from evidencebench.data.json_format import PublishedInstance, encode_instance, instance_from
from evidencebench.data.sample import load_sample
from evidencebench.decoding import prepared
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
    try:
        return msgspec.json.Decoder(prepared(GoldStudy)).decode_lines(read_text(path))
    except BROKEN_JSON as error:
        raise UnreadableError(f"{path}: expected a gold study a line: {error}") from error


NAME = "synthetic"  # how the ids of the data set begin

_DOI = "10.5555/synthetic."
_CHOSEN = (0, 1, 3, 4, 5)  # of the sample's instances, each of another paper


def _filled(name: str, **fields: str) -> str:
    return Template((files(__package__) / "demo_files" / name).read_text(encoding="utf-8")).substitute(fields)


def write_synthetic_review(folder: Path, *, model: str) -> None:
    """Write what `construct run` takes, with ``gold.jsonl`` for the trial server; ``model`` is what it asks."""
    studies = list(synthetic_studies())
    for name in ("reviews", "papers"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number, instance in enumerate(_instances(), 1):
        write_whole(folder / "papers" / f"paper_{number}.xml", _paper_xml(instance, number))
    linked = (re.sub(r"\[(\d)\]", r'[<xref ref-type="bibr" rid="B\1">\1</xref>]', escape(s.summary)) for s in studies)
    review = _filled("review.xml", **{f"study_{number}": text for number, text in enumerate(linked, 1)})
    write_whole(folder / "reviews" / "review.xml", review)
    write_whole(folder / "gold.jsonl", (msgspec.json.encode(study) + b"\n" for study in studies))
    write_whole(folder / "construction.toml", _filled("construction.toml", model=model))


def _instances() -> list[Instance]:
    sample = load_sample()
    return [sample[f"evidencebench_sample_id_{number}"] for number in _CHOSEN]


def expected_instances() -> list[Instance]:
    """Return the data set that must come out: the sample's instances under other ids, without any other key."""
    renamed = []
    for number, instance in enumerate(_instances()):
        instance_id = f"{NAME}_test_id_{number}"
        text = encode_instance(instance).replace(instance.id.encode(), instance_id.encode())
        record = msgspec.json.decode(text, type=prepared(PublishedInstance))
        record.paper_id, record.systematic_review_id = f"doi_{_DOI}{number + 1}", f"doi_{_DOI}review"
        renamed.append(instance_from(instance_id, record))
    return renamed


def _paper_xml(instance: Instance, number: int) -> str:
    parts = {Kind.HEADING: "</sec>\n<sec><title>{}</title>", Kind.ABSTRACT: "", Kind.BODY: "<p>{}</p>"}
    (title, _), *rest = zip(map(escape, instance.query.sentences), instance.query.kinds, strict=True)
    abstract = " ".join(text for text, kind in rest if kind is Kind.ABSTRACT)
    body = "".join(parts[kind].format(text) for text, kind in rest).removeprefix("</sec>")
    return _filled("paper.xml", number=str(number), title=title, abstract=abstract, body=f"{body}</sec>")


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
                GoldAspect(aspect=labels.texts[name], sentences=labels.sources[name], is_result=name in labels.results)
                for name in labels.aspects
            ),
        )
    protocol = "The registered protocol of a trial described its two arms [4]."
    yield GoldStudy(passage=protocol, summary=protocol, reports_results=False)
