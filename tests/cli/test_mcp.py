"""``evidencebench mcp``: an assistant's own client starts it and asks about papers."""

import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import pytest

from doors import Address, review_tasks
from kit.command_line import Command
from kit.desks import QUESTIONS, cell_of, filled
from kit.europe_pmc import base_url, europe_pmc
from kit.printing import Sheet

_TEXT = """\
# Abstract
It is not known whether tea lowers blood pressure.
In a randomised trial of 120 adults, tea lowered systolic pressure by 3.1 mmHg (95% CI 1.0 to 5.2, p = 0.004).
"""


_GERMAN = "Ziel der Studie war es, die Wirkung von Tee auf den Blutdruck zu untersuchen."
_URL = "http://127.0.0.1:8642"


@pytest.fixture(scope="module", autouse=True)
def _client() -> None:
    """Load the client before a test captures standard error: it keeps what that is then, for servers that it starts."""
    with suppress(ImportError):
        import_module("mcp")


def _asked(ask: Callable[[Any], Coroutine[Any, Any, Any]], *arguments: str) -> Any:
    """Return what is learnt of the server by the SDK's client, which starts it."""

    mcp = pytest.importorskip("mcp", reason="needs the extra mcp")

    async def talk() -> Any:
        command = ["-m", "evidencebench", "mcp", *arguments]
        server = mcp.StdioServerParameters(command=sys.executable, args=command, cwd=str(Path.cwd()))
        async with mcp.Client(server) as client:
            return await ask(client)

    return anyio.run(talk)


def test_an_assistant_lists_reads_and_asks_the_papers_of_the_folders_and_nothing_else() -> None:
    for name in ("papers", "other/papers", "secret"):
        Path(name).mkdir(parents=True)
    write = Path("papers/tea.txt").write_text
    write(_TEXT)
    Path("other/papers/broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    Path("secret/diary.txt").write_text("A secret.\n")
    Path("papers/.hidden.txt").write_text("A secret.\n")
    Path("papers/link.txt").symlink_to(Path("secret/diary.txt").resolve())

    async def ask(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"list_papers", "read_paper", "find_evidence"}
        assert all(tool.annotations.read_only_hint and tool.description for tool in tools.values())
        listed = (await client.call_tool("list_papers")).structured_content
        assert listed == {"papers": ["papers/tea.txt", "papers-2/broken.pdf"], "n_papers": 2}
        call = {"paper": "papers/tea.txt", "hypothesis": "Tea lowers blood pressure.", "budget": 1}
        found = (await client.call_tool("find_evidence", call)).structured_content
        assert [row["text"] for row in found["evidence"]] == [_TEXT.splitlines()[2]]
        assert found["evidence"][0]["section"] == ["Abstract"]
        assert {"verdict", "evidence", "not_searched"} <= set(found)
        read = (
            await client.call_tool("read_paper", {"paper": "papers/tea.txt", "first": 1, "n": 1})
        ).structured_content
        assert (read["n_sentences"], read["next"], read["headings"]) == (3, 2, [{"sentence": 0, "text": "Abstract"}])
        assert [row["text"] for row in read["sentences"]] == [_TEXT.splitlines()[1]]
        write(_TEXT + "Water did nothing.\n")
        read = (await client.call_tool("read_paper", {"paper": "papers/tea.txt"})).structured_content
        assert (len(read["sentences"]), read["next"]) == (4, None), "a file that was changed is read again"
        for paper in ("papers/../secret/diary.txt", "papers/link.txt", "papers/.hidden.txt", "/etc/passwd", "papers/"):
            refused = await client.call_tool("read_paper", {"paper": paper})
            assert refused.is_error
            assert "expected a paper as list_papers names it" in refused.content[0].text
        broken = await client.call_tool("find_evidence", {**call, "paper": "papers-2/broken.pdf"})
        assert broken.is_error
        assert "papers-2/broken.pdf: PDF: damaged" in broken.content[0].text
        assert (await client.call_tool("find_evidence", {**call, "budget": 0})).is_error
        assert (await client.call_tool("find_evidence", {**call, "hypothesis": " "})).is_error

    _asked(ask, "papers", "other/papers")


def test_one_bad_name_hides_no_other_paper_and_a_desk_is_none() -> None:
    for name in ("papers/evidencebench-review/people", "papers-2", "other/papers"):
        Path(name).mkdir(parents=True)
    for name in ("papers/tea.txt", "papers/caf\udce9.txt", "papers-2/coffee.txt", "other/papers/milk.txt"):
        Path(name).write_text(_TEXT)
    Path("papers/evidencebench-review/questions.txt").write_text("Does tea help?\n")
    Path("papers/evidencebench-review/people/ada.jsonl").write_text("{}\n")

    async def ask(client: Any) -> None:
        listed = (await client.call_tool("list_papers")).structured_content
        assert listed["papers"] == ["papers/tea.txt", "papers-2/coffee.txt", "papers-3/milk.txt"]
        for paper in ("papers/evidencebench-review/questions.txt", f"papers/{'x' * 5000}"):
            refused = await client.call_tool("read_paper", {"paper": paper})
            assert refused.is_error
            assert "expected a paper as list_papers names it" in refused.content[0].text
        beyond = await client.call_tool("read_paper", {"paper": "papers/tea.txt", "first": 10**30})
        assert str(Path.cwd()) not in beyond.content[0].text

    _asked(ask, "papers", "papers-2", "other/papers")


def test_papers_are_fetched_only_into_the_folder_that_was_named(command: Command) -> None:
    Path("papers").mkdir()

    async def ask(client: Any) -> None:
        fetched = await client.call_tool("fetch_paper", {"paper_id": "PMC1280405"})
        assert fetched.structured_content["paper"] == "papers/PMC1280405.xml"
        (tool,) = (tool for tool in (await client.list_tools()).tools if tool.name == "fetch_paper")
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (False, True)
        assert (await client.call_tool("read_paper", {"paper": "papers/PMC1280405.xml"})).structured_content["title"]
        unknown = await client.call_tool("fetch_paper", {"paper_id": "PMC9"})
        assert unknown.is_error
        assert "PMC9: not fetched: Europe PMC knows no such paper" in unknown.content[0].text

    with europe_pmc() as service:
        _asked(ask, "papers", "--fetch-to", "papers", "--base-url", base_url(service))
    assert "folders that are served" in command("mcp papers --fetch-to .").refusal


def test_without_the_extra_it_says_what_to_install(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "pip install 'evidencebench[mcp]'" in command("mcp .").refusal
    assert "pip install 'evidencebench[mark]'" in command("find Tea. . --mark copies").refusal


def test_a_scan_another_language_and_a_login_page_are_told_alike_by_find_the_desk_and_an_assistant(
    command: Command,
) -> None:
    pytest.importorskip("starlette", reason="needs the extra 'view'")
    from starlette.testclient import TestClient  # noqa: PLC0415

    folder, sheet = Path("papers"), Sheet()
    folder.mkdir()
    sheet.canvas.rect(72, 72, 400, 600, fill=1)
    (folder / "scan.pdf").write_bytes(sheet.pdf())
    (folder / "german.txt").write_text(f"{_GERMAN}\nEr sank.\n")
    (folder / "login.html").write_text(f"<html><h1>Tea</h1>{'<p>Log in to read the whole of this article.</p>' * 9}")
    told = {"scan.pdf": "scanned: 1 of 1 pages", "german.txt": "reads as German", "login.html": "'Log in to read'"}

    async def ask(client: Any) -> None:
        for name, words in told.items():
            call = {"paper": f"papers/{name}", "hypothesis": QUESTIONS[0]}
            answer = await client.call_tool("find_evidence", call)
            assert words in answer.content[0].text

    _asked(ask, "papers")
    for name, words in told.items():
        found = command(f"find {{{QUESTIONS[0]}}} papers/{name}")
        assert words in " ".join(f"{found.out} {found.err}".split())
    table = filled(folder, questions=QUESTIONS[:1])
    desk = TestClient(
        review_tasks(table.desk, is_blind=False).make_app(Address()), base_url=_URL, headers={"Origin": _URL}
    )
    desk.post("/api/people/session", json={"name": "Ada"}).raise_for_status()
    ada = {"person": "Ada", "list": "review"}
    errors = {paper["name"]: paper["error"] for paper in desk.get("/api/people/queue", params=ada).json()["papers"]}
    for name, words in told.items():
        cell = {**ada, "id": cell_of(table, name)}
        shown = errors[name] or desk.get("/api/people/task", params=cell).json()["task"]["found"]["summary"]
        assert words in shown
