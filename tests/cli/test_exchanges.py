"""What a model was asked, and what it replied, can be read: before it is paid for, and afterwards."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from doors import ChatRequest, sample_path
from kit.command_line import KEY, SAMPLE, Command
from kit.fake_models import RunningServer, running_fake_server
from kit.stored_replies import stored_replies

ID = SAMPLE.ids[0]


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with running_fake_server(SAMPLE, behaviour="over_length") as running:
        yield running


def test_a_prompt_is_printed_before_it_is_paid_for_and_needs_no_key(command: Command) -> None:
    arguments = "run llm_base:model=openai/gpt-4o-mini --data sample --show-prompt"
    shown = command(f"{arguments} -t er_at_10")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"=== {ID}, er_at_10, request 1: openai/gpt-4o-mini\nkey ")
    assert "\n--- user\n" in shown.out
    assert SAMPLE[0].query.hypothesis in shown.out
    assert f"[0] {SAMPLE[0].query.sentences[0]}\n" in shown.out
    assert not Path("cache").exists()
    (one,) = command(f"{arguments} --json").json
    assert (one["instance"], one["task"], one["reply"]) == (ID, "er_at_optimal", None)
    several = arguments.replace("llm_base", "llm_sections").replace(" --data", ",section_tokens=300 --data")
    assert [one["turn"] for one in command(f"{several} --json").json[:3]] == [1, 2, 3]
    refusal = command("run bm25 --data sample --show-prompt").refusal
    assert "--show-prompt is for" in refusal


def test_the_prompt_that_is_shown_is_the_one_that_is_sent(server: RunningServer, command: Command) -> None:
    for control in ("own", "two_papers"):
        changed = "" if control == "own" else f"--control {control}"
        arguments = f"run {server.spec()} --data sample --limit 1 -t er_at_10 {changed}"
        (shown,) = command(f"{arguments} --show-prompt --json").json
        command(f"{arguments} -o {control}.jsonl")
        sent = [msgspec.json.decode(request, type=ChatRequest).key for request, _ in stored_replies(Path("cache"))]
        assert shown["key"] in sent


def test_prompts_and_replies_of_an_instance_are_shown_with_all_turns(server: RunningServer, command: Command) -> None:
    command(f"run {server.spec()} --data sample -t er_at_10 -t result_er_at_5 -o run.jsonl")
    n_sent = server.totals()["requests"]
    shown = command(f"llm show run.jsonl {ID} --task er_at_10")
    assert (shown.code, shown.err) == (0, "")
    assert [line for line in shown.out.splitlines() if line.startswith("===")] == [
        f"=== {ID}, er_at_10, request {turn}: local/fake" for turn in (1, 2)
    ]
    assert "--- reply (stop; " in shown.out
    assert re.search(r" tokens; price unknown; [\d.]+ s\)\n", shown.out)
    assert "answer, er_at_10: replies: " in shown.out
    assert "read by: answer line" in shown.out
    every = command(f"llm show run.jsonl {ID} --json").json
    assert {one["task"] for one in every} == {"er_at_10", "result_er_at_5"}
    first, second = (one for one in every if one["task"] == "er_at_10")
    assert second["request"]["messages"][1] == {"role": "assistant", "text": first["reply"]["text"].strip()}
    assert server.totals()["requests"] == n_sent


@pytest.mark.parametrize(
    "form",
    [
        "llm_icl:{chat},examples=examples.json,n=1",
        "llm_sections:{chat},section_tokens=300",
        "llm_rank:{chat},method=listwise",
        "llm_vote:systems=[llm_base:{chat}],samples=3",
        "llm_rerank:system=cues,top=5,{chat}",
        "diverse:system=[llm_rank:{chat}]",
    ],
)
def test_the_requests_of_every_strategy_are_made_again_as_they_were(form: str, command: Command) -> None:
    last = SAMPLE.ids[-1]
    Path("last.json").write_text(json.dumps({last: json.loads(sample_path().read_bytes())[last]}))
    assert command("llm examples --data last.json -n 1 -o examples.json").code == 0
    with running_fake_server(SAMPLE, behaviour="oracle") as server:
        system = form.format(chat=f"model=local/fake,base_url={server.base_url}")
        ran = command(f"run {system} --data sample -t er_at_10 -o run.jsonl --limit 2")
        n_sent = server.totals()["requests"]
    assert ran.code == 0, ran.err
    shown = [command(f"llm show run.jsonl {name} --json").json for name in SAMPLE.ids[:2]]
    assert sum(map(len, shown)) == n_sent
    assert all(one["reply"] is not None for of_instance in shown for one in of_instance)


def test_a_report_holds_what_was_asked_and_replied_if_that_is_wanted(server: RunningServer, command: Command) -> None:
    command(f"run {server.spec()} --data sample -t er_at_10 -o run.jsonl")
    report = "report run.jsonl --data sample --set draws=10 --overwrite -o report.html"
    assert command(report).code == 0
    assert 'class="exchanges"' not in Path("report.html").read_text()
    assert command(f"{report} --exchanges").code == 0
    page = Path("report.html").read_text()
    assert page.count('<script type="text/plain" class="exchanges"') == len(SAMPLE)
    assert " --exchanges --set draws=10" in page
    assert KEY not in page
    assert "--no-papers leaves out" in command(f"{report} --exchanges --no-papers").refusal
    shutil.rmtree("cache")
    assert "no reply" in command(f"{report} --exchanges").refusal
    assert not Path("cache").exists()


def test_a_reply_that_is_not_stored_is_told_with_what_may_be_the_cause(server: RunningServer, command: Command) -> None:
    command(f"run {server.spec()} --data sample -t er_at_10 -o run.jsonl --limit 1")
    command("cache prune --replies --yes")
    gone = command(f"llm show run.jsonl {ID}")
    assert gone.code == 2
    assert gone.out.startswith(f"=== {ID}, er_at_10, request 1")
    assert "the reply to 1 request above" in gone.err
    assert "is in another EVIDENCEBENCH_CACHE" in gone.err
    head, *rest = Path("run.jsonl").read_text().splitlines(keepends=True)
    header = json.loads(head)
    (prompt,) = (name for name in header["run"]["versions"] if name.startswith("prompt") and "base" in name)
    header["run"]["versions"][prompt] = "sha256:0"
    Path("old.jsonl").write_text("".join([json.dumps(header, separators=(",", ":")) + "\n", *rest]))
    old = command(f"llm show old.jsonl {ID}")
    assert f"({prompt} was sha256:0, now " in old.err


def test_data_that_has_moved_or_changed_is_told(server: RunningServer, command: Command) -> None:
    shutil.copy(sample_path(), "data.json")
    command(f"run {server.spec()} --data data.json -t er_at_10 -o run.jsonl --limit 1")
    Path("data.json").rename("moved.json")
    moved = command(f"llm show run.jsonl {ID}")
    assert moved.code == 2
    assert re.match(r"error: run\.jsonl: .*data\.json.*--data\n", moved.err)
    assert command(f"llm show run.jsonl {ID} --data moved.json").code == 0
    Path("other.json").write_text(json.dumps({ID: json.loads(Path("moved.json").read_bytes())[ID]}))
    refusal = command(f"llm show run.jsonl {ID} --data other.json").refusal
    assert "give its own data with --data" in refusal


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (f"lead.jsonl {ID}", "'lead' asks no language model"),
        (f"answers.json {ID}", "answers.json"),
        ("run.jsonl nobody", "nobody"),
        (f"run.jsonl {ID} --task er_at_optimal", "er_at_10, got 'er_at_optimal'"),
    ],
)
def test_what_cannot_be_shown_is_refused(arguments: str, message: str, server: RunningServer, command: Command) -> None:
    command(f"run {server.spec()} --data sample -t er_at_10 -o run.jsonl --limit 1")
    command("run lead --data sample -o lead.jsonl")
    Path("answers.json").write_text(json.dumps({ID: [1]}))
    assert message in command(f"llm show {arguments}").refusal


def test_a_hostile_reply_can_do_nothing_to_the_terminal(server: RunningServer, command: Command) -> None:
    records = json.loads(sample_path().read_bytes())
    records[ID]["paper_as_candidate_pool"][0] = "Tea \x1b[2J is \u202e good."
    Path("hostile.json").write_text(json.dumps(records))
    shown = command(f"run {server.spec()} --data hostile.json --show-prompt")
    assert "Tea" in shown.out
    assert "\x1b" not in shown.out
    assert "\u202e" not in shown.out


def test_what_a_run_with_hypotheses_of_a_file_asked_needs_that_file(server: RunningServer, command: Command) -> None:
    Path("other.json").write_text(json.dumps(dict.fromkeys(SAMPLE.ids, "Milk is white.")))
    made = command(f"run {server.spec()} --data sample -t er_at_10 -o run.jsonl --control negated=other.json")
    assert made.code == 0, made.err
    shown = command(f"llm show run.jsonl {ID} --json")
    assert "Hypothesis: Milk is white." in shown.json[0]["request"]["messages"][0]["text"]
    Path("other.json").write_text(json.dumps(dict.fromkeys(SAMPLE.ids, "Milk is black.")))
    assert "other.json: has changed" in command(f"llm show run.jsonl {ID}").refusal
    Path("other.json").unlink()
    assert "other.json: no such file" in command(f"llm show run.jsonl {ID}").err


def test_epochs_are_asked_shown_and_scored(server: RunningServer, command: Command) -> None:
    run = command(f"run {server.spec()} --data sample -t er_at_10 --epochs 2 -o epochs.jsonl")
    assert f"{len(SAMPLE)} instances in 2 epochs, {2 * len(SAMPLE)} in all; 0 answers failed" in run.out
    estimate = command(f"run {server.spec()} --data sample -t er_at_10 --epochs 3 --estimate --json").json
    assert estimate["models"][0]["requests"] == len(SAMPLE)  # those of the third epoch; the others are stored
    first, second = (command(f"llm show epochs.jsonl {ID} --epoch {n} --json").json for n in (1, 2))
    assert [one["request"]["seed"] for one in (first[0], second[0])] == [0, 1_000_000]
    assert all(one["reply"] for one in (*first, *second))
    assert "epochs of epochs.jsonl, got 3" in command(f"llm show epochs.jsonl {ID} --epoch 3").refusal
    options = "--data sample --set draws=300"
    scored = command(f"score epochs.jsonl {options} --json").json["er_at_10"]["epochs"]
    assert (len(scored["means"]), scored["deviation"]) == (2, 0.0)
    assert "± per instance" in command(f"score epochs.jsonl {options}").out
    assert "± of epochs" in command(f"leaderboard epochs.jsonl {options}").out
    assert "± 0.0" in command(f"leaderboard --table epochs.jsonl {options} --uncertainty epochs").out
