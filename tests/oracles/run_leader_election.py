"""leader_election.json: who is elected, and how far a change moves the epochs."""

from __future__ import annotations

import re
from typing import Any

from cluster.controller.elections import elect, epoch_steps
from tests.oracles.outcome import Skip


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    if "change" in vector:
        _judge_epochs(vector)
        return
    election = elect(
        vector["election"],
        vector["replicas"],
        vector["isr"],
        vector["leader"],
        lambda broker: broker not in vector.get("unavailable", []),
    )
    for field, expected in vector["expect"].items():
        found = getattr(election, field)
        assert (list(found) if isinstance(found, tuple) else found) == expected, field
    if not election.clean:
        assert election.isr == (election.leader,), "the ISR becomes exactly the new leader"


def _judge_epochs(vector: dict[str, Any]) -> None:
    """The vectors describe the change in words; words that say nothing about leader or ISR are not judged."""
    change = vector["change"].lower()
    if re.search(r"zk|zookeeper|migration|before 3\.6|older", change):
        raise Skip("metadata versions before 3.6 are not simulated")
    leader_stays = re.search(
        r"leader (is )?(unchanged|stays|kept|remains|does not)|(same|no|without) (new )?leader", change
    )
    said = {
        "leader_changes": bool(re.search(r"leader|elect|offline|fails? over|failover", change)) and not leader_stays,
        "isr_changes": bool(re.search(r"\bisr\b|in-sync|shrink|expan|caught up|falls? out|added", change))
        and not re.search(r"isr (is |stays )?(unchanged|the same)", change),
        "replica_leaves": bool(re.search(r"replicas? .*(removed|leaves|dropped)|reassign|remov", change)),
    }
    if not any(said.values()) and not re.search(r"nothing|no change|unchanged|no-op|same|identical", change):
        raise Skip(f"a change that cannot be set up: {vector['change']}")
    found = {f"{field}_delta": step for field, step in epoch_steps(**said)._asdict().items()}
    for field, expected in vector["expect"].items():
        assert found[field] == expected, f"{field}: {vector['change']}"
