"""Screens: one file for each place that `go` can reach, and those that open over them."""
