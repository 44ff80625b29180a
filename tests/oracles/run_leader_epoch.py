"""leader_epoch.json: epochs are assigned, ends are asked for, the log is truncated, entries are compared."""

from __future__ import annotations

from typing import Any

from cluster.storage.leader_epochs import LeaderEpochs


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    epochs = LeaderEpochs()
    for entry in vector["assign"]:
        epochs.assign(entry["epoch"], entry["start_offset"])
    for query in vector.get("end_offset_for", []):
        answer = epochs.end_offset_for(query["epoch"], vector["log_end_offset"])
        assert answer._asdict() == query["expect"], f"end of epoch {query['epoch']}"
    for end, offset in vector.get("truncate", {}).items():
        {"from_end": epochs.truncate_from_end, "from_start": epochs.truncate_from_start}[end](offset)
    if "expect_entries" in vector:
        assert [entry._asdict() for entry in epochs.entries] == vector["expect_entries"]
