"""What an object weighs with everything that it alone keeps alive: bytes, by following references."""

import gc
import sys
from collections import Counter
from types import CodeType, FunctionType, ModuleType

import msgspec

_NOT_ITS_OWN = (type, ModuleType, CodeType)


def weight(*roots: object) -> Counter[str]:
    """Bytes reachable from `roots`, by type; code, classes and modules do not count."""
    seen: set[int] = set()
    found: Counter[str] = Counter()
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _NOT_ITS_OWN):
            continue
        seen.add(id(one))
        found[type(one).__qualname__] += sys.getsizeof(one)
        if isinstance(one, FunctionType):
            waiting += [one.__closure__, one.__defaults__, one.__kwdefaults__]
        elif isinstance(one, msgspec.Struct):  # also one that the garbage collector passes over
            waiting += [getattr(one, field) for field in one.__struct_fields__]
        elif not isinstance(one, int | str | bytes | float):
            waiting += gc.get_referents(one)
    return found
