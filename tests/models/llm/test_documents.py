"""What docs/llm.md claims of strategies, replies, statuses and costs is what the code does."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from doors import MAY_HAVE_RUN, PriceTable, ReplyClass, cli, is_transient, options_of, provider_of
from evidencebench import SYSTEMS
from kit.examples import thorough_only

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "llm.md").read_text(encoding="utf-8")
TRAIN = ROOT.parent / "shared" / "data" / "evidencebench_train_set.json"


def rows(beginning: str) -> list[list[str]]:
    """Give the cells of the rows of the table whose head begins so."""
    _, _, behind = TEXT.partition(f"\n| {beginning}")
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in behind.split("\n\n")[0].splitlines()[2:]
    ]


def names(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


def test_every_strategy_has_the_options_that_stand_there() -> None:
    said = {next(iter(names(row[0]))): names(row[2]) for row in rows("strategy |")}
    of_the_model = names(TEXT.partition("takes the options of the model:")[2].partition("\n\n")[0])
    of_strategies = {name: options_of(SYSTEMS[name]) for name in SYSTEMS if name.startswith("llm_")}
    assert said == {
        name: {key for key, one in options.items() if one.group is None} for name, options in of_strategies.items()
    }
    for name, options in of_strategies.items():
        chat = {key for key, one in options.items() if one.group == "chat"}
        assert chat == (set() if name == "llm_vote" else of_the_model)


def test_every_class_of_a_reply_stands_there() -> None:
    assert [row[0] for row in rows("class of a reply")] == [str(one) for one in reversed(ReplyClass)]


def test_the_statuses_that_are_tried_again_stand_there() -> None:
    (again,) = (row[0] for row in rows("| |") if "broken replies" in row[0])
    said = set(map(int, re.findall(r"\b\d{3}\b", again))) | {429} | set(range(500, 600))
    assert {status for status in range(400, 600) if is_transient(status)} == said
    charged = re.search(r"a timeout, a cut, an unreadable reply, ([\d, ]+), and a request in flight", TEXT)
    assert charged is not None
    assert set(map(int, charged[1].split(", "))) == MAY_HAVE_RUN


def test_batches_cost_half() -> None:
    table = PriceTable.load()
    in_batches = {name: price.batch for name, price in table.models.items() if provider_of(name).has_batches}
    assert set(in_batches.values()) <= {0.5, None}
    assert sum(factor == 0.5 for factor in in_batches.values()) > len(in_batches) / 2


@thorough_only
@pytest.mark.data
def test_the_estimate_that_stands_there_is_the_one_that_is_printed() -> None:
    if not TRAIN.is_file():
        pytest.skip("needs ../shared/data, which is not here")
    (shown,) = re.findall(r"```text\n(model .*?)```", TEXT, re.DOTALL)
    arguments = ["run", "llm_base:model=openai/gpt-4o-mini", "--data", str(TRAIN), "--estimate"]
    found = CliRunner().invoke(cli, [*arguments, "--task", "er_at_optimal"], env={"EVIDENCEBENCH_CACHE": "off"})
    assert found.output == shown
    of_all = CliRunner().invoke(cli, [*arguments, "--json"], env={"EVIDENCEBENCH_CACHE": "off"})
    n_requests = re.search(r'"requests": (\d+)', of_all.output)
    assert n_requests is not None
    assert f"a request each: {n_requests[1]} on train, not 96" in TEXT
