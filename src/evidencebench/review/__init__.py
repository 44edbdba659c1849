"""The desk of a review: papers and questions, what systems find and people decide.

In reading order:

* `questions`: What is asked of every paper, and what an answer to it is
* `values`: Numbers, one for each arm, and words: typed, and offered by a sentence or a row
* `assignments`: Which reviewers a paper is assigned to
* `found`: What systems answer to a paper and a question
* `desk`: Papers, questions and what was found, in journals; filled in the background, and gone on with after a stop
* `decisions`: What people decide, in journals, and what counts of it
* `table`: The table as a person sees it, and where what the person says is kept
* `report`: How far the review is, how well people agree, and where they differ
* `exports`: What was decided, as tables, notes, a document, marked PDFs and a data set
"""
