"""Two of the same run at once, in processes of their own: each reply is paid for once, and both get it."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import doors
from doors import ChatClient, DrainingError, EndpointError, PriceTable, Received, ReplyCache
from evidencebench import load_sample
from kit.fake_models import running_fake_server
from kit.in_threads import begun, ended
from kit.llm_servers import DictCache, SlowSender
from kit.patience import MOST_SECONDS
from kit.replies import numbered, reply_to

TESTS = Path(__file__).parents[2]
NO_PRICES = PriceTable(as_of="", models={})
KEY = numbered(0).key

ASK = """
import sys
from doors import Received
from evidencebench import make_client
from kit.in_threads import at_once
from kit.replies import numbered
client = make_client(environ={"EVIDENCEBENCH_CACHE": sys.argv[1]})
def work():
    return len(at_once(client.ask, [numbered(n, "local/m", sys.argv[2]) for n in range(12)]))
print("ready", flush=True)
sys.stdin.readline()
print(work(), client.totals.now.requests, client.totals.now.stored)
client.close()
"""

HOLD = """
import sys
from pathlib import Path
from doors import ReplyCache
claims = ReplyCache(Path(sys.argv[1]))
with claims.claimed(sys.argv[2]) as is_mine:
    print(is_mine, flush=True)
    sys.stdin.readline()
"""


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_of_the_same_run_at_once_pay_for_each_reply_once(tmp_path: Path) -> None:
    with running_fake_server(load_sample(), latency_seconds=0.3) as server:
        with started(ASK, str(tmp_path), server.base_url) as one, started(ASK, str(tmp_path), server.base_url) as other:
            assert (line_of(one), line_of(other)) == ("ready\n", "ready\n")
            go(one)
            go(other)
            counts = [list(map(int, line_of(process).split())) for process in (one, other)]
        paid = [entry["key"] for entry in server.log_entries() if entry["outcome"] == "paid"]
    assert [n_replies for n_replies, _, _ in counts] == [12, 12]
    assert len(paid) == len(set(paid)) == 12
    assert sum(n_sent for _, n_sent, _ in counts) == sum(n_stored for _, _, n_stored in counts) == 12


def test_what_a_process_asks_is_free_when_it_is_killed(tmp_path: Path) -> None:
    claims = ReplyCache(tmp_path)
    with started(HOLD, str(tmp_path), KEY) as process:
        assert line_of(process) == "True\n"
        with claims.claimed(KEY) as is_mine, claims.claimed(numbered(1).key) as is_other_mine:
            assert (is_mine, is_other_mine) == (False, True)
        process.send_signal(signal.SIGKILL)
    with claims.claimed(KEY) as is_mine:
        assert is_mine
    claims.close()


def test_what_is_given_back_may_be_asked_by_others(tmp_path: Path) -> None:
    claims = ReplyCache(tmp_path)

    def is_free() -> bool:
        with started(HOLD, str(tmp_path), KEY) as process:
            said = line_of(process)
            go(process)
        return said == "True\n"

    with claims.claimed(KEY):
        assert not is_free()
    assert is_free()
    claims.close()


@pytest.mark.parametrize("failures", [(), (EndpointError("no"),)], ids=["answered", "failed"])
def test_what_was_asked_may_be_asked_by_others_while_its_process_lives(
    tmp_path: Path, failures: Sequence[EndpointError]
) -> None:
    client = ChatClient(sender=SlowSender(failures=failures), cache=ReplyCache(tmp_path), prices=NO_PRICES)
    with suppress(*map(type, failures)):
        client.ask(numbered(0))
    with started(HOLD, str(tmp_path), KEY) as process:
        assert line_of(process) == "True\n"
        go(process)
    client.close()


def test_a_request_that_another_process_sends_is_waited_for_and_its_reply_is_taken() -> None:
    cache, sender = DictCache(claimed_elsewhere={KEY}), SlowSender()
    client = ChatClient(sender=sender, cache=cache, prices=NO_PRICES)

    def answered_elsewhere() -> None:
        cache.was_looked_at.wait()
        cache.kept[KEY] = Received(reply_to(7), 0.5)
        cache.claimed_elsewhere.clear()

    asked = [begun(client.ask, numbered(0)) for _ in range(2)]
    answered_elsewhere()
    assert [received.reply for received in ended(asked)] == [reply_to(7)] * 2
    client.close()
    assert sender.asked == []
    assert (client.totals.now.requests, client.totals.now.stored) == (0, 2)


class CountingCache(ReplyCache):
    """A cache that counts how often a request was asked for; its claims are real locks on the disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.n_looks, self.looked_long = 0, threading.Event()

    @contextmanager
    def claimed(self, key: str) -> Iterator[bool]:
        self.n_looks += 1
        if self.n_looks == 3600:  # five looks a second: twelve minutes
            self.looked_long.set()
        with super().claimed(key) as is_mine:
            yield is_mine


def test_a_request_is_waited_for_as_long_as_the_process_that_sends_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors.llm_client, "_LOOK_AGAIN_SECONDS", 0.0)
    cache, sender = CountingCache(tmp_path), SlowSender()
    client = ChatClient(sender=sender, cache=cache, prices=NO_PRICES)

    with started(HOLD, str(tmp_path), KEY) as process:
        assert line_of(process) == "True\n"
        asked = begun(client.ask, numbered(0))
        assert cache.looked_long.wait(MOST_SECONDS)
        assert sender.asked == []
        process.send_signal(signal.SIGKILL)
        assert asked.result().reply.text == "reply to seed 0"
    client.close()
    assert len(sender.asked) == 1


def test_waiting_for_another_process_ends_when_nothing_more_is_to_be_sent() -> None:
    cache, sender = DictCache(claimed_elsewhere={KEY}), SlowSender()
    client = ChatClient(sender=sender, cache=cache, prices=NO_PRICES)

    def work() -> None:
        asked = begun(client.ask, numbered(0))
        cache.was_looked_at.wait()
        client.drain()
        asked.result()

    with pytest.raises(DrainingError):
        work()
    client.close()
    assert sender.asked == []
