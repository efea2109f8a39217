"""Random small faults in the product's own code, each run against the tests that cover its line."""
