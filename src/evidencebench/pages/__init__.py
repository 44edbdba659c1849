"""Everything that is shown as pictures or web pages: figures, the viewer, the app, the pages of people, the report.

Read `markup`, `paper`, `task_title` and `responses`, then the folders `figures`, `viewer`, `app`, `people`, `report`;
then `static_page`, with its users `findings` and `disagreements`.
"""
