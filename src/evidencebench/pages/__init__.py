"""Everything that is shown as pictures or web pages: figures, the viewer, the app, the pages of people, the report.

In reading order:

* `html`: node(), assets, pages in one file
* `paper`: Records of a paper and its graded answers for scripts
* `viewer`: ViewerData; stored exchanges
* `figures`: Charts of scores: as SVG, as PNG, and as text in a terminal. Their input is numbers and names only
* `report`: The report: one HTML file that shows the scores of runs on a data set, with intervals, tests and papers
* `findings`: Findings as words, JSON, CSV, RIS, page; the app's page
* `app`: The local app: a server for the paper viewer, with data of any size
* `people`: The pages for people who answer tasks, each by name
* `disagreements`: Disagreements as a page
* `exchanges`: Stored prompts and replies, for the pages
"""
