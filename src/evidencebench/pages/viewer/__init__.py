"""The viewer of papers with their evidence and what each system chose, as the app and the report show it.

Read `page_records` (what its scripts are given), `viewer_data`, `page_parts` (its scripts and styles, from assets/).
"""
