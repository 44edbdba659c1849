"""The pages for people who answer a file of tasks, each by name. No file here imports a module that knows labels.

Read `task_pages` (routes of tasks that people answer, of any sort), `annotation_pages` (marked sentences and ratings),
`adjudication` (tasks on which annotators differ) and `app`.
"""
