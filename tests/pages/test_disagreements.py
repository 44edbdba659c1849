"""The page of disagreements: grouped by who marked, complete, and without a way for text to become markup."""

import re

from doors import Disagreement, disagreements_page

HOSTILE = "<script>alert(1)</script> fell"


def differing(number: int, *, marked_by: tuple[str, ...], not_marked_by: tuple[str, ...]) -> Disagreement:
    return Disagreement(
        task="task_1",
        paper_id="paper",
        aspect="Pressure <b>fell</b>.",
        number=number,
        kind="body",
        sentence=f"{HOSTILE} {number}",
        before="Before.",
        after="",
        marked_by=marked_by,
        not_marked_by=not_marked_by,
    )


def test_sentences_stand_below_who_marked_them_text_stays_text_and_none_is_said() -> None:
    found = [
        differing(1, marked_by=("model",), not_marked_by=("Ada", "Bo")),
        differing(2, marked_by=("Ada",), not_marked_by=("Bo", "model")),
        differing(3, marked_by=("model",), not_marked_by=("Ada", "Bo")),
    ]
    page = disagreements_page(found, title="Disagreements in <tasks>.jsonl")

    first, second = re.findall(r"<section.*?</section>", page, re.DOTALL)
    assert "selected by model; not by Ada, Bo" in first
    assert re.findall(r"sentence (\d), body", first) == ["1", "3"]
    assert re.findall(r"sentence (\d), body", second) == ["2"]
    assert "3 judgments on which raters differ" in page
    assert first.count("<h3") == 1  # the aspect once for both sentences
    assert "<script" not in page
    assert "<b>" not in page
    assert "<mark>&lt;script&gt;alert(1)&lt;/script&gt; fell 1</mark>" in first
    assert "script-src" in page
    assert "0 judgments on which raters differ" in disagreements_page([], title="t")
