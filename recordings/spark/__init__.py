"""Recordings as Spark sees them: one session, the tables, one module for each analysis, the report."""
