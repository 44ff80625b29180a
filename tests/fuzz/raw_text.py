"""What a terminal must never get: characters that it obeys."""

_TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"


def harmless(text: str, allowed: str) -> None:
    """No character that a terminal obeys, and none that turns the direction of text. Raises AssertionError."""
    raw = [one for one in text if not one.isprintable() and one not in allowed and (ord(one) < 0xA0 or one in _TURNS)]
    assert not raw, ascii(text)
