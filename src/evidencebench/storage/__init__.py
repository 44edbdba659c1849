"""How bytes get to the disk and back: whole, checked, and shared between processes.

Read `whole_file` (writing), `reading` (opening what a user names), `snapshot` (a file as it was when it was opened),
`json_lines`, `journal` (a file that grows by lines), `database` (SQLite), `user_folders`, `cached_file`.
"""
