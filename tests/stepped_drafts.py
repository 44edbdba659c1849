"""A step over one draft, with a model of the tests' own that answers each prompt well, or as a test says."""

import json
from pathlib import Path
from typing import Any

from evidencebench.construction.draft import CitedPassage, Draft, DraftHeader, open_drafts, writing_drafts
from evidencebench.construction.step import ModelStep, StepReport, run_step
from evidencebench.models.llm.chat import ChatReply, ChatRequest
from evidencebench.systems.llm.asking import Asker
from scripted_models import CHAT, ScriptedSender, client_of

PASSAGE = "In a trial of 40 adults, tea lowered pressure by 3 mmHg [7]. It lasted a year."
CONTEXT = f"Many things were tried. {PASSAGE} Coffee was tried too [8]."
CITED = CitedPassage(review_file="r.xml", start=0, stop=1, marks=("[7]",), reference="B7")
GOOD: dict[str, Any] = {
    "delimit the passage": {"sentences": [2, 3]},
    "keep summaries of results": {"reports_results": True},
    "purpose of the evidence": {"purpose": "To learn whether tea lowers pressure in adults."},
    "hypothesis": {"hypothesis": "Drinking tea lowers blood pressure in adults."},
    "aspects": {"aspects": ["A trial of 40 adults", "tea lowered pressure by 3 mmHg"]},
    "verify the aspects": {
        "verdicts": [{"aspect": 1, "faithful": True, "single": True}, {"aspect": 2, "faithful": True, "single": True}]
    },
    "label results": {"results": [2]},
}


def draft(**fields: Any) -> Draft:
    own: dict[str, Any] = {"summary": PASSAGE, "context": CONTEXT, "passage": CITED}
    return Draft(id="d", review_id="r", paper_id="p", **(own | fields))


def run(
    folder: Path,
    step: ModelStep,
    given: Draft,
    answers: dict[str, Any] | None = None,
    *,
    name: str = "target",
    **more: Any,
) -> tuple[Any, StepReport, ScriptedSender]:
    """Run a step over one draft (None: it got no line), with a model that answers as `GOOD` but for ``answers``."""
    known = GOOD | (answers or {})

    def answer(request: ChatRequest) -> Any:
        asked = request.messages[0].text.split("\n")[0].removeprefix("Building step: ")
        found = known[asked]
        found = found(request) if callable(found) else found
        return found if isinstance(found, str | ChatReply | Exception) else f"I thought.\n{json.dumps(found)}"

    source, target = folder / "source.jsonl", folder / f"{name}.jsonl"
    with writing_drafts(source, DraftHeader(step="before")) as writer:
        if given.id not in writer.done:
            writer.append(given)
            writer.finish()
    sender = ScriptedSender(answer)
    client = client_of(sender)
    try:
        report = run_step(step, open_drafts(source), target, asker=Asker(client=client, chat=CHAT, repairs=1), **more)
    finally:
        client.close()
    found = open_drafts(target, must_be_finished=False)
    return (found["d"] if "d" in found.offsets else None), report, sender
