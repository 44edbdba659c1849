"""Write docs/results.md: every system here on the official train split, beside the controls and the published figures.

The data lies outside the repository and is never copied into it. Finished work is kept in a folder of journals, so that
an interrupted call goes on where it stopped; the whole takes about twenty minutes of two cores.
"""

import argparse
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import numpy as np

from evidencebench import open_dataset
from evidencebench.data.dataset import Dataset
from evidencebench.scoring.output import PUBLISHED
from evidencebench.scoring.resampling import Floats
from evidencebench.scoring.significance import adjust, paired_test, percent, ranges_from
from evidencebench.training.crossval import SystemFigures, cross_validate
from evidencebench.training.crossval_splits import DEFAULT_TASKS, CrossValidation
from evidencebench.version import __version__

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results.md"
DATA = ROOT.parent / "shared" / "data" / "evidencebench_train_set.json"

UNTRAINED = (
    "random",
    "lead",
    "lead_no_headings",
    "abstract_first",
    "abstract_backwards",
    "longest",
    "most_digits",
    "bm25",
    "bm25_abstract_first",
    "tfidf",
    "tfidf_char",
    "minilm",
    "minilm:title=true",
    "minilm:neighbours=1",
    "fuse:systems=[bm25+minilm]",
    "fuse:systems=[abstract_backwards+bm25_abstract_first]",
    "diverse:system=minilm",
    "cues",
    "cues:hypothesis=false",
)
N_FOLDS, N_SEEDS = 5, 5

_HEAD = """\
# Results

Aspect recall in %, with 95 % intervals from resampling papers, on the official train split ({n} instances, {papers}
papers; sha256 {sha256}). None of our figures is from a hidden split.

Trained systems are cross-validated ({folds} folds by paper, {seeds} seeds): each paper is answered by models that have
not seen it, each instance counts with its mean over the seeds. Ranks are ranges, the best and the worst that a system
can claim when every pair is tested (sign flips, Holm over all pairs, 5 %).

The first four sections are written by `make results` (evidencebench {version}, Python {python}, {libraries}).
"""

_TUNING = """\
## What was tuned, and how often

* Within the folds: nothing. All constants are in the code.
* On the whole split, before these figures were made: the weights of `cues` (two settings, the second after a ridge
  regression on all of train), the default strengths of `diverse`, and the shape of the learned models (about 120
  configurations, most of models that the finder has replaced). This flatters the result a little: trust a difference
  of a point or two only if another split shows it too.
* Fine-tuned MiniLM is cross-validated [below](#options-and-training): 27.0 / 57.4 / 26.5 / 51.4.
"""


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--work", type=Path, default=ROOT / ".results", help="folder of journals")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    dataset = open_dataset(options.data)
    figures = list(measured(dataset, options.work, options.jobs))
    # The other sections are made by make_finder_results.py and make_direction_model.py, or written by hand.
    finder = RESULTS.read_text(encoding="utf-8").partition("## The finder")
    RESULTS.write_text("\n".join([page(dataset, figures), "".join(finder[1:])]), encoding="utf-8")
    print(f"{RESULTS}: {len(figures)} systems")


def measured(dataset: Dataset, work: Path, jobs: int) -> Iterator[SystemFigures]:
    """Yield the figures of every system."""
    for name, systems, n_seeds in (("untrained", UNTRAINED, 1), ("finder", ("finder",), N_SEEDS)):
        journal = work / f"{''.join(c if c.isalnum() else '-' for c in name)}.jsonl"
        print(f"{name} ...", flush=True)
        yield from cross_validate(
            CrossValidation(systems=systems, n_folds=N_FOLDS, n_seeds=n_seeds),
            dataset,
            jobs=jobs,
            journal=journal,
        )


def page(dataset: Dataset, figures: Sequence[SystemFigures]) -> str:
    """Return the page as Markdown."""
    head = _HEAD.format(
        n=len(dataset),
        papers=len({query.paper_id for query in dataset.queries()}),
        sha256=dataset.sha256[:12],
        version=__version__,
        python=platform.python_version(),
        libraries=", ".join(f"{name} {version(name)}" for name in ("numpy", "lightgbm", "torch", "onnxruntime")),
        folds=N_FOLDS,
        seeds=N_SEEDS,
    )
    return "\n".join(
        [head, *_recalls(dataset, figures), *_differences(dataset, figures), *_hypotheses(figures), _TUNING]
    )


def _recalls(dataset: Dataset, figures: Sequence[SystemFigures]) -> Iterator[str]:
    ranks = {}
    for task in DEFAULT_TASKS:
        values = {one.system: _values(one, task) for one in figures}
        clusters, pairs = _clusters(dataset, figures[0], task), list(combinations(values, 2))
        adjusted = adjust([paired_test(values[one], values[other], clusters) for one, other in pairs])
        p_values = {pair: 1.0 if one is None else one.value for pair, one in zip(pairs, adjusted, strict=True)}
        ranks[task] = ranges_from({name: float(column.mean()) for name, column in values.items()}, p_values)
    yield "## Aspect recall and ranks\n"
    yield f"| system | {' | '.join(DEFAULT_TASKS)} |"
    yield f"| :-- | {' | '.join('--:' for _ in DEFAULT_TASKS)} |"
    for one in sorted(figures, key=lambda one: -one.tasks[DEFAULT_TASKS[0]].recall.mean):
        cells = []
        for task in DEFAULT_TASKS:
            best, worst = ranks[task][one.system]
            cells.append(f"{percent(one.tasks[task].recall)} {best}-{worst}")
        yield f"| `{one.system}` | {' | '.join(cells)} |"
    yield ""
    yield "Published (COLM 2025; means only), on the **test** split and so not to be ranked with the above:\n"
    yield f"| system | {' | '.join(DEFAULT_TASKS)} |"
    yield f"| :-- | {' | '.join('--:' for _ in DEFAULT_TASKS)} |"
    for result in PUBLISHED:
        cells = [f"{result.percents[task]:.1f}" if task in result.percents else "" for task in DEFAULT_TASKS]
        yield f"| {result.name} | {' | '.join(cells)} |"
    yield ""


def _values(one: SystemFigures, task: str) -> Floats:
    return np.array(list(one.tasks[task].per_instance.values()))


def _clusters(dataset: Dataset, one: SystemFigures, task: str) -> list[str]:
    papers = {query.instance_id: query.paper_id for query in dataset.queries()}
    return [papers[instance_id] for instance_id in one.tasks[task].per_instance]


def _differences(dataset: Dataset, figures: Sequence[SystemFigures]) -> Iterator[str]:
    finder = figures[-1]
    yield "## Paired differences to the finder\n"
    yield "The trained `finder` minus the system; above 0, the finder is better.\n"
    yield f"| system | {' | '.join(DEFAULT_TASKS)} |"
    yield f"| :-- | {' | '.join('--:' for _ in DEFAULT_TASKS)} |"
    for one in figures:
        if one is finder:
            continue
        cells = []
        for task in DEFAULT_TASKS:
            clusters = _clusters(dataset, one, task)
            test = paired_test(_values(finder, task), _values(one, task), clusters)
            cells.append(percent(test.difference))
        yield f"| `{one.system}` | {' | '.join(cells)} |"
    yield ""


def _hypotheses(figures: Sequence[SystemFigures]) -> Iterator[str]:
    yield "## Wrong-hypothesis control\n"
    overlaps = {one.system: one.tasks[DEFAULT_TASKS[0]].overlap for one in figures}
    blind = [name for name, overlap in overlaps.items() if overlap is not None and overlap.mean == 1]
    yield "Aspect recall minus that with another paper's hypothesis. It is 0 for systems that read none:"
    yield f"{', '.join(f'`{name}`' for name in blind)}.\n"
    yield f"| system | {' | '.join(DEFAULT_TASKS)} | overlap of selections |"
    yield f"| :-- | {' | '.join('--:' for _ in DEFAULT_TASKS)} | --: |"
    for one in figures:
        if one.system in blind:
            continue
        cells = [percent(one.tasks[task].drop.difference) for task in DEFAULT_TASKS]
        yield f"| `{one.system}` | {' | '.join(cells)} | {percent(overlaps[one.system])} |"
    yield ""


if __name__ == "__main__":
    main()
