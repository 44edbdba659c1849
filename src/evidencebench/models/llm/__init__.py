"""Language models behind a server: each request is sent and paid once, and its reply is kept and read.

In reading order:

* `chat`: ChatModel, ChatRequest, ChatReply, Usage, Sender
* `providers`: Providers, addresses, keys
* `wire`: Bodies and replies of OpenAI, its Responses API, and Anthropic
* `client`: ChatClient.ask/together/drain/close; make_client; estimate and replay senders
* `sender`: HttpSender: attempts, rate limits, refusals
* `logprobs`: Log probabilities of the scores in a reply, and scores that are weighed by them
* `inspect_models`: InspectModels: models of inspect_ai by name
* `costs`: Prices, Budget, RequestTotals
* `replies`: ReplyCache: durable replies, claims, inventory
* `batch_queue`: Requests that wait for a batch, and open batches
* `batch_apis`: The batch interfaces of OpenAI and Anthropic
* `batches`: BatchSender: queue, submit once, collect
* `objects`: JSON objects in replies, read where they mean one thing
* `reading`: read_selection, read_order, read_scores
* `grammar`: Where an answer or scores stand in a reply
* `grammar_lists`: Numbers, items, quoted sentences
"""
