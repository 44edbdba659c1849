"""The report of papers without labels: there is nothing to score, so it shows what each run chose."""

from collections.abc import Iterator
from itertools import islice

from evidencebench.pages.markup import Node, node
from evidencebench.pages.report.blocks import code, isolated_name, list_node, note, paragraph, terms_node
from evidencebench.pages.viewer.page_records import GradedInstance, ListRow, SystemRecord
from evidencebench.pages.viewer.viewer_data import ViewerData
from evidencebench.version import __version__
from evidencebench.wording import counted


def runs_of(viewed: ViewerData) -> list[SystemRecord]:
    """Return the records of the runs."""
    return [shown.record for shown in viewed.systems if not shown.record.is_control]


def unlabelled_papers(viewed: ViewerData, n_instances: int) -> Iterator[tuple[ListRow, GradedInstance]]:
    """Yield the row and the record of each instance."""
    for position, instance in enumerate(islice(viewed.dataset, n_instances)):
        yield viewed.row(position, instance), viewed.record(position, instance)


def unlabelled_results(viewed: ViewerData, n_instances: int, *, has_papers: bool) -> Node:
    """Return the page's results: why there are none, and of what data and runs."""
    papers = counted(n_instances, "paper")
    if has_papers:
        link = node("a", {"href": "#/papers"}, "See what each run chose")
        where = paragraph(link, " in each paper.")
    else:
        where = paragraph(
            "The papers are not in this page; ", code("evidencebench view"), " shows what each run chose."
        )
    listed = (node("span", None, isolated_name(run.label), ": ", code(run.signature)) for run in runs_of(viewed))
    facts = {
        "Data": (isolated_name(viewed.dataset.name), ", sha256 ", node("code", None, viewed.dataset.sha256)),
        "Papers": (papers,),
        "Runs": (list_node(*listed),),
        "Made by": (f"evidencebench {__version__}",),
    }
    return node(
        "main",
        {"id": "results"},
        node(
            "section",
            {"id": "summary", "aria-labelledby": "summary-title", "tabindex": "-1"},
            node("h1", {"id": "summary-title", "class": "foreign", "dir": "auto"}, viewed.title),
            paragraph(
                "There is nothing to score: the papers have no labels, so no answer is right or wrong.", look="finding"
            ),
            where,
            note(
                "A task with a fixed number of sentences, such as er_at_10, shows so many of each answer. How many "
                "er_at_optimal allows is known only with labels."
            ),
            terms_node(facts.items(), look="facts"),
        ),
    )
