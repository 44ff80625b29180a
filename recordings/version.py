"""The version of Flightdeck: written into recordings, printed by `--version`. And the kind of this build."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

VERSION = "0.1.0"

ROOT = Path(__file__).parents[1]
PURE, COMPILED = "pure", "compiled"


def build_kind(root: Path = ROOT) -> str:
    """Whether the packages in this directory run as Python (`pure`) or as extension modules (`compiled`)."""
    timeline = root / "cluster" / "virtual_time" / "timeline"
    compiled = any(timeline.with_name(timeline.name + suffix).exists() for suffix in EXTENSION_SUFFIXES)
    return COMPILED if compiled else PURE
