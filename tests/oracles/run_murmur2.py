"""murmur2.json: the hash of record keys, and the partition it chooses."""

from __future__ import annotations

from typing import Any

from cluster.protocol import murmur2, to_positive


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    key = vector["key_utf8"].encode() if "key_utf8" in vector else bytes.fromhex(vector["key_hex"])
    assert murmur2(key) == vector["hash"]
    for partitions, expected in vector.get("partition_for", {}).items():
        assert to_positive(murmur2(key)) % int(partitions) == expected, f"of {partitions} partitions"
