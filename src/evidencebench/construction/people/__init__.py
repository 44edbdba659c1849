"""People check the labels: what they are asked, what they answered, and how well they agree with the model.

Read `tasks` (what is asked, blind) and `annotations` (what was answered, a journal an annotator).
"""
