"""How legible a colour is on another: the formulas of WCAG."""


def brightness(ink: str) -> float:
    """The relative luminance of a colour, `rrggbb`: 0 to 1."""
    channels = [int(ink[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, `rrggbb`: 1 to 21."""
    lighter, darker = sorted((brightness(one), brightness(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)
