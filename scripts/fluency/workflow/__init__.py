"""The workflow: what Snakemake calls, and what happens before and around a run."""
