-- Replies, and what waits for a batch; see replies.py and batch_queue.py.
CREATE TABLE reply (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, model TEXT NOT NULL, base_url TEXT, created REAL NOT NULL,
    prompt_tokens INTEGER, completion_tokens INTEGER, cost_usd REAL,
    reply BLOB NOT NULL, digest BLOB NOT NULL, request BLOB NOT NULL
);
CREATE INDEX reply_by_model ON reply (model, created, prompt_tokens, completion_tokens, cost_usd);
CREATE TABLE batch (
    id INTEGER PRIMARY KEY AUTOINCREMENT, intent TEXT NOT NULL UNIQUE, model TEXT NOT NULL, base_url TEXT, key_env TEXT,
    n_requests INTEGER NOT NULL, created REAL NOT NULL, name TEXT, state TEXT NOT NULL
);
CREATE TABLE waiting (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, model TEXT NOT NULL, base_url TEXT, key_env TEXT,
    created REAL NOT NULL, n_bytes INTEGER NOT NULL, batch INTEGER REFERENCES batch (id), request BLOB NOT NULL
);
CREATE INDEX waiting_by_batch ON waiting (batch, model, base_url, key_env);
CREATE TABLE wanted (key BLOB NOT NULL, sender TEXT NOT NULL, PRIMARY KEY (key, sender)) WITHOUT ROWID;
CREATE TRIGGER waiting_is_over AFTER DELETE ON waiting BEGIN DELETE FROM wanted WHERE key = OLD.key; END;
