"""Logs that gzip or zstd has compressed, read as they were written."""

import io
import zlib
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Final

import zstandard

if TYPE_CHECKING:
    Decompressor = zlib._Decompress | zstandard.ZstdDecompressionObj

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_GZIP_HEADER: Final = 16 + zlib.MAX_WBITS
_BLOCK: Final = 1 << 16


def decompressor_of(begin: bytes) -> "Callable[[], Decompressor] | None":
    """What makes decompressors for a file that begins so; None for one that is not compressed."""
    if begin.startswith(_GZIP):
        return lambda: zlib.decompressobj(_GZIP_HEADER)
    if begin.startswith(_ZSTD):
        return lambda: zstandard.ZstdDecompressor().decompressobj()
    return None


class CompressedLog(io.RawIOBase):
    """A compressed file's text: one stream, or several one behind the other.

    In reading it raises EOFError behind the last byte of a file that ends within a stream, and not before.
    """

    def __init__(self, file: IO[bytes], make: "Callable[[], Decompressor]") -> None:
        self._file, self._make = file, make
        self._stream = make()
        self._left = self._text = b""

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def readinto(self, into: Any, /) -> int:  # noqa: ANN401 - Python 3.12 has collections.abc.Buffer
        """Some more of the text; 0 at its end."""
        while not self._text:
            block = self._left or self._file.read(_BLOCK)
            if not block and self._stream.eof:
                return 0
            if not block:
                raise EOFError("the compressed file ends before its end")
            self._text = self._decompressed(block)
        view = memoryview(into)
        text, self._text = self._text[: len(view)], self._text[len(view) :]
        view[: len(text)] = text
        return len(text)

    def _decompressed(self, block: bytes) -> bytes:
        if self._stream.eof:
            if not block.strip(b"\0"):  # gzip's padding
                self._left = b""
                return b""
            self._stream = self._make()
        text = self._stream.decompress(block)
        self._left = self._stream.unused_data
        return text
