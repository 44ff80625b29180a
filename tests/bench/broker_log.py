"""A broker's log of any size, as a busy cluster writes it: the same for the same seed.

python -m tests.bench.broker_log server.log 1000000000
"""

import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

NOISE = (
    (
        "INFO [UnifiedLog partition={topic}-{number}, dir=/var/lib/kafka] Deleting segment LogSegment("
        "baseOffset={offset}, size={offset}, lastModifiedTime=1795384818405) due to retention time (k.U)"
    ),
    (
        "INFO [ProducerStateManager partition={topic}-{number}] Wrote producer snapshot at offset {offset} with "
        "{number} producer ids in 3 ms. (org.apache.kafka.storage.internals.log.ProducerStateManager)"
    ),
    (
        "INFO [LocalLog partition={topic}-{number}, dir=/var/lib/kafka] Rolled new log segment at offset {offset} "
        "in 2 ms. (kafka.log.LocalLog)"
    ),
    (
        "INFO [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Truncating partition {topic}-{number} with "
        "TruncationState(offset={offset}, completed=true) due to local high watermark {offset} (kafka.server.Fetcher)"
    ),
)
ISR = "INFO [Partition {topic}-{number} broker=1] ISR updated to 1,2,3  and version updated to {number} (kafka.X)"
COORDINATOR = (
    "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition={slot}] {words} "
    "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
)
WORDS = (
    "Member {member} in group {group} has failed, removing it from the group.",
    (
        "Preparing to rebalance group {group} in state PreparingRebalance with old generation {before} (reason: "
        "removing member {member} on heartbeat expiration.)."
    ),
    "Stabilized group {group} generation {generation} with 29 members.",
    (
        "Assignment received from leader {member} for group {group} for generation {generation}. The group "
        "has 29 members, 0 of which are static."
    ),
)
GROUP_SHARE, ISR_SHARE = 0.1, 0.02
"""Of the lines: a broker that coordinates groups under churn, beside replicas that come and go."""


def lines(seed: int, groups: int) -> Iterator[str]:
    """Endless lines: noise, replicas, and rebalances of groups."""
    draw = random.Random(seed)
    at = datetime(2026, 11, 27, tzinfo=UTC)
    generations: dict[int, int] = {}
    while True:
        at += timedelta(milliseconds=draw.randrange(20))
        stamp = f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}] "
        kind = draw.random()
        if kind >= GROUP_SHARE / len(WORDS):
            form = ISR if kind > 1 - ISR_SHARE else draw.choice(NOISE)
            topic, number = f"topic-{draw.randrange(400)}", draw.randrange(60)
            yield stamp + form.format(topic=topic, number=number, offset=draw.randrange(10**9))
            continue
        group = draw.randrange(groups)
        generations[group] = generation = generations.get(group, 0) + 1
        member = (
            f"consumer-{draw.randrange(30)}-{draw.randrange(16**8):08x}-0000-4000-8000-{draw.randrange(16**12):012x}"
        )
        for words in WORDS:
            said = words.format(member=member, group=f"group-{group}", before=generation - 1, generation=generation)
            yield stamp + COORDINATOR.format(slot=group % 50, words=said)


def write_log(path: Path, size: int, *, groups: int = 200, seed: int = 1) -> int:
    """A log of at least so many bytes; returns the number of its lines."""
    written = 0
    with path.open("w", encoding="utf-8", buffering=1 << 20) as file:
        for number, line in enumerate(lines(seed, groups), 1):
            written += file.write(line + "\n")
            if written >= size:
                return number
    return 0


if __name__ == "__main__":
    write_log(Path(sys.argv[1]), int(sys.argv[2]))
