"""People pick over HTTP, and get no label of a paper before they have submitted their answer."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from doors import (
    CONTROLS,
    Address,
    DataError,
    TaskApp,
    TaskError,
    assignments,
    paper_of,
    percent,
    pick_tasks,
    read_run,
    score_runs,
    viewer_data_of,
)
from evidencebench import (
    TASKS,
    Dataset,
    Instance,
    Ranking,
    Rules,
    Task,
    evaluate,
    execute,
    load_sample,
    open_dataset,
    task_named,
    write_dataset,
)

SAMPLE = load_sample()
A, B, C = SAMPLE.ids[:3]
OPTIMAL = TASKS["er_at_optimal"]

Client = Any  # starlette's client, which asks without a server, or that of httpx
Reply = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The app with the pages of people who pick; clients ask it without a server."""

    app: ASGIApp
    pages: TaskApp
    folder: Path
    url: str = "http://127.0.0.1:8642"

    @contextmanager
    def browser(self, name: str | None = None) -> Iterator[Client]:
        """Give a client that keeps cookies, as a browser does; with a name it is signed in."""
        client = TestClient(self.app, self.url, headers={"origin": self.url})
        if name is not None:
            assert client.post("/api/people/session", json={"name": name}).status_code == 200
        yield client
        client.close()


Serve = Callable[..., AbstractContextManager[Asked]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Give a function that makes the app during a block."""

    @contextmanager
    def serving(
        dataset: Dataset = SAMPLE,
        *,
        task: Task = OPTIMAL,
        limit: int | None = None,
        runs: Sequence[Path] = (),
        folder: Path = tmp_path / "people",
    ) -> Iterator[Asked]:
        viewed = viewer_data_of(runs, dataset, (task,))
        pages = pick_tasks(viewed, folder, task, limit=limit)
        with closing(pages):
            yield Asked(app=pages.make_app(Address()), pages=pages, folder=folder)

    return serving


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Give the folder of their files."""
    return tmp_path / "people"


@pytest.fixture
def ada(serve: Serve) -> Iterator[Client]:
    """Give a client in which Ada is signed in."""
    with serve() as asked, asked.browser("Ada") as client:
        yield client


def paper(client: Client, name: str, instance_id: str) -> Reply:
    return client.get("/api/people/task", params=asked_of(name, instance_id))


def asked_of(name: str, instance_id: str) -> dict[str, str]:
    return {"person": name, "list": "tasks", "id": instance_id}


def result(client: Client, name: str, instance_id: str) -> Reply:
    return client.get("/api/people/result", params=asked_of(name, instance_id))


def save(client: Client, body: dict[str, Any]) -> Reply:
    return client.put("/api/people/answer", json=body)


def picks(name: str, instance_id: str, sentences: Sequence[int], revision: int = 0, tab: str = "one") -> dict[str, Any]:
    picked = {"sentences": list(sentences), "reached": 0, "seconds": 0, "revision": revision + 1, "tab": tab}
    return {"person": name, "list": "tasks", "answer": {"answer": "ranking", "id": instance_id, **picked}}


def changed(body: dict[str, Any], **change: Any) -> dict[str, Any]:
    """Return the body of a request with another answer."""
    return {**body, "answer": {**body["answer"], **change}}


def submit(client: Client, name: str, instance_id: str, sentences: Sequence[int]) -> Reply:
    """Open a paper and submit picks, as the page does."""
    paper(client, name, instance_id)
    return client.post("/api/people/submit", json=picks(name, instance_id, sentences))


def queue(client: Client, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = listed(client, name)["rows"]
    return rows


def listed(client: Client, name: str) -> Any:
    return client.get("/api/people/queue", params={"person": name, "list": "tasks"}).json()


def keys_of(value: Any) -> set[str]:
    """Return every key of a JSON value, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def told_before_submission(client: Client, name: str, dataset: Dataset) -> list[Reply]:
    """Return all responses to a person who sends requests of every kind, but submits nothing."""
    replies = [client.get(path) for path in ("/", "/static/app.js", "/static/app.css", "/favicon.ico", "/nothing")]
    replies += [client.get(f"/api/{path}") for path in ("overview", "rows", "instances", "people/session", "people/x")]
    replies += [
        client.get("/api/rows", params={"q": "risk"}),
        client.get("/api/papers.csv"),
        client.get("/api/page_parts"),
    ]
    replies.append(client.get("/api/exchanges", params={"id": dataset.ids[0], "system": 0, "task": 0}))
    replies.append(client.get("/api/people/queue", params={"person": name, "list": "tasks"}))
    for position, instance in enumerate(dataset):
        named = asked_of(name, instance.id)
        replies += [client.get("/api/instances", params=one) for one in ({"id": instance.id}, {"position": position})]
        replies += [client.get(f"/api/people/{page}", params=named) for page in ("result", "task", "submit", "answer")]
        for wrong in ([-1], [10**6], [0, 0], list(range(50)), ["0"], [0.5], None):
            body = changed(picks(name, instance.id, []), sentences=wrong)
            replies += [save(client, body), client.post("/api/people/submit", json=body)]
        replies.append(save(client, picks(name, instance.id, [0])))
        replies.append(result(client, name, instance.id))
    return replies


# The only keys that responses may have: the person, the task, the paper, the budget, and the picks.
SPEAKABLE = {
    *("person", "is_new", "sort", "title", "task", "scope", "n_tasks", "error"),
    *("rows", "last", "position", "id", "hypothesis", "text", "facts", "status", "words", "recall"),
    *("answer", "paper_id", "sentences", "reached", "kinds", "budget", "seconds", "revision"),
}


@pytest.mark.parametrize("task", ["er_at_optimal", "result_er_at_optimal", "er_at_10"])
def test_nothing_of_the_labels_is_in_any_byte_before_submission(task: str, serve: Serve, tmp_path: Path) -> None:
    run = tmp_path / "bm25.jsonl"
    execute("bm25", SAMPLE, run)
    with serve(task=task_named(task), runs=[run]) as asked, asked.browser("Ada") as client:
        replies = told_before_submission(client, "Ada", SAMPLE)
    content = b"\n".join(reply.content + str(reply.headers).encode() for reply in replies).decode()
    for instance in SAMPLE:
        for aspect in instance.labels.aspects:
            assert aspect not in content
            assert instance.labels.texts.get(aspect, "no text") not in content
    for reply in replies:
        if reply.headers.get("content-type") == "application/json":
            assert keys_of(reply.json()) <= SPEAKABLE, reply.url
    for page in ("overview", "rows", "instances", "exchanges", "papers.csv", "page_parts"):  # the viewer's
        assert {reply.status_code for reply in replies if f"/api/{page}" in str(reply.url)} == {404}
    assert {reply.status_code for reply in replies if "/api/people/result" in str(reply.url)} == {403}
    assert not any(
        row["recall"] for reply in replies if "/api/people/queue" in str(reply.url) for row in reply.json()["rows"]
    )
    assert [read_run(path).ids for path in asked.folder.glob("*.jsonl")] == [frozenset()]


def with_other_labels(instance: Instance, random: Random) -> Instance:
    """Return an instance of the same paper with other aspects, of another number, at other sentences."""
    n_sentences = len(instance.query.sentences)
    aspects = tuple(f"other_{random.random()}" for _ in range(random.randint(1, 12)))
    labels = replace(
        instance.labels,
        aspects=aspects,
        results=aspects[: random.randint(0, len(aspects))],
        sources={aspect: (random.randrange(n_sentences),) for aspect in aspects},
        texts={aspect: f"text of {aspect}" for aspect in aspects},
        evaluations={},
    )
    return replace(instance, labels=labels, origin=None)


@pytest.mark.parametrize("seed", range(3))
def test_with_a_fixed_budget_what_a_person_is_told_is_the_same_bytes_whatever_the_labels_are(
    seed: int, serve: Serve, tmp_path: Path
) -> None:
    at_10, told = task_named("er_at_10"), []
    for number, random in enumerate((Random(seed), Random(seed + 1000))):
        path = tmp_path / str(number) / "data.json"
        path.parent.mkdir()
        write_dataset(path, [with_other_labels(instance, random) for instance in SAMPLE[:4]])
        dataset = open_dataset(path)
        with serve(dataset, task=at_10, folder=tmp_path / f"people {number}") as asked, asked.browser("Ada") as client:
            replies = told_before_submission(client, "Ada", dataset)
        told.append([(reply.status_code, reply.content) for reply in replies])
    assert told[0] == told[1]


def test_before_signing_in_a_page_says_what_is_asked_and_of_how_many_papers(serve: Serve) -> None:
    with serve(limit=3) as asked, asked.browser() as client:
        expected = {
            "person": None,
            "sort": "picks",
            "title": "sample.json",
            "task": "er_at_optimal",
            "scope": "all",
            "n_tasks": 3,
        }
        assert client.get("/api/people/session").json() == expected
        assert client.get("/api/people/queue", params={"person": "Ada", "list": "tasks"}).status_code == 401
        assert paper(client, "Ada", A).status_code == 401
        assert submit(client, "Ada", A, [0]).status_code == 401
    assert list(asked.folder.iterdir()) == []


def test_a_person_is_shown_what_a_system_is_given_and_no_more(ada: Client) -> None:
    found = paper(ada, "Ada", A).json()
    given = msgspec.to_builtins(paper_of(0, SAMPLE[A].query))
    assert found["task"] == json.loads(json.dumps(given)) | {"budget": OPTIMAL.ranking_task(SAMPLE[A]).budget}
    assert found["person"] == "Ada"
    assert found["answer"] == {"sentences": [], "reached": 0, "seconds": 0, "revision": 0}


def test_the_queue_is_the_first_instances_that_the_task_applies_to_in_file_order(serve: Serve) -> None:
    task = TASKS["result_er_at_optimal"]
    with serve(task=task, limit=6) as asked, asked.browser("Ada") as client:
        rows = queue(client, "Ada")
        left_out = next(one.id for one in SAMPLE if one.id not in {row["id"] for row in rows})
        assert paper(client, "Ada", left_out).status_code == 404
    assert [row["id"] for row in rows] == [one.id for one in SAMPLE[:6] if task.applies_to(one.labels)]


def test_the_way_from_the_first_pick_to_the_score(serve: Serve, tmp_path: Path) -> None:
    run = tmp_path / "bm25.jsonl"
    execute("bm25", SAMPLE, run)
    oracle = SAMPLE[A].labels.evaluations["er_at_optimal"].sentences
    with serve(runs=[run]) as asked, asked.browser("Ada") as client:
        assert paper(client, "Ada", A).json()["answer"]["sentences"] == []
        saved = save(client, picks("Ada", A, oracle[:2]))
        expected = {"sentences": list(oracle[:2]), "reached": 0, "seconds": 0, "revision": 1}
        assert saved.json() == {"answer": expected}
        assert [row["status"] for row in queue(client, "Ada")[:2]] == ["draft", "open"]
        assert queue(client, "Ada")[0]["words"] == "2 selected, not submitted"
        assert result(client, "Ada", A).status_code == 403
        submitted = submit(client, "Ada", A, oracle)
        assert submitted.status_code == 200
        overview, record = submitted.json()["overview"], submitted.json()["record"]
        assert [system["label"] for system in overview["systems"]][:2] == ["Ada (you)", "bm25"]
        assert len(record["answers"]) == len(overview["systems"])
        assert (record["answers"][0][0]["recall"], record["answers"][0][0]["certain"]) == (1.0, list(oracle))
        assert [aspect["id"] for aspect in record["aspects"]] == list(SAMPLE[A].labels.aspects)
        again = result(client, "Ada", A)
        assert again.json() == submitted.json()
        assert result(client, "Ada", B).status_code == 403
        assert (queue(client, "Ada")[0]["status"], queue(client, "Ada")[0]["words"]) == ("done", "submitted")
    (path,) = asked.folder.glob("*.jsonl")
    assert read_run(path).answer(A, "er_at_optimal") == Ranking(sentences=oracle, ordered=False)
    scores = score_runs([path], SAMPLE, (), rules=Rules(), limit=1).scores["person(name=Ada)"]["er_at_optimal"]
    assert scores.scores["aspect_recall"].tolist() == [1.0]


def recalls(client: Client, name: str) -> dict[str, float]:
    """Return the recalls that the queue tells, by instance id."""
    return {row["id"]: row["recall"] for row in queue(client, name) if row["recall"] is not None}


def test_a_persons_scores_are_those_of_the_library_over_exactly_what_was_submitted(
    serve: Serve, tmp_path: Path
) -> None:
    run = tmp_path / "bm25.jsonl"
    execute("bm25", SAMPLE, run, limit=2)  # it lacks the third
    submitted = {A: [1, 2], C: [3], B: []}
    with serve(runs=[run]) as asked, asked.browser("Ada") as client, asked.browser("Bob") as other:
        for instance_id, sentences in submitted.items():
            paper(client, "Ada", instance_id)
            submit(client, "Ada", instance_id, sentences)
        paper(client, "Ada", SAMPLE.ids[3])
        save(client, picks("Ada", SAMPLE.ids[3], [1, 2, 3]))
        submit(other, "Bob", SAMPLE.ids[4], [1])
        found = listed(client, "Ada")["scores"]
        told = recalls(client, "Ada")
        assert list(recalls(other, "Bob")) == [SAMPLE.ids[4]]
    papers = [SAMPLE[one] for one in submitted]
    sources: dict[str, Any] = {
        "You": submitted,
        "bm25": read_run(run),
        "lead": CONTROLS["lead"].named,
        "oracle": CONTROLS["oracle"].named,
    }
    expected = {name: scored["er_at_optimal"] for name, scored in evaluate(sources, papers, OPTIMAL).items()}
    assert told == dict(zip(submitted, expected["You"].recalls.tolist(), strict=True))
    shown = {one["label"].partition(" ")[0]: one for one in found["means"]}
    for name, column in expected.items():
        mean = column.estimate()
        assert (shown[name]["mean"], shown[name]["low"], shown[name]["high"]) == (mean.mean, mean.low, mean.high), name
        assert shown[name]["text"] == percent(mean)
    assert {one["label"] for one in found["means"]} == {
        *("You", "bm25 (lacks 1 answer: 0)", "lead *", "abstract_backwards *", "oracle *")
    }
    said = [f"{name} {100 * expected[name].mean_recall:.1f}" for name in ("You", "bm25")]
    assert found["summary"] == f"{', '.join(said)} on your 3 papers."


def test_the_paper_that_was_left_last_and_the_place_in_it_are_kept(serve: Serve) -> None:
    with serve() as asked, asked.browser("Ada") as client:
        assert listed(client, "Ada")["last"] is None
        for instance_id, reached in ((A, 5), (B, 7), (A, 9), (C, 10**6)):
            paper(client, "Ada", instance_id)
            body = changed(picks("Ada", instance_id, []), reached=reached)
            assert save(client, body).status_code == 200
        assert listed(client, "Ada")["last"] == C
        assert submit(client, "Ada", C, [1]).status_code == 200
        assert listed(client, "Ada")["last"] == A
    with serve() as again, again.browser("Ada") as client:
        assert listed(client, "Ada")["last"] == A
        assert [paper(client, "Ada", one).json()["answer"]["reached"] for one in (A, B)] == [9, 7]
        assert [row["status"] for row in queue(client, "Ada")[2:4]] == ["done", "open"]
        assert result(client, "Ada", C).status_code == 200
        assert client.post("/api/people/session", json={"name": "Ada"}).json() == {"person": "Ada", "is_new": False}


def test_a_submission_is_final(ada: Client, people: Path) -> None:
    assert submit(ada, "Ada", A, [1]).status_code == 200
    for refused in (submit(ada, "Ada", A, [2]), save(ada, picks("Ada", A, [2])), paper(ada, "Ada", A)):
        assert refused.status_code == 409
        assert refused.json() == {"error": f"{A}: already submitted, and a submission is final", "is_final": True}
    (path,) = people.glob("*.jsonl")
    assert read_run(path).answer(A, "er_at_optimal") == Ranking(sentences=(1,), ordered=False)


def test_of_submissions_at_once_one_counts(serve: Serve) -> None:
    with serve() as asked, asked.browser("Ada") as client, ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda index: submit(client, "Ada", A, [index]), range(32)))
        statuses = sorted(reply.status_code for reply in replies)
        assert statuses == [200] + [409] * 31
        counted = next(index for index, reply in enumerate(replies) if reply.status_code == 200)
    (path,) = asked.folder.glob("*.jsonl")
    assert read_run(path).answer(A, "er_at_optimal") == Ranking(sentences=(counted,), ordered=False)


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"sentences": [66]}, 400, "sentence 66: the paper has sentences 0..65"),
        ({"sentences": [3, 3]}, 400, "picked twice"),
        ({"sentences": list(range(7))}, 400, "7 sentences picked, but at most 6 count; remove some"),
        ({"sentences": [10**30]}, 400, "the paper has sentences 0..65"),
        ({"sentences": [True]}, 400, "not what the page sends"),
        ({"sentences": None}, 400, "not what the page sends"),
        ({"reached": -1}, 400, "not what the page sends"),
        ({"seconds": -1}, 400, "not what the page sends"),
        ({"revision": -1}, 400, "revision`; load the page again"),
        ({"tab": "x" * 65}, 400, "not what the page sends"),
        ({"answer": "marks"}, 400, "not what the page sends"),
        ({"id": "nothing"}, 404, "no such task in this list"),
    ],
)
def test_what_the_page_would_not_send_is_refused_in_words(
    change: dict[str, Any], status: int, words: str, ada: Client
) -> None:
    body = changed(picks("Ada", A, [1]), **change)
    for refused in (save(ada, body), ada.post("/api/people/submit", json=body)):
        assert refused.status_code == status, refused.text
        assert words in refused.json()["error"]
    assert queue(ada, "Ada")[0]["status"] == "open"


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"\xff", b'{"name":1}', b'{"nam":"Ada"}', b'{"name":"\\ud800"}', b"[" * 5000]
)
def test_a_body_that_is_no_name_is_refused(body: bytes, serve: Serve) -> None:
    with serve() as asked, asked.browser() as client:
        refused = client.post("/api/people/session", content=body, headers={"content-type": "application/json"})
        assert refused.status_code == 400
        assert set(refused.json()) == {"error"}


@pytest.mark.parametrize("name", ["", "   ", "a" * 81, "a" * 2000, "Ada\x00", "A\u202eda"])
def test_a_name_that_nobody_can_have_is_refused(name: str, serve: Serve) -> None:
    with serve() as asked, asked.browser() as client:
        assert client.post("/api/people/session", json={"name": name}).status_code == 400
        assert client.get("/api/people/session").json()["person"] is None


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites_and_ends_with_signing_out(serve: Serve) -> None:
    with serve() as asked, asked.browser() as client:
        cookie = client.post("/api/people/session", json={"name": "Ada"}).headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict", "Path=/api"} <= {part.strip() for part in cookie.split(";")}
        client.post("/api/people/session", json={"name": "Bob"})
        assert client.get("/api/people/session").json()["person"] == "Bob"
        assert client.delete("/api/people/session").status_code == 200
        assert client.get("/api/people/session").json()["person"] is None
        assert client.get("/api/people/queue", params={"person": "Bob"}).status_code == 401


def test_what_one_has_submitted_is_not_shown_to_another(serve: Serve) -> None:
    with serve() as asked, asked.browser("Ada") as ada, asked.browser("Bob") as bob:
        submit(ada, "Ada", A, [1])
        assert result(bob, "Bob", A).status_code == 403
        assert result(bob, "Ada", A).status_code == 401
        assert paper(bob, "Bob", A).json()["answer"]["sentences"] == []
        assert submit(bob, "Bob", A, [2]).status_code == 200
    assert {read_run(path).answer(A, "er_at_optimal") for path in asked.folder.glob("*.jsonl")} == {
        Ranking(sentences=(1,), ordered=False),
        Ranking(sentences=(2,), ordered=False),
    }


def test_a_tab_never_writes_for_whoever_signed_in_in_another_one(ada: Client, people: Path) -> None:
    ada.post("/api/people/session", json={"name": "Bob"})
    assert submit(ada, "Ada", A, [1]).status_code == 401
    assert paper(ada, "Ada", A).status_code == 401
    assert submit(ada, "Bob", A, [2]).status_code == 200
    assert [path.name.split("-")[0] for path in people.glob("*.jsonl")] == ["bob"]


def test_of_two_tabs_neither_replaces_what_it_has_not_seen_until_one_submits(serve: Serve) -> None:
    with serve() as asked, asked.browser("Ada") as one, asked.browser("Ada") as other:
        assert save(one, picks("Ada", A, [1], tab="one")).json()["answer"]["revision"] == 1
        for refused in (
            save(other, picks("Ada", A, [2], tab="other")),
            other.post("/api/people/submit", json=picks("Ada", A, [2], tab="other")),
        ):
            assert refused.status_code == 409
            theirs = refused.json()["answer"]
            assert (theirs["sentences"], theirs["revision"]) == ([1], 1)
            assert "in another tab" in refused.json()["error"]
        assert save(other, picks("Ada", A, [1, 2], 1, tab="other")).status_code == 200
        assert paper(one, "Ada", A).json()["answer"]["sentences"] == [1, 2]
        assert one.post("/api/people/submit", json=picks("Ada", A, [1, 2], 2, tab="one")).status_code == 200
        late = save(other, picks("Ada", A, [3], 2, tab="other"))
        assert (late.status_code, late.json()["is_final"]) == (409, True)


def test_people_need_a_budget_and_a_paper(tmp_path: Path) -> None:
    free = TASKS["result_er_unconstrained"]
    with pytest.raises(TaskError, match="has no budget, and people are told how many to pick"):
        pick_tasks(viewer_data_of((), SAMPLE, (free,)), tmp_path, free)
    without = [replace(one, labels=replace(one.labels, results=(), evaluations={}), origin=None) for one in SAMPLE[:2]]
    write_dataset(tmp_path / "data.json", without)
    results, dataset = TASKS["result_er_at_5"], open_dataset(tmp_path / "data.json")
    with pytest.raises(TaskError, match="applies to none of the instances"):
        pick_tasks(viewer_data_of((), dataset, (results,)), tmp_path, results)


def test_data_and_folders_whose_names_are_no_text_are_picked_in_like_any_other(serve: Serve, tmp_path: Path) -> None:
    write_dataset(tmp_path / "d\udcff.json", SAMPLE[:2])
    folder = tmp_path / "p\udcff"
    with serve(open_dataset(tmp_path / "d\udcff.json"), folder=folder) as asked, asked.browser("Ada") as client:
        assert submit(client, "Ada", A, [1]).status_code == 200
    (path,) = folder.glob("*.jsonl")
    assert read_run(path).ids == {A}


@pytest.mark.parametrize(("letter", "n_bytes"), [("x", 1), ("é", 6), ("\n", 3)])
def test_an_id_that_is_too_long_to_be_asked_for_is_refused_before_anybody_picks(
    letter: str, n_bytes: int, serve: Serve, tmp_path: Path
) -> None:
    longest = letter * (6000 // n_bytes)
    for number, instance_id in enumerate((longest, longest + letter)):
        query = replace(SAMPLE[0].query, instance_id=instance_id)
        write_dataset(tmp_path / f"{number}.json", [replace(SAMPLE[0], query=query, origin=None)])
    with serve(open_dataset(tmp_path / "0.json")) as asked, asked.browser("é" * 80) as client:
        assert paper(client, "é" * 80, longest).json()["task"]["id"] == longest
    viewed = viewer_data_of((), open_dataset(tmp_path / "1.json"), (OPTIMAL,))
    with pytest.raises(DataError, match=r"1\.json: instance 0: its id takes 600\d bytes .* at most 6000; give it"):
        pick_tasks(viewed, tmp_path, OPTIMAL)


@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}, {}])
def test_only_pages_of_the_app_sign_in_or_submit(headers: dict[str, str], serve: Serve) -> None:
    with serve() as asked, closing(TestClient(asked.app, asked.url)) as client:
        for method, path in (("POST", "session"), ("DELETE", "session"), ("PUT", "answer"), ("POST", "submit")):
            body = {} if method == "DELETE" else {"json": {"name": "Ada"}}
            refused = client.request(method, f"/api/people/{path}", headers=headers, **body)  # type: ignore[arg-type]
            assert refused.status_code == 403
    assert list(asked.folder.iterdir()) == []


def test_damaged_data_is_not_described_to_a_person(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Any:
        raise TaskError(f"{A}: aspect 'secret' points at sentence 4")

    with serve() as asked, asked.browser("Ada") as client:
        monkeypatch.setattr(assignments, "paper_of", broken)
        refused = paper(client, "Ada", A)
    assert refused.status_code == 500
    assert "secret" not in refused.text


def test_a_paper_that_was_never_opened_cannot_be_submitted(ada: Client) -> None:
    looked = ada.head("/api/people/task", params=asked_of("Ada", A))
    assert looked.status_code == 405
    refused = ada.post("/api/people/submit", json=picks("Ada", A, [1]))
    assert refused.status_code == 409
    assert "submitted without having been opened" in refused.json()["error"]
    assert submit(ada, "Ada", A, [1]).status_code == 200


def test_papers_that_allow_no_pick_are_not_offered(serve: Serve, tmp_path: Path) -> None:
    first, second, third = SAMPLE[:3]
    without_sources = replace(first, labels=replace(first.labels, sources={}, evaluations={}), origin=None)
    evaluations = {"er_at_optimal": msgspec.structs.replace(second.labels.evaluations["er_at_optimal"], optimal=0)}
    told_so = replace(second, labels=replace(second.labels, evaluations=evaluations), origin=None)
    write_dataset(tmp_path / "data.json", [without_sources, told_so, third])
    dataset = open_dataset(tmp_path / "data.json")
    with serve(dataset) as asked, asked.browser("Ada") as client:
        assert [row["id"] for row in queue(client, "Ada")] == [third.id]
    with serve(dataset, task=task_named("er_at_10")) as asked, asked.browser("Ada") as client:
        assert len(queue(client, "Ada")) == 3


def test_a_person_stays_signed_in_when_the_app_is_started_again(serve: Serve) -> None:
    name = 'Ada Ñ, of "x"; y'
    with serve() as asked, asked.browser(name) as client:
        kept = dict(client.cookies)
    with serve() as again, again.browser() as client:
        client.cookies.update(kept)
        assert client.get("/api/people/session").json()["person"] == name
        client.cookies.update(dict.fromkeys(kept, "Ada%0AB"))
        assert client.get("/api/people/session").status_code == 400


def test_people_are_told_when_the_data_has_changed(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    write_dataset(path, SAMPLE[:2])
    with serve(open_dataset(path)) as asked, asked.browser("Ada") as client:
        os.truncate(path, 0)
        refused = paper(client, "Ada", A)
        assert (refused.status_code, refused.json()["error"]) == (
            503,
            "the data file has changed since the app was started; start it again",
        )
