"""View and instant → lines of text with tones: everything that screens show, computed without a terminal.

A presenter is a pure function of a `ClusterView`, `now_us` and a width. It returns lines (`presenters.styled_text`):
runs of characters, each with the name of a tone. The theme (`widgets.panel`) maps a tone to a style.
"""
