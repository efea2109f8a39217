"""A measured study, or the task bank, in the formats of other programs."""
