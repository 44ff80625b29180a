"""View and instant → lines of text with tones: everything that screens show, worked out without a terminal.

A presenter is a pure function of a `ClusterView`, `now_us` and a width. It answers with lines (`presenters.text`): runs
of characters, each with the name of a tone. What a tone looks like is the theme's business (`widgets.panel`).
"""
