"""Files on the disk: written whole, checked when they are read, and shared between processes.

Read `locks`, `whole_file` and `whole_folder` (writing), `reading` (opening what a user names), `text_file`, `snapshot`
(a file as it was opened), `json_lines`, `records` (a header, then a record a line), `database` (SQLite),
`user_folders`, `cached_file`.
"""
