"""The line of each key of a TOML text, which `tomllib` does not return.

The text must be one that `tomllib` has read: only then may this scanner be this simple. It walks the text once and
notes the line of every table, key and array element. A `Place` is a path of keys and indices: `("topic", 0, "config",
"min.insync.replicas")`.
"""

import re
import tomllib

Place = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"[ \t]*(\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


def locate(text: str) -> dict[Place, int]:
    """The line (from 1) of every table, key and array element of a valid TOML text."""
    return _Scanner(text.replace("\r\n", "\n")).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.lines: dict[Place, int] = {(): 1}
        self.arrays: dict[Place, int] = {}
        self._line, self._counted = 1, 0

    def scan(self) -> dict[Place, int]:
        table: Place = ()
        while self._skip_blank():
            if self._take("[["):
                table = self._header(array=True)
            elif self._take("["):
                table = self._header(array=False)
            else:
                self._pair(table)
        return self.lines

    def _skip_blank(self) -> bool:
        blank = _BLANK.match(self.text, self.position)
        assert blank is not None
        self.position = blank.end()
        return self.position < len(self.text)

    def _take(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.position):
            return False
        self.position += len(mark)
        return True

    def _note(self, path: Place) -> None:
        self._line += self.text.count("\n", self._counted, self.position)
        self._counted = self.position
        self.lines.setdefault(path, self._line)

    def _dotted(self) -> list[str]:
        keys = []
        while True:
            match = _KEY.match(self.text, self.position)
            assert match is not None, f"no key at {self.position}"
            self.position = match.end()
            keys.append(match[1] if match[1][0] not in "\"'" else str(tomllib.loads(f"k = {match[1]}")["k"]))
            if not self._take("."):
                return keys

    def _header(self, *, array: bool) -> Place:
        path: Place = ()
        keys = self._dotted()
        for place, key in enumerate(keys):
            path += (key,)
            if array and place == len(keys) - 1:
                self.arrays[path] = self.arrays.get(path, -1) + 1
            if path in self.arrays:
                self._note(path)
                path += (self.arrays[path],)
            self._note(path)
        self._take("]]" if array else "]")
        return path

    def _pair(self, table: Place) -> None:
        path = table
        for key in self._dotted():
            path += (key,)
            self._note(path)
        self._take("=")
        self._value(path)

    def _value(self, path: Place) -> None:
        self._skip_blank()
        self._note(path)
        if self._take("["):
            self._elements(path)
        elif self._take("{"):
            while self._skip_blank() and not self._take("}"):
                self._pair(path)
                self._skip_blank()
                self._take(",")
        else:
            match = _STRING.match(self.text, self.position) or _SCALAR.match(self.text, self.position)
            assert match is not None, f"no value at {self.position}"
            self.position = match.end()

    def _elements(self, path: Place) -> None:
        index = 0
        while self._skip_blank() and not self._take("]"):
            self._value((*path, index))
            self._skip_blank()
            self._take(",")
            index += 1
