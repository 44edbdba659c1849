"""What systems declare about themselves: in one typed object, so that a slip is an error and never silently ignored."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doors import KNOWING_SYSTEMS, Fuse, RunMismatchError, SystemSpecError, traits_of
from evidencebench import (
    SYSTEMS,
    Asked,
    Query,
    Ranking,
    RankingTask,
    Traits,
    answer_instance,
    answers_from,
    execute,
    load_sample,
    make_system,
)

SAMPLE = load_sample()


class Plain:
    def rank(self, query: Query, task: RankingTask) -> Ranking:  # noqa: ARG002 - the contract's signature
        return Ranking(sentences=(0,))


def with_attribute(name: str, value: object) -> Plain:
    """Return a system of a class that has an attribute more."""
    made: Plain = type("Mine", (Plain,), {name: value})()
    return made


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"wait": True}, "'wait'"),
        ({"waits": 1}, "^Traits: waits: .*True or False, got 1$"),
        ({"selects": None}, "selects: .*None"),
        ({"versions": {"model": "1"}}, "^Traits: versions: .*function.*{'model': '1'}$"),
        ({"check": True}, "check: .*True"),
    ],
)
def test_a_misspelt_trait_and_one_of_another_type_are_errors(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Traits(**given)


def test_traits_under_another_name_and_what_are_no_traits_are_errors() -> None:
    with pytest.raises(TypeError, match=r"^Mine: .*'traits', .*'trait'$"):
        answers_from(with_attribute("trait", Traits(waits=True)))
    for wrong in (Traits, {"waits": True}, "waits"):
        with pytest.raises(TypeError, match=r"^Mine: traits: .*Traits"):
            answers_from(with_attribute("traits", wrong))


def test_a_slip_inside_a_property_is_not_taken_for_no_traits() -> None:
    with pytest.raises(AttributeError, match="verisons"):
        answers_from(with_attribute("traits", property(lambda self: Traits(versions=self.verisons))))


def test_a_system_that_declares_nothing_ranks_by_the_hypothesis_alone() -> None:
    assert traits_of(Plain()) == Traits()
    assert traits_of(with_attribute("traits", Traits(selects=True))).selects
    assert traits_of(type(with_attribute("traits", property(lambda _: Traits(selects=True))))) == Traits()


def test_only_what_declares_it_is_given_labels_and_own_code_that_is_named_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {name for name, factory in SYSTEMS.items() if traits_of(factory).knows_labels} == KNOWING_SYSTEMS
    knowing = with_attribute("rank_knowing", lambda *_: Ranking(sentences=(1,)))
    assert answer_instance(knowing, SAMPLE[0], "er_at_10") == Ranking(sentences=(0,))
    monkeypatch.chdir(tmp_path)
    Path("cheat.py").write_text(
        "from evidencebench import Traits\n"
        "class Cheat:\n"
        "    traits = Traits(knows_labels=True)\n"
        "    def rank(self, query, task): ...\n"
        "    def rank_knowing(self, labels, task): ...\n"
    )
    with pytest.raises(SystemSpecError, match="take knows_labels out"):
        make_system("cheat.py:Cheat")


def test_what_declares_that_it_reads_no_hypothesis_reads_none() -> None:
    blind = [name for name in sorted({*SYSTEMS} - KNOWING_SYSTEMS) if not traits_of(SYSTEMS[name]).reads_hypothesis]
    assert len(blind) > 5
    for spec in (*blind, "cues:hypothesis=false"):
        system = make_system(spec)
        assert not system.traits.reads_hypothesis
        for instance in SAMPLE[:3]:
            answers = {system.rank(query, RankingTask(budget=3)) for query in hypotheses_of(instance.query)}
            assert len({answer.sentences for answer in answers}) == 1, spec


def hypotheses_of(query: Query) -> Iterator[Query]:
    for hypothesis in (query.hypothesis, query.sentences[7], "Tea"):
        yield replace(query, hypothesis=hypothesis)


def test_the_check_is_told_what_is_asked_and_a_part_is_checked_too(tmp_path: Path) -> None:
    told: list[Asked] = []

    class Checking(Plain):
        traits = Traits(check=told.append)

    fused = Fuse(systems=(Checking(),))  # type: ignore[arg-type]
    execute(fused, SAMPLE, tmp_path / "run.jsonl", tasks="er_at_10", limit=2)
    assert [(one.data_sha256, one.own_queries, one.tasks) for one in told] == [(SAMPLE.sha256, True, ("er_at_10",))]
    assert [query.instance_id for query in told[0].queries()] == list(SAMPLE.ids[:2])

    def refuse(_: Asked) -> None:
        raise RunMismatchError("not these")

    with pytest.raises(RunMismatchError, match="not these"):
        execute(with_attribute("traits", Traits(check=refuse)), SAMPLE, tmp_path / "other.jsonl")
