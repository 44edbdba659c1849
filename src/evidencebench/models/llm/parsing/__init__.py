"""The grammar of replies: how an answer is found in what a language model writes.

* ``text``: plain marks for decorated ones; texts as quotations are compared.
* ``shown``: the sentences of the prompt, found again where a reply quotes them.
* ``visible``: what is left without reasoning marks and without a next prompt that the model begins itself.
* ``phrases``: *none*, refusals, and remarks that add nothing to a list.
* ``numbers``: a list of numbers, ``[3, 17]`` or ``3, 5-7 and 9``.
* ``items``: a list with one item a line, ``- [3] pressure`` or a quoted sentence.
* ``json_answers``: a JSON value, whatever its keys.
* ``values``: which of these stands at a place, and what it names.
* ``places``: where in a reply the answer stands: the last place that is the reply's own.
* ``scores``: a score for each sentence.
"""
