"""evidencebench: which sentences of a paper are the evidence for or against a hypothesis.

First read the files that every folder uses: `query` (what a system may read), `system` (what answers it, and what it
declares), `specification` (how it is named), `tables`, `wording`, `errors`, `version` and `provenance`. Then read the
folders. Each folder imports only those before it: `files`, `engine`, `web`; `models`,
`papers`, `runs`; `data` (queries with labels) and `systems` (what answers, labels unseen); `execution`, `scoring`,
`training`, `construction`; `pages`, `integrations`, `cli`. The names below are public; everything else is private.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers, which cannot read the table of names below; a test keeps the two alike
    from evidencebench.data.cover import coverage_of as coverage_of
    from evidencebench.data.cover import maximum_coverage as maximum_coverage
    from evidencebench.data.cover import minimum_cover as minimum_cover
    from evidencebench.data.dataset import Dataset as Dataset
    from evidencebench.data.dataset import open_dataset as open_dataset
    from evidencebench.data.dataset import write_dataset as write_dataset
    from evidencebench.data.instance import Instance as Instance
    from evidencebench.data.instance import Labels as Labels
    from evidencebench.data.sample import load_sample as load_sample
    from evidencebench.data.tasks import TASKS as TASKS
    from evidencebench.data.tasks import Task as Task
    from evidencebench.data.tasks import task_named as task_named
    from evidencebench.data.validation import validate_file as validate_file
    from evidencebench.engine.local import InProcess as InProcess
    from evidencebench.engine.local import Threads as Threads
    from evidencebench.engine.processes import Processes as Processes
    from evidencebench.engine.protocol import Engine as Engine
    from evidencebench.engine.protocol import Outcome as Outcome
    from evidencebench.engine.ray import RayCluster as RayCluster
    from evidencebench.errors import EvidenceBenchError as EvidenceBenchError
    from evidencebench.execution.answers import answer_instance as answer_instance
    from evidencebench.execution.answers import answers_from as answers_from
    from evidencebench.execution.finding import Finding as Finding
    from evidencebench.execution.finding import FoundSentence as FoundSentence
    from evidencebench.execution.finding import find_evidence as find_evidence
    from evidencebench.execution.making import make_system as make_system
    from evidencebench.execution.run import execute as execute
    from evidencebench.execution.system_table import SYSTEMS as SYSTEMS
    from evidencebench.integrations.frames import comparisons_frame as comparisons_frame
    from evidencebench.integrations.frames import instances_frame as instances_frame
    from evidencebench.integrations.frames import scores_frame as scores_frame
    from evidencebench.integrations.frames import sentences_frame as sentences_frame
    from evidencebench.integrations.frames import standings_frame as standings_frame
    from evidencebench.integrations.hugging_face import to_hf as to_hf
    from evidencebench.integrations.mteb import mteb_tasks as mteb_tasks
    from evidencebench.integrations.trec import answers_of_frame as answers_of_frame
    from evidencebench.integrations.trec import candidates_frame as candidates_frame
    from evidencebench.integrations.trec import qrels_dict as qrels_dict
    from evidencebench.integrations.trec import qrels_frame as qrels_frame
    from evidencebench.integrations.trec import run_dict as run_dict
    from evidencebench.integrations.trec import run_frame as run_frame
    from evidencebench.integrations.trec import with_qrels as with_qrels
    from evidencebench.models.llm.client import make_client as make_client
    from evidencebench.pages.figures.charts import difference_chart as difference_chart
    from evidencebench.pages.figures.charts import grouped_chart as grouped_chart
    from evidencebench.pages.figures.charts import interval_chart as interval_chart
    from evidencebench.pages.figures.charts import line_chart as line_chart
    from evidencebench.pages.figures.data import Bar as Bar
    from evidencebench.pages.figures.data import BarGroup as BarGroup
    from evidencebench.pages.figures.data import ChartLine as ChartLine
    from evidencebench.pages.figures.data import table_of_bars as table_of_bars
    from evidencebench.pages.figures.data import table_of_groups as table_of_groups
    from evidencebench.pages.figures.data import table_of_lines as table_of_lines
    from evidencebench.pages.figures.drawing import stacked as stacked
    from evidencebench.pages.figures.files import png_file as png_file
    from evidencebench.pages.figures.files import svg_file as svg_file
    from evidencebench.pages.figures.terminal import terminal_bars as terminal_bars
    from evidencebench.papers.paper import Paper as Paper
    from evidencebench.papers.paper import Unit as Unit
    from evidencebench.papers.read import read_paper as read_paper
    from evidencebench.query import Kind as Kind
    from evidencebench.query import Query as Query
    from evidencebench.runs.formats import open_run as open_run
    from evidencebench.scoring.breakdowns import place_breakdown as place_breakdown
    from evidencebench.scoring.compare import compare as compare
    from evidencebench.scoring.evaluate import TaskScores as TaskScores
    from evidencebench.scoring.evaluate import answers_of as answers_of
    from evidencebench.scoring.evaluate import evaluate as evaluate
    from evidencebench.scoring.measures import aspect_recall as aspect_recall
    from evidencebench.scoring.query_controls import measure_query_controls as measure_query_controls
    from evidencebench.scoring.selection import Rules as Rules
    from evidencebench.scoring.selection import select as select
    from evidencebench.system import Asked as Asked
    from evidencebench.system import Brief as Brief
    from evidencebench.system import NamedSystem as NamedSystem
    from evidencebench.system import Ranking as Ranking
    from evidencebench.system import System as System
    from evidencebench.system import Traits as Traits
    from evidencebench.system import rank_by_score as rank_by_score
    from evidencebench.systems.bm25 import BM25 as BM25

from evidencebench.version import __version__ as __version__

# Module -> its public names. Resolved when first used, so that `evidencebench --help` need not import numpy.
_NAMES_OF = {
    "data.dataset": "Dataset open_dataset write_dataset",
    "data.instance": "Instance Labels",
    "data.cover": "coverage_of maximum_coverage minimum_cover",
    "data.sample": "load_sample",
    "data.tasks": "TASKS Task task_named",
    "data.validation": "validate_file",
    "engine.local": "InProcess Threads",
    "engine.processes": "Processes",
    "engine.protocol": "Engine Outcome",
    "engine.ray": "RayCluster",
    "errors": "EvidenceBenchError",
    "execution.answers": "answer_instance answers_from",
    "execution.finding": "Finding FoundSentence find_evidence",
    "execution.run": "execute",
    "execution.making": "make_system",
    "execution.system_table": "SYSTEMS",
    "integrations.frames": "comparisons_frame instances_frame scores_frame sentences_frame standings_frame",
    "integrations.hugging_face": "to_hf",
    "integrations.mteb": "mteb_tasks",
    "integrations.trec": "answers_of_frame candidates_frame qrels_frame run_frame qrels_dict with_qrels run_dict",
    "models.llm.client": "make_client",
    "pages.figures.data": "Bar BarGroup ChartLine table_of_bars table_of_groups table_of_lines",
    "pages.figures.charts": "difference_chart grouped_chart interval_chart line_chart",
    "pages.figures.files": "png_file svg_file",
    "pages.figures.drawing": "stacked",
    "pages.figures.terminal": "terminal_bars",
    "papers.paper": "Paper Unit",
    "papers.read": "read_paper",
    "query": "Kind Query",
    "runs.formats": "open_run",
    "scoring.compare": "compare",
    "scoring.evaluate": "answers_of evaluate TaskScores",
    "scoring.measures": "aspect_recall",
    "scoring.breakdowns": "place_breakdown",
    "scoring.query_controls": "measure_query_controls",
    "scoring.selection": "Rules select",
    "system": "Brief NamedSystem Ranking System rank_by_score Asked Traits",
    "systems.bm25": "BM25",
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

__all__ = ["__version__", *sorted(_MODULE_OF)]  # noqa: PLE0604 - the table above is the one list of names


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'evidencebench' has no attribute '{name}'")
    return getattr(import_module(f"evidencebench.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
