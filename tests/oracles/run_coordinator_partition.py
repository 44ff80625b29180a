"""coordinator_partition.json: the hash of group and transactional ids, and the internal partition it chooses."""

from __future__ import annotations

import re
from typing import Any

from cluster.protocol import coordinator_partition, java_string_hash, to_positive


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    text = vector["id_string"]
    assert java_string_hash(text) == vector["java_hash"]
    for key, expected in vector.items():
        if counted := re.fullmatch(r"partition_of_(\d+)", key):
            assert coordinator_partition(text, int(counted[1])) == expected, key
        elif masked := re.fullmatch(r"wrong_if_masked_(\d+)", key):
            assert to_positive(java_string_hash(text)) % int(masked[1]) == expected, key
