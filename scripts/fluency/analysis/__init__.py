"""The analysis: the cells table and the design in, numbers out. Nothing here reads a file or a clock."""
