"""What people look at: figures, the paper viewer, the app, its picking pages and the report.

Read `markup`, `paper` and `responses`, then the folders `figures`, `viewer`, `picking`, `app`, `report`.
"""
