"""The rules of the published format, and every place where a file breaks one.

Read `checked_record` (an instance that is checked, and what was found), `rules` (of its fields), `evaluation_rules` (of
stored optima) and `validate` (over files).
"""
