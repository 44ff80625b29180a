"""Widgets: canvases that draw a presenter's lines with Textual's Line API, and the command line."""
