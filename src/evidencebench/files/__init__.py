"""Read: disk, atomic, records.

In reading order:

* `disk`: open_file, read_bytes, read_text, Snapshot: regular files only, bounded, changes noticed
* `atomic`: write_file, write_folder, cached_file: there whole or not at all
* `records`: RecordFile: header + one JSON object a line, appendable, kill -9 safe, resumable; the only such format
* `sqlite`: SQLite files that processes share
* `places`: Data and cache folders, locks between processes
"""
