"""The pages for auditors, who see the misses of a run with their sources and say the cause of each.

Read `audit_pages`; the routes are those of `annotating/`.
"""
