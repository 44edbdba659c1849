"""How bytes get to the disk and back: whole, checked, and shared between processes.

Read `locks`, `whole_file` (writing), `reading` (opening what a user names), `snapshot` (a file as it was opened),
`json_lines`, `journal` (a file that grows by lines), `database` (SQLite), `user_folders`, `cached_file`.
"""
