"""Language models behind a server: each request is sent and paid once, and its reply is kept and read.

In reading order:

* `chat`: ChatModel, ChatRequest, ChatReply, Usage, Sender
* `providers`: Providers, addresses, keys
* `wire`: Bodies and replies of OpenAI and Anthropic; refusals
* `client`: ChatClient.ask/together/drain/close; make_client; estimate and replay senders
* `sender`: HttpSender: attempts, rate limits, refusals
* `costs`: Prices, Budget, RequestTotals
* `replies`: ReplyCache: durable replies, claims, inventory
* `batches`: BatchSender: queue, submit once, collect
* `batch_apis`: OpenAI's and Anthropic's batches
* `reading`: read_selection, read_order, read_scores
* `grammar`: Where an answer stands in a reply
* `grammar_lists`: Numbers, items, JSON, scores, quoted sentences
* `openai_batches`: OpenAI's batches
* `anthropic_batches`: Anthropic's batches
* `grammar_objects`: JSON and scores in a reply
"""
