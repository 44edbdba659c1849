"""People check the labels: what they are asked, what they answered, and how well they agree with the model.

In reading order:

* `tasks`: What people are asked: tasks for annotators, misses for auditors
* `answers`: What they answer: a folder with a journal for each person
* `exchange`: Tasks for Label Studio and spreadsheets, and what comes back
* `labels`: The labels of what they are asked about, which they do not see
* `marks`: Who marked which sentence, and how well two agree
* `agreement`: The report: people with each other, and with the model; intervals over papers
* `sampling`: Drawing the tasks that people are asked
"""
