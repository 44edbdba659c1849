"""Whether a judge can be trusted is told by its own windows, without gold: by the run, the status and the datasheet."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import Command
from evidencebench.integrations.fake_server import GoldStudies
from served_constructions import served_construction

Judged = Callable[..., list[int]]


def numbered_from(first: int) -> Callable[[Judged], Judged]:
    """Return a judge that finds the right sentences and numbers them within the window that it is shown."""

    def changed(judged: Judged) -> Judged:
        def numbered(self: GoldStudies, study: Any, aspect: str, content: Any, *more: Any) -> list[int]:
            return [one - min(content.numbers) + first for one in judged(self, study, aspect, content, *more)]

        return numbered

    return changed


DOUBTS = ("it took every sentence for a source", "its windows hardly agree: kappa ", "its replies on ")
JUDGES: dict[str, tuple[str, Callable[[Judged], Judged] | None, str]] = {
    "a right one": ("any", None, ""),
    "a fair one": ("noisy-0.1-0.002", None, ""),
    "yes to every sentence": ("noisy-0-1", None, DOUBTS[0]),
    "yes to nearly every sentence": ("noisy-0.05-0.95", None, DOUBTS[1]),
    "by chance": ("noisy-0.7-0.3", None, DOUBTS[1]),
    "numbers 1 to 10 of the window": ("any", numbered_from(1), DOUBTS[2]),
    "numbers 0 to 9 of the window": ("any", numbered_from(0), DOUBTS[2]),
}


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize(
    ("judge", "at_once"), [*((one, True) for one in JUDGES), *((one, False) for one in list(JUDGES)[2::3])]
)
def test_a_judge_that_says_yes_to_all_or_numbers_otherwise_is_warned_of_and_a_fair_one_is_not(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch, judge: str, *, at_once: bool
) -> None:
    model, change, warning = JUDGES[judge]
    if change is not None:
        monkeypatch.setattr(GoldStudies, "judge", change(GoldStudies.judge))
    config, work = tmp_path / "construction.toml", tmp_path / "work"
    with served_construction(tmp_path, at_once=at_once) as server:
        own = f'model = "local/{model},base_url={server.base_url}"\n'
        text = config.read_text()
        table = text if at_once else f"{text}[judge]\n"
        config.write_text(
            table.replace("[judge]\n", f"[judge]\n{own}").replace(
                "[assemble]", "[filter]\nleast_covered = 0\n[assemble]"
            )
        )
        made = command(f"construct run {config}")
    status = command(f"construct status {work}")
    fields = command(f"construct status {work} --json").json["windows_agree"][f"local/{model}"]
    for told in (made, status):
        assert (any(one in told.err for one in DOUBTS), warning in told.err) == (bool(warning), True), told.err
    assert f"local/{model}: two windows with the same sentence agree in " in status.out
    if change is not None:  # numbers that are not shown are no answer, so that no draft is left
        assert "sentences without a readable judgment (5)" in made.err
        assert (made.code, fields["n_unread"] > 0, "windows could not be read" in status.out) == (2, True, True)
        return
    assert (made.code, fields["n_unread"]) == (0, 0)
    assert f"local/{model}: two windows with the same sentence agree in " in made.out
    sheet = " ".join((work / "dataset" / "datasheet.md").read_text().split())
    assert f"Of local/{model}, two windows with the same sentence agree in " in sheet
    assert ("**Doubtful**" in sheet, warning in sheet) == (bool(warning), True)
