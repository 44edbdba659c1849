"""HTTP, as a client and as a server: addresses are checked, answers bounded in time and size, slow clients cut.

Read `transient` (when to attempt again), `fetch` over `paced_http`, and `served_json` (JSON as
servers send it); `serving` serves the app and the server for trials.
"""
