"""HTTP, as a client and as a server: addresses are checked, answers bounded in time and size.

In reading order:

* `retry`: TransientError, BusyError, Retry: the one retry loop
* `http`: Http: the one HTTP client, of models, papers and data
* `fetch`: GET with checked redirects and a least speed
* `serving`: uvicorn; serve until a signal
"""
