"""Pictures as files: named after what they show, never over another file."""

import re
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from console.presenters.formatting import SECOND_US


class SaveError(Exception):
    """A picture could not be saved; the message says where and why."""


def stem_of(*names: str, at_us: int) -> str:
    """`first-flight-billing-ownership-3m20.0s`: scenario, groups and instant, in characters that every system takes."""
    seconds = at_us // (SECOND_US // 10) / 10
    whole = "-".join((*names, "ownership", f"{int(seconds // 60)}m{seconds % 60:04.1f}s"))
    return re.sub(r"[^A-Za-z0-9._-]+", "-", whole).strip("-.")


def save(directory: Path, stem: str, texts: Mapping[str, str]) -> list[Path]:
    """Write a file for each suffix, under a name that none of them has yet. Raises SaveError."""
    for number in count(1):
        name = stem if number == 1 else f"{stem}-{number}"
        paths = {directory / f"{name}{suffix}": text for suffix, text in texts.items()}
        if not any(path.exists() for path in paths):
            for path, text in paths.items():
                write_new(path, text)
            return list(paths)
    raise AssertionError("numbers do not end")


def write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet. Raises SaveError."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SaveError(f"{path} already exists; choose another name, or remove it first") from None
    except OSError as error:
        raise SaveError(f"{path} cannot be written: {error.strerror or error}") from None
