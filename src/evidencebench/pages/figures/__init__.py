"""Pictures of scores: SVG, PNG, and lines of a terminal. They know numbers and names, and nothing else.

Read `chart_data` (what is drawn), `scale`, `lettering` and `drawing` (what every chart is made of), `interval_charts`
and `lines` (the charts), `files` (SVG and PNG) and `terminal`.
"""

from evidencebench.pages.figures.chart_data import (
    Bar,
    BarGroup,
    ChartLine,
    bar_of,
    table_of_bars,
    table_of_groups,
    table_of_lines,
)
from evidencebench.pages.figures.drawing import stacked
from evidencebench.pages.figures.files import png_file, require_png, svg_file
from evidencebench.pages.figures.interval_charts import difference_chart, grouped_chart, interval_chart, reach_of
from evidencebench.pages.figures.lines import line_chart
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
    "reach_of",
    "require_png",
    "stacked",
    "svg_file",
    "table_of_bars",
    "table_of_groups",
    "table_of_lines",
    "terminal_bars",
]
