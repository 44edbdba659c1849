"""Language models behind a server: what is asked, the client, the store of replies, prices, the reader of replies."""
