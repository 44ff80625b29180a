"""Reading files that come from elsewhere: only regular ones where a recording's should be, and never without a bound.

A recording is a directory that came from anywhere. A name in it may be a symbolic link that leads out, a pipe that
blocks, a device without an end, or a file of any size; what is read of it goes through `decoded`, which knows every way
in which bytes can be wrong.
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from cluster.config import brief

T = TypeVar("T")

HEADER_BYTES = 16 << 20
FOOTER_BYTES = 1 << 20


class RecordingError(Exception):
    """A recording cannot be written or read: the message says which, where and why."""


def open_ours(path: Path) -> BinaryIO:
    """Open a file of a recording for reading. Raises RecordingError when it is no regular file, and OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if path.is_symlink():
            raise RecordingError(f"{path} is a symbolic link: a recording consists of regular files") from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise RecordingError(f"{path} is not a regular file")
    return open(descriptor, "rb")  # noqa: PTH123 - the descriptor is what was looked at


def read_ours(path: Path, most_bytes: int) -> bytes:
    """A file of a recording, whole. Raises RecordingError when it is no regular file or too large, and OSError."""
    with open_ours(path) as file:
        return _bounded(file, path, most_bytes)


def read_given(path: Path, most_bytes: int) -> bytes:
    """A file that the user named, whatever it is. Raises RecordingError when it is too large, and OSError."""
    with path.open("rb") as file:
        return _bounded(file, path, most_bytes)


def _bounded(file: BinaryIO, path: Path, most_bytes: int) -> bytes:
    content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise RecordingError(f"{path} is larger than {spoken_bytes(most_bytes)}, the most that is read of such a file")
    return content


def spoken_bytes(count: int) -> str:
    """A number of bytes for people: `16 MiB`."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count // size} {unit}"
    return f"{count} B"


def decoded(content: bytes, decoder: "msgspec.json.Decoder[T] | msgspec.msgpack.Decoder[T]") -> T:
    """What bytes of a stranger's say, if they say it rightly. Raises RecordingError with the reason."""
    try:
        return decoder.decode(content)
    except msgspec.DecodeError as error:
        raise RecordingError(brief(str(error))) from error
    except UnicodeDecodeError as error:
        raise RecordingError("it is not text in UTF-8") from error
    except RecursionError as error:
        raise RecordingError("it is nested too deeply") from error
    except (MemoryError, OverflowError, ValueError) as error:
        raise RecordingError(f"it holds an impossible value ({type(error).__name__})") from error
