"""The report: one HTML file that shows the scores of runs on a data set, with intervals, tests and papers.

In reading order:

* `page`: report_page(): the page, its sections, its method
* `data`: The runs, scored and ranked once for all sections
* `blocks`: Tables, notes, folded parts
* `opening`: Four answers: best, reads the hypothesis, missed, cost
* `scores`: Leaderboards, forest, pairs
* `hypotheses`: Query controls
* `breakdowns`: Recall by budget and by properties; what picks add
* `failures`: Failures and costs
"""
