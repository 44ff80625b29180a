"""A view document whose values are all empty or zero, to ask expressions of."""

from typing import Any

from recordings.scenarios.document_schema import SHAPE, ByName, KnownNames


def empty_document(known_names: KnownNames, roots: frozenset[str]) -> dict[str, Any]:
    """The named roots of a view document in which everything that is declared is there, and is zero or empty."""
    return {root: _zero(SHAPE[root], known_names) for root in SHAPE if root in roots}


def _zero(node: Any, known_names: KnownNames) -> Any:  # noqa: ANN401 - nested plain data
    if isinstance(node, ByName):
        return {name: _zero(node.node, known_names) for name in known_names.known[node.kind]}
    if isinstance(node, dict):
        return {key: _zero(child, known_names) for key, child in node.items()}
    return node
