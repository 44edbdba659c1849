"""The local app: a server for the paper viewer, with data of any size.

In reading order:

* `server`: Address, security, static files, JSON responses
* `viewer`: Routes of the viewer
* `find`: Papers of the reader's own
* `construction`: Drafts of a construction, and edits
* `list`: The list: sort, filter
* `search`: Full-text search, background scan
"""
