"""``evidencebench demo``."""

import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated

import click

from evidencebench.cli import options
from evidencebench.cli.controls import WRONG_HYPOTHESIS, measured
from evidencebench.cli.output import print_prose, print_result, print_signatures
from evidencebench.cli.scoring_options import print_bars
from evidencebench.data.dataset import Dataset
from evidencebench.data.optima import solve_file
from evidencebench.data.sample import load_sample, sample_path
from evidencebench.data.tasks import TASKS
from evidencebench.data.validation import validate_file
from evidencebench.errors import EvidenceBenchError
from evidencebench.execution.making import make_system
from evidencebench.execution.run import execute
from evidencebench.experiment.boards import leaderboard_result
from evidencebench.experiment.pairs import control_result
from evidencebench.experiment.result_table import board_bars
from evidencebench.scoring.output import signature
from evidencebench.scoring.resampling import Resampling
from evidencebench.scoring.score_runs import score_runs
from evidencebench.scoring.selection import Rules

_SYSTEMS = ("lead", "abstract_backwards", "bm25", "bm25_abstract_first", "tfidf", "cues", "greedy_oracle")
_NEXT = """\
What to do next
  evidencebench find "Dietary PBDE-47 lowers plasma T4" sample
                                                   evidence in a paper
  evidencebench data show sample 1 --evidence      read an instance
  evidencebench systems                            list the systems
  evidencebench run cues --data sample -o cues.jsonl
  evidencebench score cues.jsonl --data sample     score it, task by task
  evidencebench report cues.jsonl --data sample -o report.html
                                                   see it, paper by paper
"""


@options.command
def demo(
    *,
    output: Annotated[Path | None, options.output("FOLDER", "Keep the run files in this folder.", options.FOLDER)],
    seed: options.Seed,
) -> None:
    """Validate, solve, run and score the built-in sample.

    \b
    Example: evidencebench demo -o demo-runs
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = output or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        dataset = load_sample()
        validated = validate_file(sample_path())
        papers = len({query.paper_id for query in dataset.queries()})
        click.echo(f"The sample: {len(dataset)} synthetic instances from {papers} invented papers.")
        if not validated.is_valid:
            raise EvidenceBenchError(f"the sample is damaged: {validated.violations[0]}")
        click.echo("1. Validated: every rule of the published format holds.")
        solved = solve_file(dataset, Path(scratch) / "solved.json")
        n_optima = sum(len(instance.labels.evaluations) for instance in dataset)
        click.echo(f"2. Solved: {n_optima} optima computed exactly, {len(solved.unproven)} unproven.")
        runs = [folder / f"{system}.jsonl" for system in _SYSTEMS]
        for system, run in zip(_SYSTEMS, runs, strict=True):
            execute(system, dataset, run, seed=seed)
        print_prose(f"3. Ran {len(_SYSTEMS)} systems: {', '.join(_SYSTEMS)}.", "   ")
        _rank(dataset, runs, seed)
        _swap_hypotheses(dataset, seed)
    if output:
        click.echo(f"The runs are in {output}.\n")
    click.echo(_NEXT, nl=False)


def _rank(dataset: Dataset, runs: list[Path], seed: int) -> None:
    click.echo("4. Leaderboard: aspect recall in %, with 95 % intervals over papers.\n")
    tasks, resampling = [TASKS[name] for name in ("er_at_optimal", "er_at_10")], Resampling(seed=seed)
    result = leaderboard_result(score_runs(runs, dataset, tasks, rules=Rules()), resampling)
    rows = {task: board.merged.standings for task, board in result.found.items()}
    bars = [partial(print_bars, board_bars(standings)) for standings in rows.values()]
    print_result(result, "text", bars, signatures=False)
    click.echo("   With nine papers almost no difference is significant, hence the wide ranges.\n")
    click.echo("   The signature of each score (the system is that of its row):")
    signed = (signature(dataset, "...", task=task, n=rows[task.name][0].n, resampling=resampling) for task in tasks)
    print_signatures(signed, "text")
    click.echo()


def _swap_hypotheses(dataset: Dataset, seed: int) -> None:
    click.echo("5. The wrong-hypothesis control: each instance is asked with another paper's\n   hypothesis.\n")
    systems = {name: make_system(name) for name in ("bm25", "bm25_abstract_first", "cues", "abstract_backwards")}
    resampling = Resampling(seed=seed)
    results = measured(systems, dataset, [TASKS["er_at_10"]], [WRONG_HYPOTHESIS], resampling=resampling)
    print_result(
        control_result(results, {name: name for name in systems}, dataset, resampling), "text", signatures=False
    )
