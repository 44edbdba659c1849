"""Everything that is shown as pictures or web pages: figures, the viewer, the app, the pages of people, the report.

In reading order:

* `html`: HTML and SVG as trees, assets, pages in one file
* `paper`: The records that pages give to their scripts
* `viewer`: A data set with its systems, as the viewer and the report show it
* `figures`: Charts of scores: as SVG, as PNG, and as text in a terminal. Their input is numbers and names only
* `report`: The report: one HTML file that shows the scores of runs on a data set, with intervals, tests and papers
* `findings_page`: What `find` found, as a page
* `app`: The local app: a server for the paper viewer, with data of any size
* `people`: The pages for people who answer tasks, each by name
* `disagreements`: Disagreements as a page
* `construction`: What became of a construction's drafts, also as a page
* `exchanges`: Stored prompts and replies, for the pages
"""
