from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencebench.construction.draft import Draft, Judging
from evidencebench.construction.losses import NO_ASPECTS, TOO_FEW, filter_drafts
from evidencebench.errors import RunFormatError
from trial_constructions import write_drafts

_JUDGING = Judging(paper_sha256="", n_sentences=1, window=10, overlap=5, rounds=(), sources=())


def _covered(draft_id: str, n_covered: int, n_aspects: int) -> Draft:
    sources = tuple((0,) if number < n_covered else () for number in range(n_aspects))
    return Draft(
        id=draft_id,
        review_id="r",
        paper_id="p",
        aspects=("An aspect.",) * n_aspects,
        judging=msgspec.structs.replace(_JUDGING, sources=sources),
    )


@given(st.integers(1, 200), st.integers(0, 100))
def test_a_draft_is_kept_exactly_where_the_share_of_its_covered_aspects_is_reached(
    tmp_path_factory: pytest.TempPathFactory, n_aspects: int, percent: int
) -> None:
    folder = tmp_path_factory.mktemp("filter")
    source = write_drafts(folder / "results.jsonl", [_covered(f"{n:03}", n, n_aspects) for n in range(n_aspects + 1)])
    found = filter_drafts(source, folder / "filtered.jsonl", least_covered=percent / 100)
    least = Fraction(percent, 100)
    assert list(found.going_on) == [f"{n:03}" for n in range(n_aspects + 1) if Fraction(n, n_aspects) >= least]
    assert sum(found.dropped.values()) == n_aspects + 1 - len(found.going_on)


def test_what_is_dropped_says_why_and_stays_in_the_file(tmp_path: Path) -> None:
    drafts = [_covered("all", 10, 10), _covered("seven", 7, 10), _covered("six", 6, 10), _covered("none", 0, 0)]
    source = write_drafts(tmp_path / "results.jsonl", drafts)
    found = filter_drafts(source, tmp_path / "filtered.jsonl")
    assert found.going_on == ("all", "seven")
    assert found.dropped == {TOO_FEW: 1, NO_ASPECTS: 1}
    assert found["six"].detail == "6 of 10, expected at least 70 %"
    assert msgspec.structs.replace(found["six"], dropped="", detail="") == drafts[2]
    assert found["seven"] == drafts[1]


def _broken(**changes: object) -> Draft:
    return msgspec.structs.replace(_covered("d", 1, 2), **changes)


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        (_broken(judging=None), "draft 'd': expected judged sentences, got none; run 'evidencebench construct judge'"),
        (_broken(aspects=("a", "b", "c")), "draft 'd': expected sources of 3 aspects, got of 2"),
        (_broken(results=(2,)), r"draft 'd': expected Results aspects in 0\.\.1, got aspect 2"),
        (
            _broken(judging=msgspec.structs.replace(_JUDGING, sources=((0,), (1,)))),
            r"draft 'd': expected sentences 0\.\.0 as sources of aspect 1, got sentence 1",
        ),
    ],
)
def test_a_draft_whose_parts_do_not_fit_is_an_error(tmp_path: Path, draft: Draft, message: str) -> None:
    source = write_drafts(tmp_path / "results.jsonl", [draft])
    with pytest.raises(RunFormatError, match=message):
        filter_drafts(source, tmp_path / "filtered.jsonl")
