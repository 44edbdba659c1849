"""The pages for people who answer tasks, each by name.

Read `tasks` (the app, for tasks of any kind), then its kinds: `picks`, `annotations` (with adjudication) and `audits`;
`assignments` and `own_scores` have the papers for people who pick, and the labels and scores that they see afterwards.
"""
