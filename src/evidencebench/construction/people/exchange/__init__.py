"""Tasks for the annotation tools of others, and what people answered there.

Read `answers` (what is written for which tool, and annotations from any of these), then `label_studio` and `sheet` (one
CSV for a spreadsheet). `foreign` has what they share.
"""
