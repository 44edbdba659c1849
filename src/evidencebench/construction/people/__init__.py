"""People check the labels: what they are asked, what they answered, and how well they agree with the model.

Read `tasks` (what is asked, blind), `answer_journals` (a journal a person) and `annotations` (what was answered).
"""
