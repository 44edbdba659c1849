"""Random papers with answers, as data and as a run, for what other tools are to agree on."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st

from evidencebench import Dataset, Instance, Kind, Query, Ranking, open_dataset, write_dataset
from evidencebench.runs.run import Answer, RunFile
from strategies import labels, rankings

N_SENTENCES = 8


@st.composite
def instances_of_some_papers(draw: st.DrawFn) -> list[Instance]:
    """Draw papers with at least one aspect each, some aspects without a source."""
    found = draw(st.lists(labels(n_sentences=N_SENTENCES).filter(lambda one: one.aspects), min_size=1, max_size=4))
    return [
        Instance(
            query=Query(
                instance_id=f"paper_{number}",
                paper_id=f"p{number}",
                hypothesis="tea  helps\tsleep",
                sentences=tuple(f"sentence {index}" for index in range(N_SENTENCES)),
                kinds=(Kind.BODY,) * N_SENTENCES,
            ),
            labels=replace(one, evaluations={}),
        )
        for number, one in enumerate(found)
    ]


some_answers = st.lists(rankings(n_sentences=N_SENTENCES, repeats=True), min_size=4, max_size=4)


def as_files(folder: Path, instances: list[Instance], answers: list[Ranking]) -> tuple[Dataset, RunFile]:
    """Make a data file of instances, and a run of ordered answers to them."""
    write_dataset(folder / "data.json", instances)
    return open_dataset(folder / "data.json"), as_run(dict(zip([one.id for one in instances], answers, strict=False)))


def as_run(answers: Mapping[str, Ranking]) -> RunFile:
    lines: dict[tuple[str, str | None], Answer | memoryview] = {
        (instance_id, None): Ranking(sentences=answer.sentences) for instance_id, answer in answers.items()
    }
    return RunFile(Path("mine.json"), None, lines)
