"""Classes of characters in RE2/J 1.8, as sets of ASCII characters: bit n of a mask stands for character n.

A topic's name is ASCII, so what else a class has decides nothing. Source: RE2/J's `CharGroup` and Unicode tables.
"""

import unicodedata
from typing import Final


def mask_of(low: int, high: int) -> int:
    """The ASCII characters among these code points."""
    high = min(high, 127)
    return (1 << (high + 1)) - (1 << low) if low <= high else 0


def _of(text: str) -> int:
    return sum(1 << ord(character) for character in text)


ALL: Final = mask_of(0, 127)
_DIGITS: Final = mask_of(48, 57)
_UPPER: Final = mask_of(65, 90)
_LOWER: Final = mask_of(97, 122)
WORD: Final = _DIGITS | _UPPER | _LOWER | _of("_")
PERL_CLASSES: Final = {"d": _DIGITS, "s": _of("\t\n\f\r "), "w": WORD}
POSIX_CLASSES: Final = {
    "alnum": _DIGITS | _UPPER | _LOWER,
    "alpha": _UPPER | _LOWER,
    "ascii": ALL,
    "blank": _of("\t "),
    "cntrl": mask_of(0, 31) | mask_of(127, 127),
    "digit": _DIGITS,
    "graph": mask_of(33, 126),
    "lower": _LOWER,
    "print": mask_of(32, 126),
    "punct": mask_of(33, 47) | mask_of(58, 64) | mask_of(91, 96) | mask_of(123, 126),
    "space": mask_of(9, 13) | _of(" "),
    "upper": _UPPER,
    "word": WORD,
    "xdigit": _DIGITS | _of("abcdefABCDEF"),
}
_CATEGORIES: Final = {
    "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl",
    "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
}  # fmt: skip
_SCRIPTS_WITHOUT_ASCII: Final = {
    "Arabic", "Armenian", "Avestan", "Balinese", "Bamum", "Batak", "Bengali", "Bopomofo", "Brahmi", "Braille",
    "Buginese", "Buhid", "Canadian_Aboriginal", "Carian", "Cham", "Cherokee", "Coptic", "Cuneiform", "Cypriot",
    "Cyrillic", "Deseret", "Devanagari", "Egyptian_Hieroglyphs", "Ethiopic", "Georgian", "Glagolitic", "Gothic",
    "Greek", "Gujarati", "Gurmukhi", "Han", "Hangul", "Hanunoo", "Hebrew", "Hiragana", "Imperial_Aramaic",
    "Inherited", "Inscriptional_Pahlavi", "Inscriptional_Parthian", "Javanese", "Kaithi", "Kannada", "Katakana",
    "Kayah_Li", "Kharoshthi", "Khmer", "Lao", "Lepcha", "Limbu", "Linear_B", "Lisu", "Lycian", "Lydian",
    "Malayalam", "Mandaic", "Meetei_Mayek", "Mongolian", "Myanmar", "New_Tai_Lue", "Nko", "Ogham", "Ol_Chiki",
    "Old_Italic", "Old_Persian", "Old_South_Arabian", "Old_Turkic", "Oriya", "Osmanya", "Phags_Pa",
    "Phoenician", "Rejang", "Runic", "Samaritan", "Saurashtra", "Shavian", "Sinhala", "Sundanese",
    "Syloti_Nagri", "Syriac", "Tagalog", "Tagbanwa", "Tai_Le", "Tai_Tham", "Tai_Viet", "Tamil", "Telugu",
    "Thaana", "Thai", "Tibetan", "Tifinagh", "Ugaritic", "Unknown", "Vai", "Yi",
}  # fmt: skip
_FOLDS: Final = {"Lu": _LOWER, "Ll": _of("KS")}  # what (?i) adds to a category: RE2/J's table of Ll has no more
_FOLDED_TO_ASCII: Final = {0x17F: _of("sS"), 0x212A: _of("kK")}  # ſ and the Kelvin sign


def unicode_class(name: str, ignore_case: bool) -> int | None:
    """The ASCII characters of a category or script of Unicode; None if RE2/J has none of this name."""
    if name == "Any":
        return ALL
    if name == "Latin":
        return _UPPER | _LOWER
    if name == "Common":
        return ALL & ~(_UPPER | _LOWER)
    if name in _SCRIPTS_WITHOUT_ASCII:
        return 0
    if name not in _CATEGORIES:
        return None
    mask = sum(1 << code for code in range(128) if unicodedata.category(chr(code)).startswith(name))
    return mask | (_FOLDS.get(name, 0) if ignore_case else 0)


def folded(low: int, high: int) -> int:
    """The ASCII characters among these code points, and those that differ from them by their case only."""
    mask = with_both_cases(mask_of(low, high))
    for code, letters in _FOLDED_TO_ASCII.items():
        if low <= code <= high:
            mask |= letters
    return mask


def with_both_cases(mask: int) -> int:
    """These characters, and each letter of them in its other case."""
    letters = mask & (_UPPER | _LOWER)
    return mask | (letters & _UPPER) << 32 | (letters & _LOWER) >> 32
