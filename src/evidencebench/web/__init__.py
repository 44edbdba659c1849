"""HTTP, as a client and as a server: addresses are checked, answers bounded in time and size, slow clients cut.

In reading order:

* `retry`: TransientError, BusyError, Retry: the one retry loop
* `fetch`: GET with checked addresses, least speed, longest head (base install, urllib)
* `serving`: uvicorn with limits on slow clients; serve until a signal
"""
