"""A system is written down in one way, read back to the same options, and refused by place where it cannot be read."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import MAX_DEPTH, SystemSpecError, elements, parse_specification, unbracketed, write_specification
from evidencebench import NamedSystem, make_system

positive = st.floats(0, 1e6, allow_subnormal=False) | st.sampled_from([1e16, 1e-9, 0.0])
unit = st.floats(0, 1)
Spec = tuple[str, dict[str, Any]]

plain_specs: st.SearchStrategy[Spec] = st.sampled_from(["lead", "random", "tfidf", "structure", "longest"]).map(
    lambda name: (name, {})
)
bm25_specs = st.builds(
    lambda k1, b, stopwords: ("bm25", {"k1": k1, "b": b, "stopwords": stopwords}), positive, unit, st.booleans()
)


def fused(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def of(parts: list[Any]) -> st.SearchStrategy[Any]:
        weights: st.SearchStrategy[list[float]] = st.lists(
            st.floats(0.1, 1e30), min_size=len(parts), max_size=len(parts)
        ) | st.just([])
        options = {"systems": st.just([plain(part) for part in parts]), "weights": weights, "k": positive}
        return st.tuples(st.just("fuse"), st.fixed_dictionaries(options))

    return st.lists(inner, min_size=1, max_size=3).flatmap(of)


def diverse(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just("diverse"), st.fixed_dictionaries({"system": inner.map(plain), "strength": unit}))


def plain(named: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"name": named[0], "options": named[1]}


nested_specs = st.recursive(plain_specs | bm25_specs, lambda inner: fused(inner) | diverse(inner), max_leaves=6)


def nesting(value: Any) -> int:
    if isinstance(value, dict):
        return max((nesting(one) for one in value.values()), default=0) + ("name" in value)
    return max(map(nesting, value), default=0) if isinstance(value, list) else 0


@given(nested_specs.filter(lambda named: nesting(plain(named)) <= 4))
def test_a_system_made_from_its_canonical_text_has_the_same_options(named: tuple[str, dict[str, Any]]) -> None:
    made = make_system(write_specification(*named))
    again = make_system(write_specification(made.name, made.options))
    assert again == made
    for key, value in named[1].items():
        if key not in {"systems", "system"}:
            assert made.options[key] == value


texts = st.text(alphabet="abz09.:=+,[]_- \n1e", max_size=40)
PIECES = ["fuse", "diverse", "bm25", "lead", "oracle", *":=,+[] ", "systems", "system", "k1", "1e+5"]
spec_pieces = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@given(texts | spec_pieces | spec_pieces.map("fuse:systems=[{}]".format) | st.text(max_size=20))
def test_whatever_the_text_it_is_a_system_or_a_clear_refusal(text: str) -> None:
    try:
        assert isinstance(make_system(text), NamedSystem)
    except SystemSpecError as error:
        assert str(error)  # noqa: PT017 - either outcome is fine


@given(st.lists(st.text(max_size=6), max_size=3), st.text(max_size=6))
def test_a_list_of_texts_is_read_back_where_its_brackets_fit_together(values: list[str], value: str) -> None:
    try:
        text = write_specification("own.code:made", {"names": values, "name": value})
    except SystemSpecError as error:
        assert "the '['" in str(error) or "the ']'" in str(error)  # noqa: PT017 - no text for these
        return
    options = parse_specification(text).options
    assert list(elements(options["names"])) == values or values == [""]
    assert unbracketed(options["name"]) == value


def test_brackets_guard_commas_and_plus_signs() -> None:
    fuse = make_system("fuse:systems=[bm25:k1=1.2,b=0.5+lead],weights=[2+1]")
    assert fuse.options == {
        "systems": [
            {"name": "bm25", "options": {"k1": 1.2, "b": 0.5, "stopwords": True}},
            {"name": "lead", "options": {}},
        ],
        "method": "rrf",
        "weights": [2.0, 1.0],
        "k": 60.0,
    }
    assert [part.name for part in fuse.parts] == ["bm25", "lead"]
    assert make_system("diverse:system=bm25") == make_system("diverse:system=[bm25]")
    assert make_system("fuse:systems=bm25").options["systems"] == make_system("fuse:systems=[bm25]").options["systems"]
    assert make_system("fuse:systems=bm25,weights=1e+5").options["weights"] == [1e5]
    assert make_system("fuse:systems=[bm25+lead],weights=[[1e+5]+2]").options["weights"] == [1e5, 2.0]
    assert make_system("bm25:k1=[1.5]").options["k1"] == 1.5


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bm52", r"'bm52' \(did you mean 'bm25'\?\); 'evidencebench systems' lists all"),
        ("nothing", r"'nothing'; expected one of random, lead, .*'evidencebench systems'.*package\.module:name"),
        ("", "name:option=value"),
        ("3d", "name:option=value"),
        ("bm25:k2=1", "'k2'.*k1, b, stopwords"),
        ("lead:n=1", "'lead'.*no options, got n"),
        ("bm25:k1=much", "'bm25': .*'k1': .*a number, got 'much'"),
        ("bm25:stopwords=maybe", "'stopwords': .*true or false, got 'maybe'"),
        ("bm25:k1=", "'k1': .*a number"),
        ("bm25:k1=1,k1=2", "'k1' .*twice"),
        ("bm25:b=0.4,k1", "option=value, got 'k1'"),
        ("bm25:=1", "'=1'"),
        ("bm25:k1", "option=value"),
        ("lead:first", "option=value"),
        ("bm25:k1=-1", "k1: .*at least 0, got -1"),
        ("bm25:k1=nan", "'k1': .*finite number, got 'nan'"),
        ("bm25:b=1.5", r"b: .*0\.\.1, got 1\.5"),
        ("bm25_abstract_first:b=1.5", r"0\.\.1"),
        ("tfidf_char:shortest=4,longest=3", "1 <= shortest <= longest"),
        ("no_such_module_here:thing", "imported: .*'no_such_module_here'"),
        ("json:nothing", "'nothing'"),
        ("json:__doc__", "class or function"),
        ("json:dumps", "needs 'obj'; write json:dumps:obj="),
        ("stored:run=a\udcff.jsonl", "Unicode"),
        ("fuse:systems=[bm25", r"'fuse:systems=\[bm25': .*'\[' behind 'systems='"),
        ("fuse:systems=bm25]", r"'\]' behind 'systems=bm25'"),
        ("fuse:systems=[bm25+]", r"'systems': '\[bm25\+\]': element 2 .*empty"),
        ("fuse:systems=[+bm25]", "element 1"),
        ("fuse:systems=[]", r"systems=\[bm25\+tfidf\]"),
        ("fuse:systems=[bm25+bm52]", "'fuse': .*'systems': .*'bm52'"),
        ("diverse:system=", "'diverse': .*'system': .*name:option=value"),
        ("diverse", r"'diverse': needs 'system'; .*diverse:system=\.\.\..*'evidencebench"),
        ("llm_base:modl=a/b", "'llm_base': .*'modl' .*did you mean 'model'"),
        ("llm_base", "'model'.*llm_base:model=PROVIDER/NAME"),
        ("rerank:top=3", r"'system' and 'model'.*rerank:system=\.\.\.,model=\.\.\."),
        ("diverse:system=[fuse:systems=[bm25:k1=x]]", "'diverse': .*'system': .*'fuse': .*'bm25': .*'k1'"),
        ("fuse:systems=[bm25+lead],weights=[1e+5+2]", "'weights': .*'1e'"),
        ("fuse:systems=[bm25+lead],weights=[nan+2]", "'weights': .*'nan'"),
        ("diverse:system=oracle", "'oracle' .*labels"),
        ("fuse:systems=[lead+[greedy_oracle]]", "'greedy_oracle' .*labels"),
        ("fuse:systems=[bm25+lead],weights=[1]", "weights: .*2, got 1"),
        ("fuse:systems=[bm25+lead],weights=[0+0]", "weights: .*not all 0"),
        ("fuse:systems=[bm25+lead],weights=[-1+2]", "weights: .*not all 0"),
        ("fuse:systems=bm25,k=-1", "k: .*got -1"),
        ("fuse:systems=bm25,method=mean", "'method': .*'mean'"),
        ("diverse:system=bm25,strength=1.1", r"strength: .*1\.1"),
    ],
)
def test_a_specification_that_does_not_fit_says_where_and_what_would(spec: str, message: str) -> None:
    with pytest.raises(SystemSpecError, match=message):
        make_system(spec)


@pytest.mark.parametrize("around", ["diverse:system=", "diverse:system=[", "fuse:systems=[["])
def test_nesting_has_a_bound(around: str) -> None:
    closing = "]" * around.count("[")

    def nested(depth: int) -> str:
        return around * depth + "bm25" + closing * depth

    assert make_system(nested(MAX_DEPTH // 2)).parts
    for depth in (MAX_DEPTH + 1, 5000):
        with pytest.raises(SystemSpecError, match="more than 8 deep"):
            make_system(nested(depth))


def test_a_header_nested_without_end_has_no_specification() -> None:
    value: dict[str, Any] = {"name": "bm25", "options": {}}
    for _ in range(5000):
        value = {"name": "diverse", "options": {"system": value}}
    with pytest.raises(SystemSpecError, match="8 deep"):
        write_specification("diverse", {"system": value})
    with pytest.raises(SystemSpecError, match="type dict"):
        write_specification("own.code:made", {"table": {"a": 1}})


def test_the_seed_goes_down_to_nested_systems_and_own_code_nests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    name = f"nested_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(OWN_SYSTEM)
    outer = make_system(f"fuse:systems=[lead+{name}:Seeded+{name}:Seeded:seed=3]", seed=7)
    assert [part.options for part in outer.parts] == [{}, {"seed": 7}, {"seed": 3}]
    assert outer.reads_task
    assert outer.versions()["seeds"] == "7 and 3"
    own = make_system(f"{name}:Around:inner=[{name}:Seeded:seed=5]")
    assert own.options == {"inner": {"name": f"{name}:Seeded", "options": {"seed": 5}}}
    assert own.reads_task
    assert {name.partition(":")[0] for name in own.versions()} == {"seeds", f"code of {name}"}
    function = make_system(f"{name}:around:inner=[bm25:k1=1,b=0]")
    assert function.options["inner"]["options"]["k1"] == 1
    assert not function.reads_task


OWN_SYSTEM = """
from dataclasses import dataclass

from evidencebench import Ranking, Traits
from evidencebench import NamedSystem


@dataclass(frozen=True, kw_only=True)
class Seeded:
    seed: int = 0

    @property
    def traits(self):
        return Traits(reads_task=True, versions=lambda: {"seeds": str(self.seed)})

    def rank(self, query, task):
        return Ranking(sentences=())


class Plain:
    def __init__(self, inner):
        self.inner = inner

    def rank(self, query, task):
        return self.inner.rank(query, task)


@dataclass(frozen=True, kw_only=True)
class Around(Plain):
    inner: NamedSystem


def around(*, inner: NamedSystem):
    return Plain(inner)
"""
