"""What a terminal must never get: characters that it obeys, and those that turn the direction of text."""

_TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"


def raw_in(text: str, allowed: str = "") -> str:
    """Those that are in a text, each once; empty for one that can be printed."""
    obeyed = {one for one in text if (not one.isprintable() and ord(one) < 0xA0) or one in _TURNS}
    return "".join(sorted(obeyed.difference(allowed)))
