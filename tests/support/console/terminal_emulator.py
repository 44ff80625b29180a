"""A terminal of the few sequences that the console writes: cursor positions, colours, text. For tests of output."""

import re

_TOKEN = re.compile(
    r"\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|\x1b\[\?[\d;]+[hl]|\x1b\[[<>=?\d;]*[a-zA-Z]|\x1b[=>]|(\n)|(.)", re.DOTALL
)
Look = tuple[str, ...]
PLAIN: Look = ()


class Terminal:
    """Cells with a character and a look (the attributes and colours in force)."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.cells: list[list[tuple[str, Look]]] = [[(" ", PLAIN)] * width for _ in range(height)]
        self.x = self.y = 0
        self.look: dict[str, str] = {}
        self.cut = ""

    def write(self, text: str) -> None:
        """Take output; a sequence that is cut off waits for its rest."""
        text = self.cut + text
        whole = text if text.rfind("\x1b") < 0 or _TOKEN.match(text, text.rfind("\x1b")) else text[: text.rfind("\x1b")]
        self.cut = text[len(whole) :]
        text = whole
        for match in _TOKEN.finditer(text):
            if match[1]:
                self.y, self.x = int(match[1]) - 1, int(match[2]) - 1
            elif match[3] is not None:
                self._colour(match[3])
            elif match[4]:
                self.y += 1
            elif match[5] and match[5] >= " ":
                self._put(match[5])

    def _put(self, character: str) -> None:
        if self.y < self.height and self.x < self.width:
            look = dict(self.look)
            if character == " " and not {"4", "7", "9"} & look.keys():
                look = {key: value for key, value in look.items() if key == "paper"}
            self.cells[self.y][self.x] = (character, tuple(sorted(look.values())))
        self.x += 1

    def _colour(self, codes: str) -> None:
        numbers = codes.split(";") if codes else ["0"]
        place = 0
        while place < len(numbers):
            number = numbers[place]
            if number == "0":
                self.look = {}
            elif number in {"38", "48"}:
                size = 5 if numbers[place + 1] == "2" else 3
                name = "ink" if number == "38" else "paper"
                self.look[name] = ";".join(numbers[place : place + size])
                place += size - 1
            elif number in {"39", "49"}:
                self.look.pop("ink" if number == "39" else "paper", None)
            elif 30 <= int(number) <= 37 or 90 <= int(number) <= 97:
                self.look["ink"] = number
            elif 40 <= int(number) <= 47 or 100 <= int(number) <= 107:
                self.look["paper"] = number
            else:
                self.look[number] = number
            place += 1

    def text(self) -> str:
        """What is on the screen, without trailing blanks."""
        return "\n".join("".join(cell[0] for cell in row).rstrip() for row in self.cells)
