"""A flight's events as Parquet tables, and summaries of them."""
