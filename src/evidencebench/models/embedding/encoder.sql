-- The vectors of all encoders; see encoder.py.
CREATE TABLE encoder (
    id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL
);
CREATE TABLE embedding (
    encoder INTEGER NOT NULL, text BLOB NOT NULL, is_truncated INTEGER NOT NULL, vector BLOB NOT NULL,
    UNIQUE (encoder, text)
);
