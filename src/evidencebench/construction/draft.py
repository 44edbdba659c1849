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
    """An instance in the making; what a later step adds is empty or None before it."""

    id: str  # in the work folder, such as ``review1.xml:B7:2``; `assemble` numbers the instances anew
    review_id: str  # such as ``pmc_1280405``, ``pubmed_9000312``, ``doi_10.1186/...``, or a name that the user gave
    paper_id: str  # the same, of the paper that the review reports
    paper_file: str = ""  # relative to the folder of papers; empty where it is not at hand
    paper_ids: Mapping[str, str] = {}  # such as ``{"pmid": "9000312", "doi": "10.1186/..."}``
    summary: str = ""  # what the review says of the paper: the passage at first, then what a model delimits of it
    context: str = ""  # the paragraphs around the summary
    passage: CitedPassage | None = None  # where the review says so; None where the summary came from a table
    purpose: str = ""  # why the reviewer extracted it, as a model says: the first step to the hypothesis
    hypothesis: str = ""
    aspects: tuple[str, ...] = ()
    judging: Judging | None = None  # which sentences hold them
    results: tuple[int, ...] | None = None  # the indices of the aspects labelled Results
    sources_of: Mapping[str, ReplySource] = {}  # step, or step and part, such as ``aspects verify`` -> its reply
    dropped: str = ""  # why it becomes no instance, as a phrase that is counted; empty: it goes on
    detail: str = ""  # more of that reason, for one draft, such as the words that leaked
