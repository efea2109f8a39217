"""Generation: what a model is asked, the answer store, and what keeps an answer from being paid for twice."""
