"""Pictures of scores: SVG, PNG, and lines of a terminal. They know numbers and names, and nothing else."""

from evidencebench.figures.bars import Bar, Group
from evidencebench.figures.differences import difference_chart
from evidencebench.figures.files import png_file, svg_file
from evidencebench.figures.frame import stacked
from evidencebench.figures.groups import grouped_chart, table_of_groups
from evidencebench.figures.intervals import interval_chart, table_of_bars
from evidencebench.figures.lines import Line, line_chart, table_of_lines
from evidencebench.figures.terminal import terminal_bars

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
