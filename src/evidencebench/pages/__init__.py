"""Everything that is shown as pictures or web pages: figures, the paper viewer, the app, its picking pages, the report.

Read `markup`, `paper` and `responses`, then the folders `figures`, `viewer`, `picking`, `app`, `report`, `findings`.
"""
