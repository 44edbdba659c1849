"""Language models behind a server: what is asked, the client, the cache of replies, prices, the reader of replies."""
