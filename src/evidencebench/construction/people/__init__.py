"""People check the labels: what they are asked, what they answered, and how well they agree with the model.

Read `tasks` (what is asked, blind), `sampling` (how it is drawn), `answer_journals` (a journal a person) and
`annotations` (what was answered); `exchange/` writes tasks for other tools and reads what was answered there;
`agreement/` computes the report.
"""
