"""The grammar of replies: how an answer is found in what a language model writes.

The grammar, on a page::

    reply    what stands behind the reasoning marks (<think>...</think>), up to a next prompt that the model begins
    answer   the last of: a line that begins with ANSWER, a tag <answer>, a LaTeX box, JSON that opens a line
             else JSON that does not parse, by its key: "sentences": [3, 17
             else the whole reply, its last line in brackets, or what words of choosing introduce: Selected: [3, 17]
    value    JSON | none | numbers | items; behind it on its line only a remark without numbers, or (a remark)
    JSON     [entry, ...], or an object that holds it below a key such as "sentences", "indices" or "answer"
             entry: 3 | "3-5" | "[3] why" | "the text of a sentence" | an object with "sentence", "index", "text", "id"
    numbers  [3, 17] | [3] [17] | 3, 5-7 and 9 | Sentences 3, 17
    items    one a line, with or without bullets or numbering: [3] why | 3: why | Sentence 3 - why | a quoted sentence
    scores   one a line: 12: 7 | [12] 7/10 | 12 -> 70% | JSON

What this does not read is not guessed: a list in prose is a citation, an answer with an exception (*none, but [3] is
close*) may mean one thing or the other. So it is where a second list stands behind the answer. A line of the reply that
stands in a sentence of the paper is the paper's. Of a reply that was cut off, an open list is not taken. Digits are
ASCII's; those of other writings are no numbers.

* ``text``: plain marks for decorated ones; the sentences of the prompt, found again where a reply quotes them.
* ``visible``: what is left without reasoning marks and without a next prompt that the model begins itself.
* ``phrases``: *none*, refusals, and remarks that add nothing to a list.
* ``numbers`` and ``items``: the two forms of a list.
* ``json_answers``: a JSON value, whatever its keys.
* ``answers``: where in a reply the answer stands, and what it names; the branches of the grammar by name.
* ``scores``: a score for each sentence.
"""
