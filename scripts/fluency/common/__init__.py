"""The lowest layer: errors, paths, hashes, locks, and atomic writes."""
