"""The analysis: from the cells table and the design to numbers, without files or a clock."""
