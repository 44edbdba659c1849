"""What finds evidence in a paper, without seeing a label.

Read `controls` (systems to beat), then the folders `retrievers` (they rank sentences), `selectors` (they choose
sentences together) and `strategies` (they ask a language model); then `stored_answers` (a system that answers from a
run file) and `derangement` (each paper gets another paper's hypothesis).
"""
