"""``evidencebench data show``."""

import re
from typing import Annotated, Any

import click

from evidencebench.cli import options
from evidencebench.cli.options import argument, option
from evidencebench.cli.output import print_json, print_prose
from evidencebench.data.dataset import open_dataset
from evidencebench.data.instance import Instance
from evidencebench.query import Kind
from evidencebench.tables import printable

# Nine digits: no file holds more instances, and int() refuses thousands of digits.
_POSITION = re.compile(r"[0-9]{1,9}")


@options.command
def command(
    *,
    data: options.DataArgument,
    instance_id: Annotated[str | None, argument("[ID]")],
    evidence: Annotated[bool, option("--evidence", "Only sentences that are a source of an aspect.")],
    as_json: options.AsJson,
) -> None:
    """Show one instance, or without ID a line an instance.

    ID is an instance id, or its position from 0. A line is a sentence: # marks a
    heading, > the abstract, and [aspects ...] names what it is a source of, the
    aspects counted from 0.

    \b
    Examples:
      evidencebench data show sample
      evidencebench data show sample 0 --evidence
    """
    dataset = open_dataset(data)
    if instance_id is None and as_json:
        print_json([{"id": query.instance_id, "hypothesis": query.hypothesis} for query in dataset.queries()])
        return
    if instance_id is None:
        for query in dataset.queries():
            print_prose(printable(query.hypothesis), "    ", f"{printable(query.instance_id)}  ")
        return
    is_position = instance_id not in dataset and _POSITION.fullmatch(instance_id) is not None
    instance = dataset[int(instance_id) if is_position else instance_id]
    if as_json:
        print_json(_instance_fields(instance))
    else:
        _print_instance(instance, only_evidence=evidence)


def _instance_fields(instance: Instance) -> dict[str, Any]:
    query, labels = instance.query, instance.labels
    return {
        "id": instance.id,
        "paper_id": query.paper_id,
        "hypothesis": query.hypothesis,
        "aspects": [
            {
                "id": aspect,
                "text": labels.texts.get(aspect),
                "is_result": aspect in labels.results,
                "sentences": labels.sources.get(aspect, ()),
            }
            for aspect in labels.aspects
        ],
        "sentences": [
            {"index": index, "kind": kind, "text": sentence}
            for index, (kind, sentence) in enumerate(zip(query.kinds, query.sentences, strict=True))
        ],
        "evaluations": {
            task: {"sentences": stored.sentences, "covered": stored.covered, "optimal": stored.optimal}
            for task, stored in labels.evaluations.items()
        },
    }


def _print_instance(instance: Instance, *, only_evidence: bool) -> None:
    query, labels = instance.query, instance.labels
    click.echo(f"{printable(instance.id)} (paper {printable(query.paper_id)})")
    print_prose(printable(query.hypothesis))
    click.echo()
    numbers = {aspect: number for number, aspect in enumerate(labels.aspects)}
    marks: dict[int, list[str]] = {}
    for aspect, number in numbers.items():
        results = " [results]" if aspect in labels.results else ""
        text = labels.texts.get(aspect, aspect)
        print_prose(f"{number}{results} {printable(text)}", "       ", "aspect ")
        for index in labels.sources.get(aspect, ()):
            marks.setdefault(index, []).append(str(number))
    click.echo()
    signs = {Kind.HEADING: "#", Kind.ABSTRACT: ">", Kind.BODY: " "}
    for index, (kind, sentence) in enumerate(zip(query.kinds, query.sentences, strict=True)):
        if only_evidence and index not in marks:
            continue
        aspects = f"  [aspects {' '.join(marks[index])}]" if index in marks else ""
        print_prose(f"{printable(sentence)}{aspects}", " " * 7, f"{index:4} {signs[kind]} ")
