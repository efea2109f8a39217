"""Two studies side by side, model by model: what changed, how sure that is, and what was run differently."""
