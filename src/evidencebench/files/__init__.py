"""Read and write files safely.

In reading order:

* `disk`: read regular files up to a size limit, and notice when a data file changes
* `atomic`: write files and folders so that a reader finds them whole or not at all
* `records`: files of a header and then one JSON object a line, which a killed process can go on with
* `sqlite`: SQLite files that processes share
* `workbook`: tables as a spreadsheet
* `remote`: copies of files that lie elsewhere
* `places`: Data and cache folders, locks between processes
"""
