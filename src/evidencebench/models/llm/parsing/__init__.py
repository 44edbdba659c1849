"""The pieces of the reader of replies: text, numbers, loose JSON, quoted sentences, and where an answer stands."""
