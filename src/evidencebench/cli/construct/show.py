"""``evidencebench construct show``."""

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from evidencebench.cli import options
from evidencebench.cli.options import PageServing, argument, option
from evidencebench.cli.output import print_json, print_prose, refuse_existing, tell_written
from evidencebench.construction.config import read_config
from evidencebench.construction.noise import LabelNoise
from evidencebench.errors import DataError
from evidencebench.files.atomic import write_whole
from evidencebench.files.places import cache_folder
from evidencebench.models.llm.replies import stored_replies
from evidencebench.pages.construction import DraftRecord, construction_page, open_construction
from evidencebench.tables import printable
from evidencebench.wording import counted

PAGE = "drafts.html"  # in the work folder


@options.command
def show(
    *,
    work: Annotated[Path, argument("WORK", kind=options.EXISTING_FOLDER)],
    draft: Annotated[str | None, argument("[DRAFT]", required=False)],
    output: Annotated[Path | None, options.output("FILE.html", "The page. [default: WORK/drafts.html]")],
    overwrite: Annotated[bool, option("--overwrite", "Replace FILE.html if it exists.")],
    papers: Annotated[
        Path | None,
        option("--papers FOLDER", "Folder of the papers. [default: from the configuration]", options.FOLDER),
    ],
    as_json: options.AsJson,
    serving: PageServing,
) -> None:
    """Show what became of the drafts, and why.

    Writes a page with how many drafts each step dropped and why, the noise of the
    labels and the cost; and each draft with its passage, hypothesis, aspects, and
    the sentences that models selected, with all votes.

    With DRAFT (its number, or part of its id), prints only that draft. With --open,
    serves the page, and drafts can be edited in it.

    \b
    Examples:
      evidencebench construct show work --open
      evidencebench construct show work 7
    """
    config = _configuration(work)
    folder = papers or (read_config(config).papers if config else None)
    if draft is None and not serving.is_opened:
        path = output or work / PAGE
        refuse_existing(path, overwrite=overwrite or output is None)
        n = write_page(path, work, folder)
        tell_written(path, {"n_drafts": n}, f"{path}: {counted(n, 'draft')}", as_json=as_json)
        return
    with stored_replies(cache_folder(os.environ)) as replies:
        opened = partial(open_construction, work, papers=folder, replies=replies)
        if serving.is_opened:
            with serving.listening("construct show") as (address, serve):
                from evidencebench.pages.app.construction import make_construction_app  # noqa: PLC0415 - an extra

                run = shlex.join(["evidencebench", "construct", "run", str(config or "CONFIG.toml")])
                now = partial(datetime.now, UTC)
                serve(make_construction_app(opened, run=run, now=now, address=address), f"drafts of {work}")
            return
        shown = opened()
        record = shown.record(shown.find(draft or ""))
    if as_json:
        print_json(record)
        return
    for text, indent in _lines(record, len(shown.numbers)):
        print_prose(printable(text), f"{indent}  ", indent)


def write_page(path: Path, work: Path, papers: Path | None, noise: LabelNoise | None = None) -> int:
    """Write the page of all drafts, and return how many there are; ``noise`` is given where it is known already."""
    with stored_replies(cache_folder(os.environ)) as replies:
        shown = open_construction(work, papers=papers, replies=replies)
        write_whole(path, construction_page(replace(shown, noise=noise)))
    return len(shown.numbers)


def _configuration(work: Path) -> Path | None:
    """Return the configuration that names this work folder: a file beside it."""
    for path in sorted((work if work.name else work.resolve()).parent.glob("*.toml")):
        with suppress(DataError):
            if read_config(path).work.resolve() == work.resolve():
                return path
    return None


def _lines(record: DraftRecord, n_drafts: int) -> Iterator[tuple[str, str]]:
    """Yield what is printed of a draft: each text with its indent."""
    row, draft, cited = record.row, record.draft, record.draft.passage
    became = {
        "kept": "kept",
        "doubtful": f"kept; votes are split {counted(row.n_doubtful, 'time')}",
        "waiting": f"waiting: '{row.step}' was its last step",
        "dropped": f"dropped at '{row.step}': {': '.join(filter(None, (row.reason, draft.detail)))}",
    }
    place = f" ({row.number} of {n_drafts})" if row.number else ""
    yield f"{row.id}{place}: {became[row.state]}", ""
    sentences = record.paper.sentences if record.paper else ()
    where = (cited.review_file, *cited.section, " ".join(dict.fromkeys(cited.marks))) if cited else ()
    parts = {
        "Review": " > ".join((draft.review_id, *where)),
        **dict(zip(("Before", "Passage", "After"), record.passage, strict=True)),
        **{name.capitalize(): getattr(draft, name) for name in ("summary", "purpose", "hypothesis")},
        "Paper": ", ".join((draft.paper_id, draft.paper_file, counted(len(sentences), "sentence"))),
        "Note": record.note,
        "Cost": record.cost,
        "Edited": ", ".join(edit.step for edit in record.edits),
        "Replies that could not be read": f"{record.n_unread:,}" if record.n_unread else "",
    }
    for name, text in parts.items():
        if text.strip() and not (name == "Summary" and text == record.passage[1]):
            yield f"{name}: {text}", ""
    votes = dict(zip(record.judged, record.votes, strict=True))
    for number, text in enumerate(draft.aspects, 1):
        is_result = number - 1 in (draft.results or ())
        yield f"Aspect {number}{' (Results)' if is_result else ''}: {text}", ""
        for vote in votes.get(text, ()):
            kind = "source" if vote.is_source else "no source"
            if vote.yes and vote.no:
                kind += ", votes are split"
            quoted = sentences[vote.sentence] if 0 <= vote.sentence < len(sentences) else ""
            yield f"{vote.sentence}, {kind}: {quoted}", "  "
            said = [*(("yes", voter) for voter in vote.yes), *(("no", voter) for voter in vote.no)]
            yield "; ".join(f"{word}: {record.voters[voter]}" for word, voter in said) or "no votes", "      "
    for text, why in draft.dropped_aspects:
        yield f"Aspect left out: {text} ({why})", ""
