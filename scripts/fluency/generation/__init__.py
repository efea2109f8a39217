"""Generation: what a model is asked, the answer store, and everything that keeps an answer from being paid twice.

Nothing is imported here: the process that holds the local model passes through this file and needs none of it.
"""
