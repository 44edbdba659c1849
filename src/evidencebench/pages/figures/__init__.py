"""Charts of scores: as SVG, as PNG, and as text in a terminal. Their input is numbers and names only.

In reading order:

* `data`: Series: the numbers of a system
* `drawing`: Axes, text, marks
* `charts`: Interval charts, panels, row plots, curves
* `terminal`: Charts as text
* `files`: SVG and PNG files
"""
