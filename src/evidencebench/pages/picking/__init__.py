"""What people who pick sentences are served from before they submit: nothing here imports what knows a label.

Read `assignment`, `sessions`, `refusals`, `routes`.
"""
