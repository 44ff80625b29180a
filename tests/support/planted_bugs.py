"""Scenarios in which one kill -9 shows a planted bug that needs a second death, a slow link, a zombie or a deadline.

The scenario brings what the bug needs, and the prover the death. Where a sound flight may not repeat anything, the
victim is one whose death costs the group nothing: the plain producer of what it reads.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from recordings.flights.runner import Plan, make_plan
from recordings.proving.prover import Question
from recordings.scenarios.loader import parse_scenario
from tests.support.crash_points import pipeline, question

SECOND_US = 1_000_000
Steps = Sequence[tuple[str, str]]


class Case(NamedTuple):
    """A scenario, and what is asked of it."""

    plan: Callable[[], Plan]
    asked: Question


_CLUSTER = """
until = "60s"
start_jitter = "0ms"
[cluster]
brokers = {brokers}
startup = "1s"
[cluster.config]
"group.initial.rebalance.delay.ms" = 0
"offsets.topic.num.partitions" = 1
"transaction.state.log.num.partitions" = 1
"broker.session.timeout.ms" = 2000
"broker.heartbeat.interval.ms" = 500
{cluster}
"""

_LOG = """title = "A reader and its partition's leader"
[[topic]]
name = "orders"
{topic}
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "{rate}/s"
{producer}
[[group]]
name = "billing"
topics = ["orders"]
config = {{ "auto.offset.reset" = "earliest"{config} }}
[group.application]
commit = "before-processing"
"""

_GROUP = """title = "Orders become invoices"
[[topic]]
name = "orders"
partitions = 4
[[topic]]
name = "invoices"
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "{rate}/s"
keys = {{ kind = "uniform", distinct = 100 }}
{producer}
[[group]]
name = "billing"
topics = ["orders"]
members = 2
{member}
config = {{ "auto.offset.reset" = "earliest", {session}, "max.poll.records" = 5{config} }}
[group.application]
per_record = "{per_record}"
commit = "{commit}"
{application}
[[group]]
name = "readers"
topics = ["invoices"]
config = {{ "auto.offset.reset" = "earliest", "isolation.level" = "read_committed" }}
"""


def _planned(body: str, steps: Steps, brokers: int | str, cluster: str) -> Callable[[], Plan]:
    title, _, rest = body.partition("\n")
    given = "".join(f'[[at]]\ntime = "{time}"\ndo = "{do}"\n' for time, do in steps)
    text = title + _CLUSTER.format(brokers=brokers, cluster=cluster) + rest + given
    return lambda: make_plan(parse_scenario(text, "planted.toml"))


def _log(
    steps: Steps = (),
    *,
    brokers: int | str = 3,
    cluster: str = "",
    topic: str = "",
    producer: str = "",
    rate: int = 50,
    config: str = "",
) -> Callable[[], Plan]:
    body = _LOG.format(topic=topic, producer=producer, rate=rate, config=f", {config}" if config else "")
    return _planned(body, steps, brokers, cluster)


def _group(
    steps: Steps = (),
    *,
    brokers: int = 1,
    cluster: str = "",
    producer: str = "",
    rate: int = 20,
    member: str = "",
    config: str = "",
    per_record: str = "5ms",
    commit: str = "after-each-poll",
    writes: str = 'writes = "invoices"',
    session: str = '"session.timeout.ms" = 6000',
) -> Callable[[], Plan]:
    body = _GROUP.format(
        session=session,
        producer=producer,
        rate=rate,
        member=member,
        config=f", {config}" if config else "",
        per_record=per_record,
        commit=commit,
        application="" if commit == "before-processing" else writes,
    )
    return _planned(body, steps, brokers, cluster)


def _new_group(
    steps: Steps = (), *, brokers: int = 1, per_record: str = "5ms", commit: str = "before-processing"
) -> Callable[[], Plan]:
    return _group(
        steps,
        brokers=brokers,
        cluster=_SHORT_SESSIONS,
        per_record=per_record,
        commit=commit,
        session='"group.protocol" = "consumer"',
    )


def _migrating(first: str, *steps: tuple[str, str], brokers: int = 1, per_record: str = "5ms") -> Callable[[], Plan]:
    """Members that start from 7 s on speak the other protocol than the `first` one."""
    other = "consumer" if first == "classic" else "classic"
    return _group(
        (("7s", f"set billing group.protocol {other}"), *steps),
        brokers=brokers,
        cluster=_SHORT_SESSIONS,
        per_record=per_record,
        session=f'"group.protocol" = "{first}"',
    )


def _asked(kill: str, group: str, from_s: float, until_s: float, down_s: float = 3) -> Question:
    instants = (round(at_s * SECOND_US) for at_s in (from_s, until_s, down_s))
    from_us, until_us, down_us = instants
    return Question(group=group, kill=kill, from_us=from_us, until_us=until_us, down_us=down_us)


_SLOW = (("2s", "slow broker-1 broker-2 to 15ms"), ("2s", "slow broker-1 broker-3 to 15ms"))
_SHORT_SESSIONS = """"group.consumer.session.timeout.ms" = 6000
"group.consumer.min.session.timeout.ms" = 6000
"group.consumer.heartbeat.interval.ms" = 1000
"group.consumer.min.heartbeat.interval.ms" = 1000"""
_UNREAD = (("7900ms", "pause billing-1 for 20s"),)  # what is lost from the log meanwhile, it never gets
_RACKS = '"replica.selector.class" = "org.apache.kafka.common.replica.RackAwareReplicaSelector"'
_UNCLEAN = 'config = { "min.insync.replicas" = 2, "unclean.leader.election.enable" = true }'
_LATE = (("8s", "slow billing-1 broker-2 to 2s for 50ms"),)
_IMPATIENT = """writes = "invoices"
producer = { "delivery.timeout.ms" = 3000, "request.timeout.ms" = 2000 }
restart_after = "1s"
"""
_COOPERATIVE = 'assignors = ["cooperative-sticky"]'

CASES = {
    "after-each-poll": Case(pipeline, question("consumer", "billing")),
    "before-processing": Case(lambda: pipeline("before-processing"), question("consumer", "billing", 8_010, 8_016)),
    "transaction": Case(lambda: pipeline("transaction"), question("producer", "readers", 8_010, 8_030)),
    "outputs": Case(_group(commit="transaction"), _asked("producer", "readers", 8.0, 8.005)),
    # --- the leader dies -------------------------------------------------------------------------------------------
    "slow followers": Case(_log(_SLOW), _asked("leader", "billing", 8.0, 8.06, 10)),
    "unread": Case(_log((*_SLOW, *_UNREAD)), _asked("leader", "billing", 8.0, 8.06, 10)),
    "back before the next death": Case(
        _log((*_SLOW, ("7900ms", "pause billing-1 for 30s"), ("20s", "kill broker-2 for 10s")), rate=100),
        _asked("leader", "billing", 8.0, 8.05, 4),
    ),
    "the successor dies": Case(
        _log((("2s", "slow broker-2 broker-3 to 15ms"), ("8005ms", "kill broker-1 for 20s"), *_UNREAD)),
        _asked("leader", "billing", 9.5, 10.5, 10),
    ),
    "two deaths": Case(
        _log((_SLOW[1], ("8060ms", "kill broker-2 for 20s"), *_UNREAD), rate=100),
        _asked("leader", "billing", 8.0, 8.05, 10),
    ),
    "too few in sync": Case(
        _log((("7s", "kill broker-2 for 6s"), *_UNREAD), brokers=2, topic=_UNCLEAN),
        _asked("leader", "billing", 11.0, 11.05, 12),
    ),
    "out of sync": Case(
        _log((("7s", "kill broker-2 for 6s"), *_UNREAD), brokers=2), _asked("leader", "billing", 11.0, 11.02, 12)
    ),
    "catching up": Case(
        _log(
            (("2s", "slow broker-1 broker-2 to 30ms"), ("6s", "kill broker-2 for 3s"), *_UNREAD),
            brokers=2,
            rate=100,
            producer='size = "20KiB"',
        ),
        _asked("leader", "billing", 10.1, 10.35, 10),
    ),
    "a follower ahead": Case(
        _log(
            (_SLOW[0],),
            brokers='[{ id = 1, rack = "a" }, { id = 2, rack = "b" }, { id = 3, rack = "c" }]',
            cluster=_RACKS,
            config='"client.rack" = "c"',
            producer="count = 4",
        ),
        _asked("leader", "billing", 8.0, 8.04, 10),
    ),
    # --- a death that costs nothing --------------------------------------------------------------------------------
    "a frozen leader": Case(
        _log(
            (_SLOW[0], ("8005ms", "pause broker-1 for 1500ms"), *_UNREAD),
            brokers=2,
            rate=100,
            producer='config = { acks = "1" }',
        ),
        _asked("producer", "billing", 7.98, 8.0),
    ),
    "lost answers": Case(
        _log(
            (
                ("2s", "slow checkout-1 broker-1 to 20ms"),
                ("8s", "lose next 3 responses of Produce from broker-1 to checkout-1"),
            ),
            rate=100,
            producer='config = { "request.timeout.ms" = 1000 }',
        ),
        _asked("coordinator", "billing", 8.0, 8.02),
    ),
    "read from a follower": Case(
        _log(
            brokers='[{ id = 1, rack = "a" }, { id = 2, rack = "b" }]',
            cluster=_RACKS,
            config='"client.rack" = "b"',
            rate=5,
        ),
        _asked("producer", "billing", 8.0, 8.1),
    ),
    "long work": Case(
        _group((("12s", "scale billing to 3"),), rate=2, per_record="2s"), _asked("producer", "billing", 8.0, 8.3)
    ),
    "a short freeze": Case(
        _group(
            (("9s", "pause billing-1 for 4800ms"), ("9s", "pause billing-2 for 4800ms")),
            rate=3,
            per_record="2s",
            config='"heartbeat.interval.ms" = 1000',
        ),
        _asked("producer", "billing", 8.0, 8.2),
    ),
    "scaled often": Case(
        _group(
            tuple((f"{9 + number}s", f"scale billing to {2 + number % 3}") for number in range(6)),
            rate=40,
            per_record="40ms",
        ),
        _asked("producer", "billing", 8.0, 8.02),
    ),
    "a late newcomer": Case(
        _group((("9500ms", "scale billing to 3"),), per_record="500ms", config='"max.poll.interval.ms" = 5000'),
        _asked("producer", "billing", 8.0, 8.02),
    ),
    "no heartbeats": Case(
        _group((("8005ms", "pause heartbeats of billing-1 for 12s"),), per_record="90ms"),
        _asked("producer", "billing", 8.0, 8.03),
    ),
    "a zombie": Case(
        _group(
            (("8205ms", "pause billing-1 for 8s"), ("8205ms", "pause billing-2 for 1s")),
            rate=100,
            commit="before-processing",
        ),
        _asked("producer", "billing", 8.0, 8.01),
    ),
    "a zombie's transaction": Case(
        _group((("8005ms", "pause billing-1 for 8s"),), per_record="50ms", commit="transaction"),
        _asked("producer", "readers", 20.0, 20.02),
    ),
    "twins": Case(
        _group(
            member='stagger = "9s"',
            config='"group.instance.id" = "cashier"',
            per_record="20ms",
            commit="before-processing",
        ),
        _asked("producer", "billing", 8.0, 8.02),
    ),
    "scaled": Case(
        _group((("10s", "scale billing to 3"),), member=_COOPERATIVE, per_record="20ms", commit="before-processing"),
        _asked("producer", "billing", 8.0, 8.02),
    ),
    "records deleted": Case(
        _group((("10500ms", "delete records orders-1 before 44"),)), _asked("consumer", "billing", 8.0, 8.02)
    ),
    "long transactions": Case(
        _group(
            cluster='"transaction.abort.timed.out.transaction.cleanup.interval.ms" = 500',
            rate=4,
            per_record="1s",
            commit="transaction",
            writes='writes = "invoices"\nproducer = { "transaction.timeout.ms" = 6000 }',
        ),
        _asked("producer", "billing", 8.0, 8.05),
    ),
    "frozen for good": Case(
        _group(
            (("8300ms", "pause billing-1"),),
            rate=40,
            per_record="100ms",
            commit="transaction",
            writes='writes = "invoices"\nproducer = { "transaction.timeout.ms" = 10000 }',
        ),
        _asked("producer", "billing", 8.25, 8.28),
    ),
    # --- batches of a dead process, or of an aborted transaction, arrive late -----------------------------------------
    "late": Case(
        _group(_LATE, brokers=3, member="static = true", per_record="20ms", commit="transaction"),
        _asked("producer", "readers", 8.01, 8.03, 0.5),
    ),
    "late under version 1": Case(
        _group(
            _LATE,
            brokers=3,
            cluster='"transaction.version" = 1',
            member="static = true",
            per_record="20ms",
            commit="transaction",
        ),
        _asked("producer", "readers", 8.01, 8.03, 0.5),
    ),
    "expired": Case(
        _group(
            (("8s", "slow billing-1 broker-2 to 6s for 50ms"),),
            brokers=3,
            member="static = true",
            per_record="20ms",
            commit="transaction",
            writes=_IMPATIENT,
        ),
        _asked("producer", "billing", 8.0, 8.02),
    ),
    # --- the coordinator dies --------------------------------------------------------------------------------------
    "then a newcomer": Case(
        _group((("12s", "scale billing to 3"),), brokers=2, producer="limit = 100", commit="before-processing"),
        _asked("coordinator", "billing", 8.0, 11.0, 2.2),
    ),
    "then a member dies": Case(
        _group(
            (_SLOW[0], ("9s", "kill billing-1 for 3s")),
            brokers=2,
            rate=100,
            producer="limit = 820",
            commit="before-processing",
        ),
        _asked("coordinator", "billing", 8.1, 8.3, 10),
    ),
    "the transaction's": Case(_group(commit="transaction"), _asked("coordinator", "readers", 8.0, 8.05)),
    "the new protocol": Case(
        _new_group((("10s", "scale billing to 3"), ("14s", "add partitions orders to 5")), per_record="20ms"),
        _asked("producer", "billing", 8.0, 8.005),
    ),
    "the new protocol, and a member dies": Case(_new_group(), _asked("consumer", "billing", 8.0, 8.004, 30)),
    # billing-1 must give orders-3 up from 10.017 s on, and works on it for 1 s more: the coordinator dies in between
    "the new protocol, then a newcomer": Case(
        _new_group((("9100ms", "scale billing to 3"),), brokers=3, per_record="300ms", commit="after-each-poll"),
        _asked("coordinator", "billing", 10.0, 10.12, 3),
    ),
    # --- a group migrates ------------------------------------------------------------------------------------------
    "an upgrade": Case(
        _migrating(
            "classic", ("8200ms", "scale billing to 3"), ("14s", "add partitions orders to 8"), per_record="100ms"
        ),
        _asked("producer", "billing", 18.0, 18.004),
    ),
    "a downgrade": Case(
        _migrating("consumer", ("8200ms", "restart billing-1"), ("16s", "scale billing to 1")),
        _asked("producer", "billing", 18.0, 18.004),
    ),
    "a downgrade, then a failover": Case(
        _migrating("consumer", ("8200ms", "restart billing-1"), ("16s", "stop billing-2"), brokers=3),
        _asked("coordinator", "billing", 18.0, 18.005, 30),
    ),
}
