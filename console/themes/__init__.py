"""Themes: their names, their palettes, the styles of tones, and which one is shown."""
