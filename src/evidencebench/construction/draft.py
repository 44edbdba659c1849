"""A draft: an instance in the making. Each step of the construction adds to it, or drops it with a reason."""

from collections.abc import Mapping

import msgspec


class CitedPassage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a review speaks of one paper."""

    review_file: str  # its name, without a folder
    start: int  # characters start..stop-1 of the decoded file
    stop: int
    marks: tuple[str, ...]  # the citation marks as printed, such as "[7]" or "Smith et al. 2004"
    reference: str  # the paper's id in the review's reference list, such as "B7"
    section: tuple[str, ...] = ()  # titles of the sections that it stands in, outermost first


class ReplySource(msgspec.Struct, frozen=True, kw_only=True):
    """The reply that a part of a draft was read from."""

    prompt: str  # SHA-256 of the prompt's file
    model: str  # provider/name
    request: str  # the request's key, under which the cache of replies has it


class WindowVote(msgspec.Struct, frozen=True, array_like=True):
    """What a model said of one window for one aspect, as ``[5, [7, 9], "KEY"]``."""

    start: int  # the window's first sentence
    sentences: tuple[int, ...] | None  # that hold the aspect; None: no reply could be read
    request: str = ""  # the request's key, under which the cache of replies has what it was read from


class JudgingRound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The votes of one model in one pass over the windows of a paper."""

    model: str
    prompt: str  # SHA-256 of the prompt's file
    votes: tuple[tuple[WindowVote, ...], ...]  # aspect by aspect, of the windows that were asked
    asks_all: bool = False  # whether one request asked for all aspects
    decides: bool = False  # whether these votes stand in place of those of the rounds before, where they were asked


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """Which sentences of the paper hold which aspects, as models voted.

    Windows begin at sentences 0, ``window - overlap``, ``2 * (window - overlap)``, and so on to the end of the paper.
    """

    paper_sha256: str  # of the paper's file: its sentences must be the same when the data set is assembled
    n_sentences: int
    window: int
    overlap: int
    rounds: tuple[JudgingRound, ...]
    sources: tuple[tuple[int, ...], ...]  # aspect by aspect: the sentences, from 0, that hold it by the step's rule


class Draft(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An instance in the making.

    Attributes
    ----------
    id
        Its name in the work folder, such as ``review1.xml:B7:2``; `assemble` numbers the instances anew.
    review_id, paper_id
        The review, and the paper that it reports: ``pmc_1280405``, ``pubmed_9000312``, ``doi_10.1186/...``, or a name
        that the user gave.
    paper_file
        The paper's file, relative to the folder of papers; empty where it is not at hand.
    paper_ids
        Such as ``{"pmid": "9000312", "doi": "10.1186/..."}``.
    summary
        What the review says of the paper: the passage at first, then what a model delimits of it.
    context
        The paragraphs around the summary.
    passage
        Where the review says so; None where the summary came from a table.
    purpose
        Why the reviewer extracted it, as a model says: the first step to the hypothesis.
    aspects
        The texts of the study aspects.
    judging
        Which sentences hold them; None before that step.
    results
        The indices of the aspects labelled Results; None before that step.
    sources_of
        Step, such as ``hypotheses``, or step and part, such as ``aspects verify`` -> the reply that it was read from.
    dropped
        Why it becomes no instance, as a phrase that is counted, such as ``reports no results``; empty: it goes on.
    detail
        More of that reason, for one draft, such as the words that leaked.
    """

    id: str
    review_id: str
    paper_id: str
    paper_file: str = ""
    paper_ids: Mapping[str, str] = {}
    summary: str = ""
    context: str = ""
    passage: CitedPassage | None = None
    purpose: str = ""
    hypothesis: str = ""
    aspects: tuple[str, ...] = ()
    judging: Judging | None = None
    results: tuple[int, ...] | None = None
    sources_of: Mapping[str, ReplySource] = {}
    dropped: str = ""
    detail: str = ""
