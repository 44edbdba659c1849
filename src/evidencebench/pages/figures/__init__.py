"""Pictures of scores: SVG, PNG, and lines of a terminal. They know numbers and names, and nothing else."""

from evidencebench.pages.figures.bars import Bar, Group
from evidencebench.pages.figures.differences import difference_chart
from evidencebench.pages.figures.files import png_file, svg_file
from evidencebench.pages.figures.frame import stacked
from evidencebench.pages.figures.groups import grouped_chart, table_of_groups
from evidencebench.pages.figures.intervals import interval_chart, table_of_bars
from evidencebench.pages.figures.lines import Line, line_chart, table_of_lines
from evidencebench.pages.figures.terminal import terminal_bars

__all__ = [
    "Bar",
    "Group",
    "Line",
    "difference_chart",
    "grouped_chart",
    "interval_chart",
    "line_chart",
    "png_file",
    "stacked",
    "svg_file",
    "table_of_bars",
    "table_of_groups",
    "table_of_lines",
    "terminal_bars",
]
