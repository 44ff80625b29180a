"""The analyses of the report: one module for each question, listed in `table.ANALYSES`."""
