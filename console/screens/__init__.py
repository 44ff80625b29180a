"""Screens: one file for each place that `go` reaches, and the overlays that open over them."""
