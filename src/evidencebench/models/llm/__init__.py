"""Language models behind a server: asked once, paid once, their replies kept and read.

Read `chat` (what is asked and replied), `providers`, `credentials`, `wire` (how both are written); `client` over
`http_sender`, `connections`, `rate_limits` and `refusals`; `prices`, `budget`, `totals`; `reply_cache` over
`reply_database`, `group_commit` and `request_locks`, with its `inventory`; `batches` over `batch_queue`,
`batch_submission`, `batch_collection` and `batch_apis`, and `open_batches` for runs without them; `estimating` and
`replaying`, which send nothing; `reading` and `parsing` (what a reply selects).
"""
