"""The desk of a review: papers and questions, what systems find and people decide.

In reading order:

* `desk`: Papers, questions and the table between them, filled in the background; goes on after a stop
* `decisions`: What people decide, in journals; disputes, and how well people agree
* `exports`: What was decided, as tables, notes, documents, marked PDFs and a data set
"""
