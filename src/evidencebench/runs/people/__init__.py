"""People as a system: what a person picked, as a run file like any other. Nothing here knows a label.

Read `person_names` and `drafts` (picks, and those that are not final), then `person` (the files of one person) and
`people_folder` (everybody's).
"""
