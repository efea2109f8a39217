"""Generation: what a model is asked, and what keeps an answer from being paid for twice."""
