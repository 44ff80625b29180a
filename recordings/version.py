"""The version of Flightdeck: written into recordings, printed by `--version`. And what of this build is compiled.

A compiled wheel has a list of its compiled modules, which `build_hook/compiling.py` writes into `cluster`.
A module on it may run as Python all the same: its extension module was removed, or is for another Python.
"""

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

VERSION = "0.1.0"

ROOT = Path(__file__).parents[1]
COMPILED_MODULES = Path("cluster", "compiled_modules.txt")
"""The compiler and its version, then one module a line."""

PURE, PARTLY, COMPILED = "pure", "partly compiled", "compiled"


def build_kind(root: Path = ROOT) -> str:
    """Whether the packages in this directory run as Python, as extension modules, or some as one, some as the other."""
    return _judged(root)[0]


def describe_build(root: Path = ROOT) -> str:
    """The kind of build in words, with the compiler."""
    kind, compiler, interpreted = _judged(root)
    if kind == PURE:
        return "pure Python"
    named = f"{kind} ({compiler})"
    return f"{named}: {len(interpreted)} modules run as Python, {interpreted[0]} first" if interpreted else named


def _judged(root: Path) -> tuple[str, str, list[str]]:
    """The kind, the compiler, and the modules that run as Python although they were compiled."""
    listed = root / COMPILED_MODULES
    if not listed.exists():
        return PURE, "", []
    compiler, *modules = listed.read_text(encoding="utf-8").splitlines()
    interpreted = [module for module in modules if not _is_extension(root, module)]
    if len(interpreted) == len(modules):
        return PURE, compiler, interpreted
    return PARTLY if interpreted else COMPILED, compiler, interpreted


def _is_extension(root: Path, module: str) -> bool:
    """Whether Python has loaded, or would load, an extension module."""
    loaded = sys.modules.get(module)
    path = root.joinpath(*module.split("."))
    if loaded is not None and loaded.__file__ is not None and Path(loaded.__file__).is_relative_to(root):
        return loaded.__file__.endswith(tuple(EXTENSION_SUFFIXES))
    stem = path / "__init__" if path.is_dir() else path
    return any(stem.with_name(stem.name + suffix).exists() for suffix in EXTENSION_SUFFIXES)
