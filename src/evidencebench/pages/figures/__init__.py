"""Pictures of scores: SVG, PNG, and lines of a terminal. They know numbers and names, and nothing else.

Read `bars` (what is drawn), `scale`, `lettering`, `markers`, `style` and `frame` (what every chart is made of), `rows`,
`intervals`, `differences` and `lines` (the charts), `files` (SVG and PNG) and `terminal`.
"""

from evidencebench.pages.figures.bars import Bar, BarGroup, bar_of
from evidencebench.pages.figures.differences import difference_chart
from evidencebench.pages.figures.files import png_file, svg_file
from evidencebench.pages.figures.frame import stacked
from evidencebench.pages.figures.intervals import grouped_chart, interval_chart, table_of_bars, table_of_groups
from evidencebench.pages.figures.lines import ChartLine, line_chart, table_of_lines
from evidencebench.pages.figures.terminal import terminal_bars

__all__ = [
    "Bar",
    "BarGroup",
    "ChartLine",
    "bar_of",
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
