"""The papers in which people pick sentences, what they see afterwards, and their scores beside the systems."""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np

from evidencebench.data.cover import coverage_of
from evidencebench.data.dataset import Dataset
from evidencebench.data.instance import Instance
from evidencebench.data.tasks import Task
from evidencebench.errors import DataError, TaskError
from evidencebench.execution.compatibility import data_header
from evidencebench.pages.paper import GradedAnswer, SystemRecord, paper_of
from evidencebench.pages.people.tasks import OfferedPaper, OwnScores, TaskApp, TaskRow, picking
from evidencebench.pages.viewer import ShownSystem, ViewerData
from evidencebench.runs.answers import PERSON, RankingAnswer
from evidencebench.runs.header import SystemHeader
from evidencebench.runs.people import Clock, picks_folder, utc_now
from evidencebench.runs.run import ranking_in
from evidencebench.scoring.evaluate import Case, case_of, grade
from evidencebench.scoring.resampling import Estimate, bootstrap_columns
from evidencebench.scoring.selection import Rules
from evidencebench.scoring.significance import percent
from evidencebench.wording import counted

# How well a person has done, beside the systems: over exactly the papers that the person has submitted.


def _own_scores(
    viewed: ViewerData, task: Task, offered: Container[str]
) -> Callable[[Mapping[str, RankingAnswer]], OwnScores]:
    """Return what scores a person's submissions; the systems are graded once on each paper that anybody submits."""

    @cache
    def graded(instance_id: str) -> tuple[Case, list[GradedAnswer]]:
        case = case_of(viewed.dataset[instance_id], task)
        assert case is not None, "the queue has only papers that the task applies to"
        answers = (shown.answer_in_list(case, task) for shown in viewed.systems)
        return case, [answer for answer in answers if answer is not None]  # all answer, since the task has a budget

    def scores(submitted: Mapping[str, RankingAnswer]) -> OwnScores:
        submissions = {paper: ranking_in(answer) for paper, answer in submitted.items() if paper in offered}
        if not submissions:
            return {}, {}
        papers = [graded(instance_id) for instance_id in submissions]
        own = [grade(case, picked).recall for (case, _), picked in zip(papers, submissions.values(), strict=True)]
        recalls = [[mine, *(one.recall for one in answers)] for mine, (_, answers) in zip(own, papers, strict=True)]
        you, *others = bootstrap_columns(np.array(recalls, dtype=float), [case.instance.cluster for case, _ in papers])
        means = [_mean("You", you, is_you=True)]
        for position, (shown, estimate) in enumerate(zip(viewed.systems, others, strict=True)):
            n_missing = sum(answers[position].status == "missing" for _, answers in papers)
            lacks = f" (lacks {counted(n_missing, 'answer')}: 0)" if n_missing else ""
            means.append(_mean(f"{shown.record.label}{' *' if shown.record.is_control else ''}{lacks}", estimate))
        ranked = sorted(zip(viewed.systems, others, strict=True), key=lambda pair: -pair[1].mean)
        runs = [pair for pair in ranked if not pair[0].record.is_control]
        named = runs or [pair for pair in ranked if not pair[0].record.is_oracle]
        words = "".join(f", {shown.record.label} {100 * estimate.mean:.1f}" for shown, estimate in named)
        summary = f"You {100 * you.mean:.1f}{words} on your {counted(len(own), 'paper')}."
        best_first = sorted(means, key=lambda mean: -mean["mean"])
        return {"scores": {"summary": summary, "means": best_first}}, dict(zip(submissions, own, strict=True))

    return scores


def _mean(label: str, estimate: Estimate, *, is_you: bool = False) -> dict[str, Any]:
    ends = {"low": estimate.low, "high": estimate.high}
    return {"label": label, "text": percent(estimate), "is_you": is_you, "mean": estimate.mean, **ends}


# The papers that people are asked to pick in, and the labels that they are shown after they have submitted.


def pick_tasks(
    viewed: ViewerData, folder: Path, task: Task, *, limit: int | None = None, clock: Clock = utc_now
) -> TaskApp:
    if task.budget is None:
        raise TaskError(f"task '{task.name}' has no budget, and people are told how many to pick; take er_at_optimal")
    dataset = viewed.dataset
    limit = limit if limit is not None and limit < len(dataset) else None
    rows = _rows(dataset, task, limit)
    positions = {instance_id: position for position, instance_id in enumerate(dataset.ids)}
    if not rows:
        raise TaskError(f"{dataset.path}: task '{task.name}' applies to none of the instances")

    def offer(instance_id: str) -> OfferedPaper:
        instance = dataset[instance_id]
        paper = paper_of(positions[instance_id], instance.query)
        return OfferedPaper(**msgspec.structs.asdict(paper), budget=task.ranking_task(instance).budget or 0)

    def reveal(person: str, submission: RankingAnswer) -> object:
        signature = SystemHeader(name=PERSON, options={"name": person}).signature
        picked = ranking_in(submission)
        record = SystemRecord(label=f"{person} (you)", signature=signature)
        you = ShownSystem(record=record, source=lambda *_: picked, rules=Rules())
        shown = replace(viewed, tasks=(task,), systems=(you, *viewed.systems))
        return {
            "overview": shown.overview(),
            "record": shown.record(positions[submission.id], dataset[submission.id]),
            "seconds": submission.seconds,
        }

    people = picks_folder(folder, data_header(dataset), task.name, limit, clock=clock)
    kind = picking(people, rows, task.name, offer=offer, reveal=reveal, scores=_own_scores(viewed, task, rows))
    about = {"sort": "picks", "title": viewed.title, "task": task.name, "scope": task.scope, "n_tasks": len(rows)}
    return TaskApp(kinds={"tasks": kind}, about=about, folder=folder)


_LONGEST_ID_BYTES = 6_000  # an address holds an id and a person's name, in at most `MAX_TARGET_BYTES`


def _rows(dataset: Dataset, task: Task, limit: int | None) -> dict[str, TaskRow]:
    rows: dict[str, TaskRow] = {}
    for position, instance in enumerate(dataset.instances(limit)):
        if task.applies_to(instance.labels) and _allows_picks(task, instance):
            n_bytes = len(quote(instance.id, safe="", errors="replace"))
            if n_bytes > _LONGEST_ID_BYTES:
                raise DataError(
                    f"{dataset.path}: instance {position}: its id takes {n_bytes} bytes in an address, and people can "
                    f"ask for at most {_LONGEST_ID_BYTES}; give it a shorter one, or leave it out"
                )
            facts = counted(len(instance.query.sentences), "sentence")
            rows[instance.id] = TaskRow(id=instance.id, text=instance.query.hypothesis, facts=facts)
    return rows


def _allows_picks(task: Task, instance: Instance) -> bool:
    """Say whether the budget is more than 0; the minimum cover is not computed for that, since it can take long."""
    if task.budget != "optimal":
        return True
    stored = instance.labels.evaluations.get(task.name)
    if stored is not None and stored.optimal is not None:
        return stored.optimal != 0
    return bool(coverage_of(instance.labels, task.scope).masks)
