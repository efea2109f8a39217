"""The dialects: a module each, with its parser and the explorer's colours."""
