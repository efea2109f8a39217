"""The pages that are made from code, records and the example archive."""
