"""The embedded model: a language model on this machine, behind the chat wire; no key, no cost."""
