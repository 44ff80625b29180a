"""Producers: the table of the overview."""
