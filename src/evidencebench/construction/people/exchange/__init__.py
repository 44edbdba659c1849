"""Tasks for the annotation tools of others, and what people answered there.

Read `tool_files` (what is written for which tool) and `answers` (annotations from any of these, told by content), then
`label_studio` and `sheet` (one CSV for a spreadsheet). `foreign` has what they share.
"""
