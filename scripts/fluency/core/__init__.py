"""The nouns: study, cell, task, record, table and provenance, and how they are read and written."""
