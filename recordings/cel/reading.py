"""Parse the text of a CEL expression into nodes.

A recursive descent over the grammar of the language definition. Length and depth are bounded here, so that no later
pass can overflow the stack.
"""

import re

import msgspec

from cluster.config import nearest
from recordings.cel import nodes as n
from recordings.cel.values import FUNCTIONS

_MEANT = {"=": "==", "&": "&&", "|": "||"}
_MEANT_WORDS = {"and": "&&", "or": "||", "is": "=="}  # of languages that write words
_MEANT_FUNCTIONS = {"not": "!", "len": "size", "length": "size", "count": "size"}

LONGEST = 10_000
"""Characters of an expression."""
DEEPEST = 50
"""Levels of an expression: brackets in brackets, and operators on the results of operators."""

MACROS = ("all", "exists", "exists_one", "map", "filter")
RESERVED = (
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "in", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
)  # fmt: skip
_WORDS = {"true": True, "false": False, "null": None}
_LEVELS = (("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1

_BLANK = re.compile(r"(?:[ \t\r\n\f]|//[^\n]*)*")
_TOKEN = re.compile(
    r"(?P<text>[rR]?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|\"(?:[^\"\\\r\n]|\\.)*\"|'(?:[^'\\\r\n]|\\.)*'))"
    r"|(?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<mark>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])",
    re.DOTALL,
)
_RAW_TEXT = re.compile(r"[rR](\"\"\"|'''|\"|')(.*)\1", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|X[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL
)
_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "?": "?", '"': '"',
    "'": "'", "`": "`",
}  # fmt: skip


class ExpressionError(ValueError):
    """A text that is no expression: the `reason`, with its column, and a suggestion if there is one."""

    def __init__(self, reason: str, suggestion: str | None = None) -> None:
        self.reason, self.suggestion = reason, suggestion
        super().__init__(f"{reason} (did you mean {suggestion}?)" if suggestion else reason)


class CelToken(msgspec.Struct, frozen=True):
    """A word of an expression: its kind (`text`, `number`, `name`, `mark`, `end`) and the column where it begins."""

    kind: str
    text: str
    column: int


def read(text: str) -> n.Node:
    """The tree of an expression. Raises ExpressionError."""
    if len(text) > LONGEST:
        raise ExpressionError(f"the expression has {len(text):,} characters: at most {LONGEST:,} are read")
    reader = _Reader(_tokens(text))
    node = reader.expression()
    reader.must_end()
    for depth, _ in enumerate(n.levels(node)):
        if depth > DEEPEST:
            raise _too_deep()
    return node


def _too_deep() -> ExpressionError:
    return ExpressionError(f"the expression is nested deeper than {DEEPEST} levels")


def _tokens(text: str) -> list[CelToken]:
    tokens = []
    blank = _BLANK.match(text)
    position = blank.end() if blank else 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            wrong = text[position]
            raise ExpressionError(f"column {position + 1}: {_unknown(wrong)}", _MEANT.get(wrong))
        tokens.append(CelToken(str(match.lastgroup), match[0], position + 1))
        blank = _BLANK.match(text, match.end())
        position = blank.end() if blank else match.end()
    return [*tokens, CelToken("end", "", len(text) + 1)]


def _unknown(character: str) -> str:
    return "unterminated string" if character in "\"'" else f"{character!r} is unexpected here"


class _Reader:
    """One descent; each level of the grammar is a method."""

    def __init__(self, tokens: list[CelToken]) -> None:
        self.tokens, self.place, self.depth = tokens, 0, 0

    @property
    def next(self) -> CelToken:
        return self.tokens[self.place]

    def take(self, *marks: str) -> str | None:
        """The next mark, or the word `in`, if it is one of these."""
        token = self.next
        if token.text not in marks or token.kind not in ("mark", "name"):
            return None
        self.place += 1
        return token.text

    def must(self, mark: str) -> None:
        if self.take(mark) is None:
            raise self.wrong(f"missing '{mark}'")

    def must_end(self) -> None:
        if self.next.kind != "end":
            raise self.wrong(f"unexpected {self.next.text}")

    def wrong(self, reason: str) -> ExpressionError:
        return ExpressionError(f"column {self.next.column}: {reason}", _MEANT_WORDS.get(self.next.text))

    def expression(self) -> n.Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _too_deep()
        node = self._logic("||")
        if self.take("?"):
            then = self._logic("||")
            self.must(":")
            node = n.Choice(node, then, self.expression())
        self.depth -= 1
        return node

    def _logic(self, operator: str) -> n.Node:
        items = [self._and_below(operator)]
        while self.take(operator):
            items.append(self._and_below(operator))
        return items[0] if len(items) == 1 else n.Logic(operator, tuple(items))

    def _and_below(self, operator: str) -> n.Node:
        return self._logic("&&") if operator == "||" else self._binary(0)

    def _binary(self, level: int) -> n.Node:
        if level == len(_LEVELS):
            return self._unary()
        node = self._binary(level + 1)
        while operator := self.take(*_LEVELS[level]):
            node = n.Binary(operator, node, self._binary(level + 1))
        return node

    def _unary(self) -> n.Node:
        if not (operator := self.take("!", "-")):
            return self._member()
        count = 1
        if operator == "-" and self.next.kind == "number":
            return self._member(sign=-1)
        while self.take(operator):
            count += 1
        inner = self._member()
        for _ in range(min(count, DEEPEST + 1)):
            inner = n.Unary(operator, inner)
        return inner

    def _member(self, sign: int = 1) -> n.Node:
        node = self._primary(sign)
        while True:
            if self.take("."):
                name = self._word("a name")
                node = self._method(node, name) if self.take("(") else n.Select(node, name)
            elif self.take("["):
                node = n.Index(node, self.expression())
                self.must("]")
            else:
                return node

    def _method(self, target: n.Node, name: str) -> n.Node:
        arguments = self._list(")")
        if name not in MACROS:
            return self._call(name, (target, *arguments))
        if len(arguments) not in ((2, 3) if name == "map" else (2,)):
            raise self.wrong(f"{name} takes a variable and an expression: {name}(x, …)")
        variable, *where, body = arguments
        if not isinstance(variable, n.Name):
            raise self.wrong(f"{name} takes a variable first: {name}(x, …)")
        return n.Macro(name, target, variable.name, body, where[0] if where else None)  # type: ignore[arg-type]

    def _primary(self, sign: int) -> n.Node:
        token = self.next
        if token.kind == "end":
            raise self.wrong("the expression ends too early")
        self.place += 1
        if token.kind == "number":
            return n.Literal(_number(token, sign))
        if token.kind == "text":
            return n.Literal(_text(token))
        if token.kind == "name":
            return self._named(token)
        match token.text:
            case "(":
                node = self.expression()
                self.must(")")
                return node
            case "[":
                return n.ListOf(self._list("]"))
            case "{":
                return self._map()
        self.place -= 1
        raise self.wrong(f"expected a value, not {token.text}")

    def _named(self, token: CelToken) -> n.Node:
        if token.text in _WORDS:
            return n.Literal(_WORDS[token.text])
        if token.text in RESERVED:
            self.place -= 1
            raise self.wrong(f"{token.text} is a reserved word")
        if not self.take("("):
            return n.Name(token.text)
        arguments = self._list(")")
        if token.text != "has":
            return self._call(token.text, arguments)
        if len(arguments) != 1 or not isinstance(arguments[0], n.Select):
            raise self.wrong("has takes a field: has(a.b)")
        return msgspec.structs.replace(arguments[0], test=True)

    def _call(self, name: str, arguments: tuple[n.Node, ...]) -> n.Node:
        if name not in FUNCTIONS:
            near = _MEANT_FUNCTIONS.get(name) or nearest(name, (*FUNCTIONS, *MACROS, "has"))
            raise ExpressionError(f"there is no function {name}", near)
        takes = FUNCTIONS[name][0]
        if len(arguments) != takes:
            raise ExpressionError(f"{name} takes {takes} {'value' if takes == 1 else 'values'}, not {len(arguments)}")
        return n.Call(name, arguments)

    def _word(self, what: str) -> str:
        if self.next.kind != "name":
            raise self.wrong(f"{what} is missing")
        self.place += 1
        return self.tokens[self.place - 1].text

    def _list(self, closing: str) -> tuple[n.Node, ...]:
        items = []
        while not self.take(closing):
            items.append(self.expression())
            if not self.take(","):
                self.must(closing)
                break
        return tuple(items)

    def _map(self) -> n.Node:
        entries = []
        while not self.take("}"):
            key = self.expression()
            self.must(":")
            entries.append((key, self.expression()))
            if not self.take(","):
                self.must("}")
                break
        return n.MapOf(tuple(entries))


def _number(token: CelToken, sign: int) -> int | float:
    if token.text[:2] in ("0x", "0X"):
        number = sign * int(token.text, 16)
    elif any(mark in token.text for mark in ".eE"):
        return sign * float(token.text)
    else:
        number = sign * int(token.text) if len(token.text) < 30 else _INT_MAX + 1
    if not _INT_MIN <= number <= _INT_MAX:
        raise ExpressionError(f"column {token.column}: a whole number has 64 bits, and this one has more")
    return number


def _text(token: CelToken) -> str:
    raw = _RAW_TEXT.fullmatch(token.text)
    if raw is not None:
        return raw[2]
    quotes = 3 if token.text.startswith(('"""', "'''")) else 1
    return _ESCAPE.sub(lambda match: _unescaped(match[0], token), token.text[quotes:-quotes])


def _unescaped(escape: str, token: CelToken) -> str:
    if len(escape) == 2 and escape[1] in _ESCAPES:
        return _ESCAPES[escape[1]]
    if len(escape) > 2:
        octal = escape[1] in "0123"
        code = int(escape[1:], 8) if octal else int(escape[2:], 16)  # noqa: FURB166 - `\x` is no `0x`
        if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
    raise ExpressionError(f"column {token.column}: {escape} is not a valid escape")
