"""Bounded reads of untrusted files: a recording's files must be regular, and every read has a size limit.

A recording is a directory that may come from anywhere. A name in it may be a symbolic link that leads out, a pipe that
blocks, a device without an end, or a file of any size. `decoded` turns every way in which bytes can be wrong into a
RecordingError.
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
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks, with which a file in UTF-16 begins."""
COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")
"""What files begin with that gzip, zstd, zip, bzip2 or xz have made."""


class RecordingError(Exception):
    """A recording cannot be written or read; the message names the file and the reason."""


def system_reason(error: Exception) -> str:
    """Why a place cannot be read or written: in the system's words, where pyarrow has words around them.

    Of several lines the first: without Hadoop pyarrow lists a hundred paths at which it has looked for Java.
    """
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number else next(iter(str(error).splitlines()), type(error).__name__)


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
    return open(descriptor, "rb")  # noqa: PTH123 - the descriptor was checked


def read_ours(path: Path, most_bytes: int) -> bytes:
    """Read a whole file of a recording. Raises RecordingError if it is not regular or too large, and OSError."""
    with open_ours(path) as file:
        return _bounded(file, path, most_bytes)


def read_given(path: Path, most_bytes: int) -> bytes:
    """Read a file that the user named, of any type. Raises RecordingError if it is too large, and OSError."""
    with path.open("rb") as file:
        return _bounded(file, path, most_bytes)


def text_given(path: Path, most_bytes: int) -> str:
    """The text of a file that the user named, without a byte order mark. Raises RecordingError: the reason alone."""
    try:
        content = read_given(path, most_bytes)
    except RecordingError:
        raise RecordingError(f"it is larger than {spoken_bytes(most_bytes)}") from None
    except IsADirectoryError:
        raise RecordingError("it is a directory; name the files in it") from None
    except OSError as error:
        raise RecordingError(f"it cannot be read: {error.strerror or error}") from None
    except ValueError:  # the name holds a NUL
        raise RecordingError("no file has such a name") from None
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise RecordingError(_no_text(content, path.name)) from None


def _no_text(content: bytes, name: str) -> str:
    """What bytes are that are not text in UTF-8, and what to do: PowerShell redirects in UTF-16."""
    if content.startswith(UTF_16):
        return f"it is in UTF-16; convert it, e.g. iconv -f UTF-16 -t UTF-8 {name}"
    if content.startswith(COMPRESSED):
        return "it is compressed; unpack it first, e.g. with gunzip or unzstd"
    return "it is not text in UTF-8"


def _bounded(file: BinaryIO, path: Path, most_bytes: int) -> bytes:
    content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise RecordingError(f"{path} is larger than {spoken_bytes(most_bytes)}, the most that is read of such a file")
    return content


def refuse_existing(path: Path | None) -> None:
    """Refuse to write over a file, if one is to be written, before any work for it. Raises RecordingError."""
    if path is not None and path.exists():
        raise RecordingError(f"{path} already exists; choose another name, or remove it first")


def spoken_bytes(count: int) -> str:
    """A number of bytes for people: `16 MiB`."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count // size} {unit}"
    return f"{count} B"


def decoded(content: bytes, decoder: "msgspec.json.Decoder[T] | msgspec.msgpack.Decoder[T]") -> T:
    """Decode untrusted bytes. Raises RecordingError with the reason."""
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
