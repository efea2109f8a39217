"""Ground floor: errors, paths, and files that reach the disk whole."""
