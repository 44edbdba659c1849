"""Charts of scores: as SVG, as PNG, and as text in a terminal. Their input is numbers and names only.

In reading order:

* `data`: Bar, ChartLine, their tables
* `drawing`: Axes, text, marks
* `bars`: Interval charts, panels, row plots
* `lines`: Curves
* `terminal`: Charts as text
* `files`: SVG and PNG files
"""

from evidencebench.pages.figures.bars import RowAxis as RowAxis
from evidencebench.pages.figures.bars import difference_chart as difference_chart
from evidencebench.pages.figures.bars import grouped_chart as grouped_chart
from evidencebench.pages.figures.bars import interval_chart as interval_chart
from evidencebench.pages.figures.bars import panel_chart as panel_chart
from evidencebench.pages.figures.bars import reach_of as reach_of
from evidencebench.pages.figures.bars import row_axis as row_axis
from evidencebench.pages.figures.bars import row_mark as row_mark
from evidencebench.pages.figures.data import Bar as Bar
from evidencebench.pages.figures.data import BarGroup as BarGroup
from evidencebench.pages.figures.data import ChartLine as ChartLine
from evidencebench.pages.figures.data import bar_of as bar_of
from evidencebench.pages.figures.data import table_of_bars as table_of_bars
from evidencebench.pages.figures.data import table_of_groups as table_of_groups
from evidencebench.pages.figures.data import table_of_lines as table_of_lines
from evidencebench.pages.figures.drawing import look_of_bar as look_of_bar
from evidencebench.pages.figures.drawing import marker as marker
from evidencebench.pages.figures.drawing import stacked as stacked
from evidencebench.pages.figures.files import png_file as png_file
from evidencebench.pages.figures.files import require_png as require_png
from evidencebench.pages.figures.files import svg_file as svg_file
from evidencebench.pages.figures.lines import line_chart as line_chart
from evidencebench.pages.figures.terminal import terminal_bars as terminal_bars
