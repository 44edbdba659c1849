"""The paper viewer of the app and the report: a paper with its evidence, and the sentences that each system selected.

Read `page_records` (the JSON for its scripts), `viewer_data`, `page_parts` (its scripts and styles, from assets/).
"""
