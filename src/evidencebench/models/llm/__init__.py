"""Language models behind a server: each request is sent and paid once, and its reply is kept and read.

Read in this order:

* requests and replies: `chat`, `tokens`, `providers`, `credentials`, and `wire` (their format on the network);
* sending: `client`, `http_sender`, `rate_limits`, `refusals`;
* cost: `prices`, `budget`, `totals`;
* the cache of replies: `reply_cache`, `inventory`;
* batches: `batches`, `batch_queue`, `batch_submission`, `batch_collection`, `batch_apis`, and
  `open_batches` (for runs that send one by one while a batch is open);
* clients that send nothing: `estimating` and `replaying`;
* what a reply selects: `reading` and `parsing`.
"""
