"""What people read of a study: the report and its figures, the explorer, a single cell, a comparison."""
