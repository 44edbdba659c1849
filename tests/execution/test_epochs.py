"""Each instance asked several times: fresh requests, nothing paid twice, and the mean and spread over the repeats."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from doors import (
    ChatClient,
    ChatRequest,
    PriceTable,
    ReplyCache,
    RunFormatError,
    RunMismatchError,
    board_of,
    exchanges_of,
    score_runs,
)
from evidencebench import evaluate, execute, make_system, open_run
from kit.command_line import SAMPLE
from kit.scripted_models import ScriptedSender, shown_in

SPEC = "llm_base:model=local/fake,base_url=http://127.0.0.1:9/v1"
TASK = "er_at_10"
SHUFFLED = """
from dataclasses import dataclass
import numpy as np
from evidencebench import Ranking

@dataclass(frozen=True)
class Shuffled:
    seed: int = 0
    def rank(self, query, task):
        order = np.random.default_rng([self.seed, len(query.hypothesis)]).permutation(len(query.sentences))
        return Ranking(sentences=tuple(order))
"""


def by_seed(request: ChatRequest) -> str:
    """Name ten sentences that the seed decides, as a model does that samples."""
    drawn = np.random.default_rng(request.seed).permutation(list(shown_in(request)))
    return f"ANSWER: {drawn[:10].tolist()}"


@contextmanager
def asked(folder: Path) -> Iterator[tuple[ChatClient, list[ChatRequest]]]:
    """Give a client whose replies are stored in a folder, and what it sends."""
    sender = ScriptedSender(by_seed)
    client = ChatClient(sender=sender, cache=ReplyCache(folder), prices=PriceTable(as_of="", models={}))
    with closing(client):
        yield client, sender.asked


def test_each_epoch_sends_its_own_requests_and_none_is_paid_twice(tmp_path: Path) -> None:
    n, path = len(SAMPLE), tmp_path / "run.jsonl"
    with asked(tmp_path) as (client, sent):
        execute(SPEC, SAMPLE, tmp_path / "once.jsonl", tasks=TASK, client=client)
        report = execute(SPEC, SAMPLE, path, tasks=TASK, epochs=3, client=client)
        assert (report.epochs, report.n_instances, report.n_failed) == (3, n, 0)
        assert len({request.key for request in sent}) == len(sent) == 3 * n  # the first epoch was stored
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: n + 5]) + lines[n + 5][:20])  # killed within the second epoch
        report = execute(SPEC, SAMPLE, path, tasks=TASK, epochs=3, client=client)
        assert report.n_resumed == n + 4
        assert len(sent) == 3 * n
        assert sorted(line.partition(b"crc")[0] for line in path.read_bytes().splitlines()[1:]) == sorted(
            line.partition(b"crc")[0] for line in lines[1:]
        )
        with pytest.raises(RunMismatchError, match="epochs"):
            execute(SPEC, SAMPLE, path, tasks=TASK, epochs=4, client=client)
    with closing(ReplyCache(tmp_path)) as cache:
        run = open_run(path)
        for epoch, seed in enumerate(sorted({request.seed or 0 for request in sent})):  # epochs may be sent together
            (exchange,) = exchanges_of(run.epochs[epoch], SAMPLE, SAMPLE.ids[0], cache=cache)
            assert exchange.replayed.reply is not None
            assert (exchange.replayed.request.seed or 0) == seed


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_instance_counts_with_its_mean_over_the_epochs(tmp_path: Path, jobs: int) -> None:
    path, single, code = (tmp_path / name for name in ("run.jsonl", "single.jsonl", "shuffling.py"))
    code.write_text(SHUFFLED)
    execute(f"{code}:Shuffled:seed=3", SAMPLE, path, epochs=3, jobs=jobs)
    execute(f"{code}:Shuffled:seed=3", SAMPLE, single)
    first, second, third = (run.answer(SAMPLE.ids[0], None) for run in open_run(path).epochs)
    assert first == open_run(single).answer(SAMPLE.ids[0], None)
    assert len({first.sentences, second.sentences, third.sentences}) == 3  # type: ignore[union-attr]
    each = {f"{n}": make_system(f"{code}:Shuffled:seed={3 + n * 1_000_000}") for n in range(3)}
    recalls = np.array([scores[TASK].recalls for scores in evaluate(each, SAMPLE, TASK).values()])
    scored = score_runs([path], SAMPLE, TASK, jobs=jobs)
    (scores,) = (by_task[TASK] for by_task in scored.scores.values())
    assert scores.recalls == pytest.approx(recalls.mean(axis=0))
    assert scores.epochs is not None
    assert scores.epochs.means == pytest.approx(recalls.mean(axis=1))
    assert scores.epochs.deviation == pytest.approx(np.std(recalls.mean(axis=1), ddof=1))
    assert scores.epochs.instance_deviation == pytest.approx(np.std(recalls, axis=0, ddof=1).mean())
    row = next(row for row in board_of(scored, scores.task).standings if not row.is_control)
    assert (row.n, row.n_epochs) == (len(SAMPLE), 3)
    assert row.recall.mean == pytest.approx(recalls.mean())
    assert evaluate({"mine": open_run(path)}, SAMPLE, TASK)["mine"][TASK].mean_recall == scores.mean_recall
    alone = score_runs([single], SAMPLE, TASK)
    assert next(iter(alone.scores.values()))[TASK].epochs is None


def test_what_is_missing_of_an_epoch_scores_0_and_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    execute("lead", SAMPLE, path, epochs=2)
    whole = evaluate({"run": open_run(path)}, SAMPLE, TASK)["run"][TASK]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-4]))
    scores = evaluate({"run": open_run(path)}, SAMPLE, TASK)["run"][TASK]
    assert (scores.counts.missing, scores.n_answers) == (4, 2 * len(SAMPLE))
    assert scores.recalls[-4:] == pytest.approx(whole.recalls[-4:] / 2)
    row = next(row for row in board_of(score_runs([path], SAMPLE, TASK), scores.task).standings if not row.is_control)
    assert row.unfinished == f"{2 * len(SAMPLE) - 4} of {2 * len(SAMPLE)}"
    path.write_bytes(lines[0].replace(b'"epochs":2', b'"epochs":1') + lines[-1])
    with pytest.raises(RunFormatError, match=r"line 2: .*epochs.* 1, got 2"):
        open_run(path)
    path.write_bytes(lines[0].replace(b'"epochs":2', b'"epochs":1000000000'))
    with pytest.raises(RunFormatError, match="epochs"):
        open_run(path)
    with pytest.raises(ValueError, match="1000, got 1001"):
        execute("lead", SAMPLE, tmp_path / "more.jsonl", epochs=1001)
