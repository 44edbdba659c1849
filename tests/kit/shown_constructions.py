"""A work folder with drafts as the judge leaves them: votes that are split, drops, hostile texts, a paper."""

from pathlib import Path
from typing import Any

from doors import (
    STEP_FILES,
    CitedPassage,
    DraftHeader,
    Judging,
    JudgingRound,
    ReplySource,
    WindowVote,
    file_sha256,
    output_of,
    writing_drafts,
)
from evidencebench import Draft, open_drafts

HOSTILE = "<img src=x onerror=alert(1)></script>\x1b[2J \u202e"
SUMMARY = f"Tea lowered pressure [7]. {HOSTILE}"
CONFIG = 'name = "tea"\nreviews = ["reviews"]\npapers = "papers"\nmodel = "local/any,base_url=http://127.0.0.1:9/v1"\n'
MARKED_AT = next(step for step in ("recheck", "judge") if step in STEP_FILES)  # the step whose sources people edit
DOUBTFUL, KEPT, DROPPED = "review.xml:B7:1", "review.xml:B8:1", "review.xml:B9:1"


def make_construction(folder: Path, *, n_more: int = 0) -> Path:
    """Write three drafts, and more like the second, with configuration and paper; return the work folder."""
    papers, work = folder / "papers", folder / "work"
    for made in (papers, work):
        made.mkdir()
    (folder / "construction.toml").write_text(CONFIG)
    text = " ".join(f"Sentence {n} says {HOSTILE if n == 3 else 'this'}." for n in range(40))
    (papers / "paper.txt").write_text(f"A trial of tea\n\nAbstract\n\nTea was given.\n\nResults\n\n{text}\n")
    drafts = [
        _draft(papers, DOUBTFUL, votes=(7,)),
        _draft(papers, KEPT, votes=(8,)),
        *(_draft(papers, f"review.xml:C{n}:1", votes=(8,)) for n in range(n_more)),
    ]
    dropped = _draft(papers, DROPPED, dropped="no usable reply", detail=HOSTILE, judging=None)
    lost = Draft(id="lost", review_id="pmc_1", paper_id="pmc_3", dropped="in a methods section")
    of_steps = {
        "harvest": [*(_passage(one) for one in (*drafts, dropped)), lost],
        "summaries": [_passage(one) for one in (*drafts, dropped)],
        "hypotheses": [*drafts, dropped],
    }
    made_of = None
    for step in [step for step in STEP_FILES if step != "filter"]:
        with writing_drafts(output_of(step, work), DraftHeader(step=step), made_of=made_of) as writer:
            for draft in of_steps.get(step, drafts):
                writer.append(draft)
            writer.finish()
        made_of = open_drafts(output_of(step, work)).sums
    return work


def _passage(draft: Draft) -> Draft:
    fields = ("id", "review_id", "paper_id", "paper_file", "summary", "context", "passage")
    return Draft(**{name: getattr(draft, name) for name in fields})


def _draft(papers: Path, draft_id: str, votes: tuple[int, ...] = (), **fields: Any) -> Draft:
    """Return a draft of two aspects; the window at 5 votes for ``votes``, that at 0 for 8 alone."""
    rounds = JudgingRound(
        model="local/any",
        prompt="0" * 64,
        votes=(
            (WindowVote(0, (8,), "a" * 64), WindowVote(5, (8, *votes), "b" * 64)),
            (WindowVote(0, (), "c" * 64), WindowVote(5, None)),
        ),
    )
    own: dict[str, Any] = {
        "review_id": "pmc_1",
        "paper_id": "pmc_2",
        "paper_file": "paper.txt",
        "summary": SUMMARY,
        "context": f"Before it. {SUMMARY} Behind it.",
        "passage": CitedPassage(
            review_file="review.xml", start=1, stop=9, marks=("[7]",), reference="B7", section=("Results", HOSTILE)
        ),
        "purpose": "Whether tea matters.",
        "hypothesis": f"Tea lowers pressure in {draft_id}.",
        "aspects": ("Pressure fell.", HOSTILE),
        "results": (0,),
        "sources_of": {"hypotheses trim": ReplySource(prompt="0" * 64, model="local/any", request="d" * 64)},
        "judging": Judging(
            paper_sha256=file_sha256(papers / "paper.txt"),
            n_sentences=44,
            window=10,
            overlap=5,
            rounds=(rounds,),
            sources=(tuple(sorted({8, *votes})), ()),
        ),
    }
    return Draft(id=draft_id, **(own | fields))
