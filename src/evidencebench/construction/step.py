"""A step that asks a model: drafts go in, and come out with more, or dropped."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from evidencebench.construction.draft import Draft, DraftFile, DraftHeader, ReplySource, dropped, writing_drafts
from evidencebench.construction.edits import Edit, sums_after
from evidencebench.errors import DataError, ReplyError, StopError, UnreadableReplyError
from evidencebench.execution.asking import InstanceOutcome, Todo, Waiting, ask_all, attempted
from evidencebench.models.llm.chat import ChatReply, fault_of_end
from evidencebench.models.llm.grammar import json_at, visible_text
from evidencebench.models.llm.grammar_lists import ShownSentences
from evidencebench.systems.llm.asking import Asker, ask_until_read
from evidencebench.systems.llm.prompts import prompt_named

NO_REPLY = "no usable reply"  # why a draft is dropped whose replies came, however often they were asked for
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


step_prompt = partial(prompt_named, package="evidencebench.construction")


@dataclass(slots=True, kw_only=True)
class StepReport:
    step: str
    n_drafts: int = 0  # that it was given
    n_before: int = 0  # of them done in an earlier run
    n_kept: int = 0  # that go on to the next step
    dropped: Counter[str] = field(default_factory=Counter)  # reason -> drafts
    failures: dict[str, str] = field(default_factory=dict)  # id of a draft to be asked for again -> why it has no line

    @property
    def is_finished(self) -> bool:
        return not self.failures

    def fields(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "is_finished": self.is_finished}


def run_step(
    step: ModelStep,
    source: DraftFile,
    target: Path,
    *,
    asker: Asker,
    edits: Mapping[tuple[str, str], Edit] = {},
    waiting: Waiting = Waiting(),  # noqa: B008 - frozen
    overwrite: bool = False,
    limit: int | None = None,
    drops_failed: bool = False,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> StepReport:
    """Run a step over the drafts of a file that go on and that the target has not; after a stop, go on.

    A draft that was changed or edited since is made again, alone. With a ``limit``, only so many drafts are asked for,
    the same ones in each step, and the target stays unfinished. ``drops_failed``: a draft is dropped for which a
    request failed for good; else it stays without a line. Raises `StopError` if no more requests may be sent, or
    replies wait for a batch.
    """
    header = DraftHeader(
        step=step.name,
        settings={**settings_of_asker(asker), **step.settings},
        prompts={name: step_prompt(name).digest for name in (*step.prompts, *FORM_PROMPTS)},
        reads=source.path.name,
    )
    ids = sorted(source.going_on)
    if limit is not None:  # by a hash, so that they are a random sample of all reviews
        ids = sorted(ids, key=lambda draft_id: hashlib.sha256(draft_id.encode()).digest())[:limit]
    made: dict[str, Draft] = {}  # done, and not written yet
    made_of = sums_after(edits, step.name, source.sums)
    with writing_drafts(target, header, made_of=made_of, overwrite=overwrite) as writer:
        todos = [Todo(draft_id, None) for draft_id in ids if draft_id not in writer.done]
        n_left = len(todos)
        before = [writer.done[draft_id].dropped for draft_id in ids if draft_id in writer.done]
        report = StepReport(
            step=step.name,
            n_drafts=len(ids),
            n_before=len(before),
            n_kept=before.count(""),
            dropped=Counter(filter(None, before)),
        )

        def keep(outcome: InstanceOutcome) -> None:
            nonlocal n_left
            if (draft := made.pop(outcome.todo.instance_id, None)) is not None:
                writer.append(draft)
                report.n_kept += not draft.dropped
                report.dropped.update(filter(None, [draft.dropped]))
            n_left -= outcome.unanswered is None
            on_progress(len(ids) - n_left, len(ids))

        def ask(todo: Todo) -> InstanceOutcome:
            draft = source[todo.instance_id]
            edit = edits.get((draft.id, step.name))

            def work() -> None:
                try:
                    made[draft.id] = _made_of(draft, step, asker, edit, drops_failed=drops_failed)
                except (ReplyError, DataError) as error:
                    report.failures[draft.id] = str(error)

            return attempted(todo, work)

        on_progress(len(ids) - n_left, len(ids))
        ask_all(ask, todos, keep, waiting)
        if source.is_finished and len(ids) == len(source.going_on) and not n_left and report.is_finished:
            writer.finish()
    if n_left:
        raise StopError(f"{n_left} of {len(ids)} drafts wait for a batch; run again: what is stored is not paid twice")
    return report


def _made_of(draft: Draft, step: ModelStep, asker: Asker, edit: Edit | None, *, drops_failed: bool) -> Draft:
    if edit is not None and edit.replaces_all_of(draft):
        return edit.lay_over(draft)
    try:
        made = step.work(asker, draft)
    except UnreadableReplyError as error:
        return dropped(draft, NO_REPLY, str(error))
    except (ReplyError, DataError) as error:
        if not drops_failed:
            raise
        return dropped(draft, "a request failed", str(error))
    return made if edit is None else edit.lay_over(made)


_MOST_PLACES = 200  # braces of a reply that are tried as the beginning of its object
_DECODER = json.JSONDecoder(strict=False)
_OBJECT_BEGINS = re.compile(r"\{\s*(?:[\"'/#]|\w+\s*:)")  # {"keeps", {'keeps', {keeps:, {// it does; but not {any}

Answered = TypeVar("Answered", bound=msgspec.Struct)


def ask_object(
    asker: Asker,
    prompt: str,
    fields: Mapping[str, str],
    *,
    example: Answered,
    stand_in: Answered,
    check: Callable[[Answered], str],
    in_words: Callable[[str], Answered | None] = lambda _: None,
    what: str,
) -> tuple[Answered, ReplySource]:
    """Return the object that a model answers with, and the reply that it was read from.

    ``fields`` are those of the prompt but for ``form``, which shows the ``example``: a reply that repeats it must not
    pass the ``check``, which returns what is wrong with an object, in words for the model. ``in_words`` reads a reply
    without one. ``stand_in`` is what estimates take for the reply; ``what`` names it in messages.
    """
    shown = {"reasoning": "your thinking", **msgspec.to_builtins(example)}
    form = step_prompt("form_object").render(example=json.dumps(shown, ensure_ascii=False))
    stand_in_text = msgspec.json.encode(stand_in).decode()
    kind = type(example)

    def read(reply: ChatReply) -> tuple[Answered, str]:
        if reply.text == stand_in_text:
            return stand_in, ""
        answer = read_object(reply, kind)
        if not isinstance(answer, str):
            return answer, check(answer)
        said = None if "{" in reply.text or fault_of_end(reply.finish, reply.text) else in_words(reply.text)
        return (example, answer) if said is None else (said, "")

    answered, request = ask_until_read(
        asker,
        step_prompt(prompt).render(**fields, form=form),
        schema=_schema_of(kind),
        stand_in=stand_in_text,
        read=read,
        again=lambda why: step_prompt("again").render(why=why, form=form),
        what=what,
    )
    return answered, ReplySource(prompt=step_prompt(prompt).digest, model=asker.chat.model, request=request)


def read_object(reply: ChatReply, kind: type[Answered]) -> Answered | str:
    r"""Return the last object of a kind in a reply, or why there is none; no reply makes it raise.

    A comma too many is forgiven. Another object that is malformed takes back those before it, and those within it: only
    one that begins a later line counts then.

    >>> class Kept(msgspec.Struct):
    ...     keeps: bool
    >>> read_object(ChatReply(text='{"keeps": false}? It does.\n```json\n{"keeps": true,}\n```'), Kept)
    Kept(keeps=True)
    >>> read_object(ChatReply(text='{"keeps": false}? It does: {"keeps": true'), Kept)
    'its JSON object is malformed'
    """
    if fault := fault_of_end(reply.finish, reply.text):
        return fault
    text = visible_text(reply.text, ShownSentences({}))
    result: Answered | str = "the reply holds no JSON object"
    is_broken, end = False, 0
    starts = [index for index, letter in enumerate(text) if letter == "{"]
    for start in starts[-_MOST_PLACES:]:
        if start < end:  # within the object before
            continue
        value = json_at(text, start, _DECODER)
        if value is None:
            if _OBJECT_BEGINS.match(text, start):
                result, is_broken = "its JSON object is malformed", True
            continue
        end = value[1]
        if is_broken and text[text.rfind("\n", 0, start) + 1 : start].strip(" \t`"):
            continue
        try:
            converted = msgspec.convert(value[0], kind)
            msgspec.json.encode(converted)  # no half of a character, which no file can hold
            result = converted
        except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
            if isinstance(result, str):
                result = f"its JSON object is of another form: {error}"
    return result


def _schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON schema of a reply, as providers that promise one want it: all keys required, no others."""
    (root,), parts = msgspec.json.schema_components((kind,), ref_template="#/$defs/{name}")
    whole = parts.pop(root["$ref"].rpartition("/")[2])
    for part in (whole, *parts.values()):
        part |= {"additionalProperties": False, "required": list(part["properties"])}
    whole["properties"] = {"reasoning": {"type": "string"}, **whole["properties"]}
    whole["required"] = list(whole["properties"])
    return {**whole, "$defs": parts} if parts else whole
