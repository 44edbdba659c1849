"""Two systems, instance by instance; drawn in the browser from the papers' list."""

from evidencebench.pages.markup import Node, node
from evidencebench.pages.report.blocks import note, section


def scatter_section(*, has_papers: bool) -> Node:
    """Return where the two systems are chosen and drawn, or why they cannot be."""
    if not has_papers:
        return section("scatter", "Instance by instance", note("Left out with the papers (see below)."))
    return section(
        "scatter",
        "Instance by instance",
        note(
            "Each mark is an instance: the recall of A to the right, of B upwards; on the diagonal both are equal. "
            "Where several coincide, the mark is larger and says how many. The table behind it leads to each paper."
        ),
        node("div", {"id": "scatter-plot"}),
        node("noscript", None, note("The plot is drawn by the page's script, which this browser does not run.")),
    )
