"""A step that asks a model: drafts go in, and come out with more, or dropped."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evidencebench.construction.draft import Draft, DraftFile, DraftHeader, ReplySource, dropped, writing_drafts
from evidencebench.construction.edits import Edit, sums_after
from evidencebench.errors import DataError, RefusedReplyError, ReplyError, StopError, UnreadableReplyError
from evidencebench.execution.asking import InstanceOutcome, Todo, Waiting, ask_all, attempted
from evidencebench.execution.rewriting import asker_from
from evidencebench.models.llm.chat import ChatReply, fault_of_end
from evidencebench.models.llm.client import ChatClient
from evidencebench.models.llm.objects import is_refusal, read_object, schema_of_object
from evidencebench.systems.llm.asking import Asker, ask_until_read
from evidencebench.systems.llm.excerpts import Excerpt, prompt_line
from evidencebench.systems.llm.prompts import Prompt, prompt_named

NO_REPLY = "no usable reply"  # why a draft is dropped whose replies came, however often they were asked for
REFUSED = "the model refused"  # why a draft is dropped that the model, or its provider, declines to answer
FORM_PROMPTS = ("form_object", "again")  # the prompts that are parts of every question


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStep:
    name: str
    prompts: tuple[str, ...]  # besides `FORM_PROMPTS`
    # Raises `UnreadableReplyError` to drop the draft, `ReplyError` where it is to be asked again in the next run.
    work: Callable[[Asker, Draft], Draft]
    settings: Mapping[str, Any] = field(default_factory=dict)  # what decides its outcome besides the prompts


def settings_of_asker(asker: Asker) -> dict[str, Any]:
    chat = {name: value for name, value in asdict(asker.chat).items() if name not in ("key_env", "context_tokens")}
    return {**chat, "repairs": asker.repairs}


def step_prompt(name: str) -> Prompt:
    return prompt_named(name, package="evidencebench.construction")


@dataclass(slots=True, kw_only=True)
class StepReport:
    step: str
    n_drafts: int = 0  # that it was given
    n_before: int = 0  # of them done in an earlier run
    n_kept: int = 0  # that go on to the next step
    dropped: Counter[str] = field(default_factory=Counter)  # reason -> drafts
    failures: dict[str, str] = field(default_factory=dict)  # id of a draft to be asked for again -> why it has no line


def run_step(
    step: ModelStep,
    source: DraftFile,
    target: Path,
    *,
    asker: Asker,
    edits: Mapping[tuple[str, str], Edit] = {},
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    overwrite: bool = False,
    limit: int | None = None,  # drafts that are asked for, the same ones in each step; the target stays unfinished
    drops_failed: bool = False,  # a draft for which a request failed for good, which else stays without a line
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> StepReport:
    """Run a step over the drafts of a file that go on and that the target has not, or made of something else."""
    header = DraftHeader(
        step=step.name,
        settings={**settings_of_asker(asker), **step.settings},
        prompts={name: step_prompt(name).digest for name in (*step.prompts, *FORM_PROMPTS)},
        reads=source.path.name,
    )
    # By a hash, so that those of a limit are a random sample of all reviews.
    ids = sorted(sorted(source.going_on, key=lambda draft_id: sha256(draft_id.encode()).digest())[:limit])
    made: dict[str, Draft] = {}  # done, and not written yet
    sums = sums_after(edits, step.name, source.sums)
    with writing_drafts(target, header, made_of=sums, overwrite=overwrite) as writer:
        todos = [Todo(draft_id, None) for draft_id in ids if draft_id not in writer.done]
        n_left = len(todos)
        report = StepReport(step=step.name, n_drafts=len(ids), n_before=len(ids) - n_left)

        def keep(outcome: InstanceOutcome) -> None:
            nonlocal n_left
            if (draft := made.pop(outcome.todo.instance_id, None)) is not None:
                writer.append(draft)
            n_left -= outcome.unanswered is None
            on_progress(len(ids) - n_left, len(ids))

        def ask(todo: Todo) -> InstanceOutcome:
            draft = source[todo.instance_id]
            edit = edits.get((draft.id, step.name))

            def work() -> None:
                try:
                    made[draft.id] = step.work(asker, draft) if edit is None else edit.lay_over(draft)
                except UnreadableReplyError as error:
                    why = REFUSED if isinstance(error, RefusedReplyError) else NO_REPLY
                    made[draft.id] = dropped(draft, why, str(error))
                except (ReplyError, DataError) as error:
                    if drops_failed and edit is None:
                        made[draft.id] = dropped(draft, "a request failed", str(error))
                    else:
                        report.failures[draft.id] = str(error)

            return attempted(todo, work)

        on_progress(len(ids) - n_left, len(ids))
        ask_all(ask, todos, keep, waiting)
        ends = Counter(writer.done[draft_id] for draft_id in ids if draft_id in writer.done)
        report.n_kept, report.dropped = ends.pop("", 0), ends
        if source.is_finished and len(ids) == len(source.going_on) and not n_left and not report.failures:
            writer.finish()
    if n_left:
        raise StopError(f"{n_left} of {len(ids)} drafts wait for a batch; run again: what is stored is not paid twice")
    return report


_MARK = re.compile(r"\[(\d[\d\s,;\N{EN DASH}-]{0,60})\]")  # such as [16] and [2, 5-7]

Answered = TypeVar("Answered", bound=msgspec.Struct)


def step_asker(model: str, client: ChatClient | None = None) -> Asker:
    """Return who is asked by a step: at temperature 0, unless the model's options say otherwise or it reasons first."""
    asker = asker_from(model, client=client)
    is_free = asker.chat.temperature is None and asker.chat.reasoning_effort is None
    return replace(asker, chat=replace(asker.chat, temperature=0.0)) if is_free else asker


def numbered_sentences(sentences: Mapping[int, str]) -> Excerpt:
    """Return sentences behind their numbers; a reference's mark in them, such as [16], stands in braces: {16}."""
    return Excerpt(shown={number: _MARK.sub(r"{\1}", prompt_line(text)) for number, text in sentences.items()})


def ask_object(
    asker: Asker,
    prompt: str,
    fields: Mapping[str, str],  # of the prompt but for ``form``, which shows the example
    *,
    example: Answered,
    stand_in: Answered,  # for estimates
    check: Callable[[Answered], str],  # returns what is wrong with an object, in words for the model
    in_words: Callable[[str], Answered | None] = lambda _: None,  # reads a reply without an object
    what: str,
) -> tuple[Answered, ReplySource]:
    """Return the object that a model answers with, and the reply that it was read from."""
    shown = {"reasoning": "your thinking", **msgspec.to_builtins(example)}
    form = step_prompt("form_object").render(example=json.dumps(shown, ensure_ascii=False))
    stand_in_text = msgspec.json.encode(stand_in).decode()
    kind = type(example)

    def read(reply: ChatReply) -> tuple[Answered, str]:
        if reply.text == stand_in_text:
            return stand_in, ""
        if is_refusal(reply):
            raise RefusedReplyError(f"no {what}: the model refuses to answer")
        answer = read_object(reply, kind)
        if not isinstance(answer, str):
            is_form = answer == example and shown["reasoning"] in reply.text
            return answer, "it only repeats the form" if is_form else check(answer)
        said = None if "{" in reply.text or fault_of_end(reply.finish, reply.text) else in_words(reply.text)
        return (example, answer) if said is None else (said, "")

    answered, request = ask_until_read(
        asker,
        step_prompt(prompt).render(**fields, form=form),
        schema=schema_of_object(kind),
        stand_in=stand_in_text,
        read=read,
        again=lambda why: step_prompt("again").render(why=why, form=form),
        what=what,
    )
    return answered, ReplySource(prompt=step_prompt(prompt).digest, model=asker.chat.model, request=request)
