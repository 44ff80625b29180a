"""The themes by name. Read without Textual, also by a console that shows no screens."""

DARK, LIGHT, CONTRAST, MONO = "flightdeck-dark", "flightdeck-light", "flightdeck-contrast", "flightdeck-mono"
TERMINAL = "flightdeck-terminal"

DESCRIPTIONS = {
    DARK: "dark",
    LIGHT: "light",
    CONTRAST: "high contrast",
    MONO: "monochrome",
    TERMINAL: "the terminal's own colours",
}
"""What each theme is called in words, in the order of the key that switches."""

THEME_NAMES = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST, "mono": MONO, "terminal": TERMINAL}
"""The themes as `:theme` and `--theme` take them."""
