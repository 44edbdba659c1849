"""Everything that is shown as pictures or web pages: figures, the viewer, the app, the pages of people, the report.

Read `markup`, `paper`, `task_title`, `responses`, `sessions` and `sign_ins`, then the folders `figures`, `viewer`,
`picking`, `app`, `annotating`, `auditing`, `report`; then `static_page`, with its users `findings` and
`disagreements`.
"""
