"""Asking a language model: requests a second beside the official `openai` client, requests in flight, and memory.

    python benchmarks/asking.py --quick

Both clients hold 200 requests in flight. Ours makes the prompt, stores the reply durably before it is used, reads it,
and appends the answer to a run; the peer gets its prompts ready-made and only receives. Requests a second are measured
against a stub in a process of its own, on loopback, which answers each at once and so is no limit; the others against
`evidencebench llm serve-fake`, with the same data.
"""

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from evidencebench.data.dataset import open_dataset
from evidencebench.data.tasks import task_named
from evidencebench.execution.run import execute
from evidencebench.models.llm.client import make_client
from synthetic import synthetic_file
from timing import Figure, anonymous_mb, main_of, measured, paired, seconds_of

_N_IN_FLIGHT = 200
_N_TIMED = 2_000
_GOAL_RATIO = 1.5
_MOST_GROWTH_MB = 30.0


def figures(folder: Path, n_instances: int) -> Iterator[Figure]:
    """Yield the figures of asking."""
    data = synthetic_file(folder, n_instances)
    n_timed = min(_N_TIMED, n_instances)
    with serving_stub() as address:
        pair = paired(lambda: _ours(data, address, n_timed).seconds, lambda: _peer(data, address, n_timed), n_pairs=3)
        rate = n_timed / pair.ours
        yield Figure(
            name="LLM requests a second",
            ours=f"{rate:.0f} /s",
            peer=f"{n_timed / pair.peer:.0f} /s",
            ratio=f"{pair.ratio:.3g} x",
            goal=f">= {_GOAL_RATIO} x",
            reached=pair.ratio >= _GOAL_RATIO,
        )
    with serving(data, "--latency", "0.5") as address:
        _ours(data, address, min(4 * _N_IN_FLIGHT, n_instances))
        most = _totals(address)["most_in_flight"]
        yield Figure(
            name="LLM requests in flight",
            ours=str(most),
            goal=f">= {_N_IN_FLIGHT}",
            reached=most >= _N_IN_FLIGHT,
        )
    with serving(data) as address:
        # The fewer ones fill all connections too, which need memory whatever is kept.
        fewer = max(n_instances // 20, 2 * _N_IN_FLIGHT)
        few, all_of_them = (_ours(data, address, n).peak_mb for n in (fewer, n_instances))
        yield Figure(
            name=f"memory, {n_instances:,} requests",
            ours=f"{all_of_them:.0f} MB",
            peer=f"{few:.0f} MB",
            goal=f"< +{_MOST_GROWTH_MB:.0f} MB",
            reached=all_of_them - few < _MOST_GROWTH_MB,
        )


class _Ran:
    """What our run took, start of the process left out."""

    def __init__(self, printed: str) -> None:
        found = json.loads(printed.splitlines()[-1])
        self.seconds: float = found["seconds"]
        self.peak_mb: float = found["peak_mb"]


def _ours(data: Path, address: str, n_requests: int) -> _Ran:
    with tempfile.TemporaryDirectory() as scratch:
        return _Ran(measured([__file__, "--run-ours", data, address, str(n_requests), scratch]).output)


def _peer(data: Path, address: str, n_requests: int) -> float:
    return _Ran(measured([__file__, "--run-peer", data, address, str(n_requests)]).output).seconds


def _run_ours(data: Path, address: str, n_requests: int, scratch: Path) -> None:
    """Run our client in this process and print what it took."""
    dataset = open_dataset(data)
    client = make_client(max_connections=_N_IN_FLIGHT, environ={"EVIDENCEBENCH_CACHE": str(scratch)})
    spec = f"llm_base:model=local/fake,base_url={address}"
    report = None

    def run() -> None:
        nonlocal report
        report = execute(
            spec,
            dataset,
            scratch / "run.jsonl",
            tasks=[task_named("er_at_10")],
            limit=n_requests,
            client=client,
            max_waiting=_N_IN_FLIGHT,
        )

    seconds = seconds_of(run)
    client.close()
    assert report is not None
    assert report.n_failed == 0, report
    print(json.dumps({"seconds": seconds, "peak_mb": _peak_mb()}))


def _run_peer(data: Path, address: str, n_requests: int) -> None:
    """Send the same prompts with the official client and print what it took."""
    from openai import AsyncOpenAI  # noqa: PLC0415 - what only the peer's process loads

    prompts = [
        f"Hypothesis: {instance.query.hypothesis}\nat most 10 sentences\n<paper>\n"
        + "\n".join(f"[{index}] {text}" for index, text in enumerate(instance.query.sentences))
        + "\n</paper>\n"
        for instance in open_dataset(data).instances(n_requests)
    ]

    async def send() -> None:
        room = asyncio.Semaphore(_N_IN_FLIGHT)
        async with AsyncOpenAI(base_url=address, api_key="none", max_retries=0) as client:

            async def ask(prompt: str) -> None:
                async with room:
                    reply = await client.chat.completions.create(
                        model="fake", messages=[{"role": "user", "content": prompt}], max_tokens=4096
                    )
                    assert re.search(r"ANSWER: \[", reply.choices[0].message.content or "")

            await asyncio.gather(*map(ask, prompts))

    print(json.dumps({"seconds": seconds_of(lambda: asyncio.run(send())), "peak_mb": _peak_mb()}))


def _peak_mb() -> float:
    """Return the anonymous memory of this process now, which only grows where something is kept."""
    return anonymous_mb()


_REPLY = json.dumps(
    {
        "model": "stub",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "ANSWER: [0, 1]"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 9000, "completion_tokens": 9, "total_tokens": 9009},
    }
).encode()
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_REPLY), _REPLY)
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class _Stub(asyncio.Protocol):
    """Answers each request with the same reply, as soon as its last byte is there."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._received = transport, bytearray()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._received, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._received) < whole:
                return
            del self._received[:whole]
            assert isinstance(self._transport, asyncio.Transport)
            self._transport.write(_ANSWER)


def _serve_stub() -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_Stub, "127.0.0.1", 0)
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
        await server.serve_forever()

    asyncio.run(serve())


@contextmanager
def serving_stub() -> Iterator[str]:
    """Serve the stub in a process of its own, and give the address."""
    with subprocess.Popen([sys.executable, __file__, "--serve-stub"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextmanager
def serving(data: Path, *options: str) -> Iterator[str]:
    """Serve data in a process of its own, and give the address."""
    words = ["llm", "serve-fake", "--data", str(data), "--behaviour", "lead", "--port", "0", *options]
    with subprocess.Popen(
        [sys.executable, "-m", "evidencebench", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def _totals(address: str) -> dict[str, int]:
    with urlopen(f"{address.removesuffix('/v1')}/log") as reply:  # noqa: S310 - loopback
        found: dict[str, int] = json.load(reply)
        return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run-ours"]:
        _run_ours(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), Path(sys.argv[5]))
    elif sys.argv[1:2] == ["--serve-stub"]:
        _serve_stub()
    elif sys.argv[1:2] == ["--run-peer"]:
        _run_peer(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        main_of("asking.py", __doc__, figures)
