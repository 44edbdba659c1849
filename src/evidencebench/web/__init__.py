"""HTTP, asked and served: addresses checked, answers bounded in time and size, slow clients ended.

Read `transient` (failures that the next attempt may not meet), `fetch` over `paced_http`, and `served_json` (JSON as
servers send it); `serving` is how the app and the server for trials are served.
"""
