"""Language models behind a server: what is asked, the client, the store of replies, prices, and the reader of replies."""
