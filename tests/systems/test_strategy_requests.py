"""What strategies ask stays as it was, byte for byte: the digest of a request is the key of its reply in the cache."""

import hashlib
from importlib.resources import files
from pathlib import Path

import pytest

from doors import ChatRequest, ReplyError, draw_examples, versions_of, write_examples
from evidencebench import RankingTask, load_sample, make_system
from kit.scripted_models import ScriptedSender, budget_in, client_of, shown_in

SAMPLE = load_sample()
MODEL = "model=local/fake,base_url=http://127.0.0.1:9/v1"
DIGESTS = {
    "llm_base:temperature=0.5": "9662f568aa2ab8ca",
    "llm_base:structured=true": "421190b908692ae3",
    "llm_base:context_tokens=9000,max_tokens=2000": "e37f56f376bc15a8",
    "llm_icl:examples=examples.json,n=1": "bae8916efbd604eb",
    "llm_sections:section_tokens=300,min_section_tokens=50,overlap=1": "733c4d0ea3606d10",
    "llm_sections:structured=true": "6bcf0fd521d6c5e3",
    "llm_rank:section_tokens=400": "33e6cc4bb770fdcf",
    "llm_rank:structured=true": "1c481631ea6e87b4",
    "llm_rank:method=listwise": "f968ea9bb7a26485",
    "llm_rerank:system=bm25,top=9,neighbours=1": "523ba8b73f80c868",
    f"llm_vote:systems=[llm_base:{MODEL}+llm_sections:{MODEL}],samples=2": "891c99352df015a7",
}
"""Specification -> the beginning of the SHA-256 of the keys of all its requests, as commit 201c5db made them."""
RANKING_TASKS = (RankingTask(budget=3), RankingTask(budget=2, scope="results"), RankingTask(budget=None))


def answer(request: ChatRequest) -> str:
    """Say nothing first, then name or score too much, then what fits."""
    turn, shown, text = len(request.messages) // 2, list(shown_in(request)), request.messages[0].text
    if turn == 0:
        return "Well."
    if "score every sentence" in text:
        return "SCORES:\n" + "\n".join(f"{index}: {index % 10}" for index in shown)
    return f"ANSWER: {shown if turn == 1 else shown[: budget_in(request)]}"


def digest_of_requests(spec: str) -> str:
    sender = ScriptedSender(answer)
    client = client_of(sender)
    system = make_system(spec, seed=5, client=client)
    try:
        for instance_id in SAMPLE.ids[:3]:
            for task in RANKING_TASKS if system.selects else RANKING_TASKS[:2]:
                try:
                    system.rank(SAMPLE[instance_id].query, task)
                except ReplyError as error:
                    raise AssertionError(spec) from error
    finally:
        client.close()
    assert len({len(request.messages) for request in sender.asked}) > 1  # first turns, and those behind them
    return hashlib.sha256("".join(sorted(request.key for request in sender.asked)).encode()).hexdigest()[:16]


@pytest.mark.parametrize("spec", DIGESTS)
def test_requests_of_a_strategy_are_what_earlier_versions_sent(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_examples(Path("examples.json"), draw_examples(SAMPLE, n=1, seed=0))
    assert digest_of_requests(f"{spec},{MODEL},repairs=2" if "[" not in spec else spec) == DIGESTS[spec]


def test_prompts_are_those_whose_digests_stand_in_the_headers_of_earlier_runs() -> None:
    folder = files("evidencebench.systems.llm").joinpath("prompt_texts")
    names = sorted(path.name.removesuffix(".md") for path in folder.iterdir() if path.name.endswith(".md"))
    later = ("hypothesis_", "rewrite_", "directions")  # those of `llm rewrite` and `find --split-model`
    earlier = [name for name in names if not name.startswith(later)]
    digests = versions_of(earlier)
    assert hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()[:16] == "bbba460264879ba7"
