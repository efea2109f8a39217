"""What people read of a study: report, figures, explorer, a single cell, a comparison."""
