"""Language models and embedding models, on a server or on this machine.

In reading order:

* `model_card`: card.json of a trained model
* `embedding`: Turn texts into vectors, each computed once and then read from a cache
* `llm`: Language models behind a server: each request is sent and paid once, and its reply is kept and read
"""
