"""Charts of scores: as SVG, as PNG, and as text in a terminal. Their input is numbers and names only.

Read `chart_data` (the records that charts draw), `lettering` and `drawing` (text, lines and marks of every chart),
`interval_charts`, `row_plots`, `lines` and `panels` (the charts), `files` (SVG and PNG) and `terminal`.
"""

from evidencebench.pages.figures.chart_data import Bar as Bar
from evidencebench.pages.figures.chart_data import BarGroup as BarGroup
from evidencebench.pages.figures.chart_data import ChartLine as ChartLine
from evidencebench.pages.figures.chart_data import bar_of as bar_of
from evidencebench.pages.figures.chart_data import table_of_bars as table_of_bars
from evidencebench.pages.figures.chart_data import table_of_groups as table_of_groups
from evidencebench.pages.figures.chart_data import table_of_lines as table_of_lines
from evidencebench.pages.figures.drawing import look_of_bar as look_of_bar
from evidencebench.pages.figures.drawing import marker as marker
from evidencebench.pages.figures.drawing import stacked as stacked
from evidencebench.pages.figures.files import png_file as png_file
from evidencebench.pages.figures.files import require_png as require_png
from evidencebench.pages.figures.files import svg_file as svg_file
from evidencebench.pages.figures.interval_charts import difference_chart as difference_chart
from evidencebench.pages.figures.interval_charts import grouped_chart as grouped_chart
from evidencebench.pages.figures.interval_charts import interval_chart as interval_chart
from evidencebench.pages.figures.interval_charts import reach_of as reach_of
from evidencebench.pages.figures.lines import line_chart as line_chart
from evidencebench.pages.figures.panels import panel_chart as panel_chart
from evidencebench.pages.figures.row_plots import RowAxis as RowAxis
from evidencebench.pages.figures.row_plots import row_axis as row_axis
from evidencebench.pages.figures.row_plots import row_mark as row_mark
from evidencebench.pages.figures.terminal import terminal_bars as terminal_bars
