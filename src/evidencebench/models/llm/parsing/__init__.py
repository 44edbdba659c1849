"""The grammar of replies: how an answer is found in the text of a language model.

The grammar, on a page::

    reply    the text behind the reasoning marks (<think>...</think>), up to a next prompt that the model itself begins
    answer   the last of: a line that begins with ANSWER, a tag <answer>, a LaTeX box, JSON that opens a line
             else JSON that does not parse, by its key: "sentences": [3, 17
             else the whole reply, its last line in brackets, or what words of choosing introduce: Selected: [3, 17]
    value    JSON | none | numbers | items; behind it on its line only a remark without numbers, or (a remark)
    JSON     [entry, ...], or an object that holds it below a key such as "sentences", "indices" or "answer"
             entry: 3 | "3-5" | "[3] why" | "the text of a sentence" | an object with "sentence", "index", "text", "id"
    numbers  [3, 17] | [3] [17] | 3, 5-7 and 9 | Sentences 3, 17
    items    one a line, with or without bullets or numbering: [3] why | 3: why | Sentence 3 - why | a quoted sentence
    scores   one a line: 12: 7 | [12] 7/10 | 12 -> 70% | JSON

Text that this grammar does not read is never guessed at. A list in prose is a citation. An answer with an exception
(*none, but [3] is close*), or with a second list behind it, may mean one thing or the other. A line of the reply that
repeats a sentence of the paper is no answer. In a reply that was cut off, a list without its closing bracket is not
taken. Only ASCII digits are numbers.

* ``text``: plain marks for decorated ones; the sentences of the prompt, found again where a reply quotes them.
* ``visible``: the reply without hidden reasoning and without a next prompt that the model itself begins.
* ``phrases``: *none*, refusals, and remarks that add nothing to a list.
* ``numbers`` and ``items``: the two forms of a list.
* ``json_answers``: a JSON value, whatever its keys.
* ``answers``: where in a reply the answer stands, and what it names; the branches of the grammar by name.
* ``scores``: a score for each sentence.
"""
