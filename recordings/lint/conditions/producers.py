"""Conditions of producers. Kafka's own rules come from `ProducerConfig` and `KafkaProducer` of 4.3.1."""

from collections.abc import Iterator, Mapping
from typing import Final

from recordings.lint.parts import Part
from recordings.lint.world import Condition, Hit, World, spoken_ms

MOST_IN_FLIGHT: Final = 5
"""Source: `ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION_FOR_IDEMPOTENCE`."""


def waits_for_all(part: Part) -> bool | None:
    """Whether acks is all; None when it is unknown. Source: `ProducerConfig.parseAcks`."""
    acks = part.word("acks")
    return None if acks is None else acks in ("all", "-1")


def is_idempotent(part: Part) -> bool | None:
    """Whether the producer is idempotent in the end; None when it is unknown.

    Source: `ProducerConfig.postProcessAndValidateIdempotenceConfigs`, which turns it off for acks and retries unless
    the file asks for it.
    """
    asked, all_acks, retries = part.flag("enable.idempotence"), waits_for_all(part), part.number("retries")
    if asked is None or all_acks is None or retries is None:
        return None
    return asked and (part.has("enable.idempotence") or (all_acks and retries != 0))


def idempotence_needs_acks(part: Part, _world: World) -> Iterator[Hit]:
    """Idempotence is asked for, and acks is not all: the producer does not start."""
    if part.has("enable.idempotence") and part.flag("enable.idempotence") and waits_for_all(part) is False:
        yield Hit(("acks", "enable.idempotence"), {"acks": "0" if part.word("acks") == "0" else "1"})


def idempotence_needs_retries(part: Part, _world: World) -> Iterator[Hit]:
    """Idempotence is asked for, and retries is 0: the producer does not start."""
    if part.has("enable.idempotence") and part.flag("enable.idempotence") and part.number("retries") == 0:
        yield Hit(("retries", "enable.idempotence"))


def too_many_in_flight(part: Part, _world: World) -> Iterator[Hit]:
    """More than five requests in flight: refused also where idempotence is only the default."""
    in_flight = part.number("max.in.flight.requests.per.connection")
    if part.flag("enable.idempotence") and in_flight is not None and in_flight > MOST_IN_FLIGHT:
        yield Hit(("max.in.flight.requests.per.connection",), {"number": str(in_flight)})


def idempotence_turned_off(part: Part, _world: World) -> Iterator[Hit]:
    """The file does not ask for idempotence, and its acks or retries turn it off: a line of INFO says so."""
    if part.has("enable.idempotence") or part.has("transactional.id") or part.has("transaction-id-prefix"):
        return
    if is_idempotent(part) is False:
        key = "retries" if part.number("retries") == 0 else "acks"
        yield Hit((key,), {"key": key})


def transactions_need_idempotence(part: Part, _world: World) -> Iterator[Hit]:
    """A transactional.id without idempotence: the producer does not start."""
    key = "transactional.id" if part.has("transactional.id") else "transaction-id-prefix"
    if part.has(key) and is_idempotent(part) is False and not _refused_already(part):
        yield Hit(("enable.idempotence", "acks", "retries", key))


def _refused_already(part: Part) -> bool:
    """Whether idempotence is asked for and contradicted: another rule says so."""
    return part.has("enable.idempotence") and part.flag("enable.idempotence") is True


def retries_reorder(part: Part, _world: World) -> Iterator[Hit]:
    """Without idempotence a retried batch may be written behind a later one."""
    retries, in_flight = part.number("retries"), part.number("max.in.flight.requests.per.connection")
    if not part.has("enable.idempotence") or part.flag("enable.idempotence") or part.word("acks") == "0":
        return
    if is_idempotent(part) is False and retries is not None and retries > 0 and in_flight is not None and in_flight > 1:
        words = {"number": str(in_flight)}
        yield Hit(("enable.idempotence", "max.in.flight.requests.per.connection"), words)


def delivery_shorter_than_a_request(part: Part, _world: World) -> Iterator[Hit]:
    """Source: `KafkaProducer.configureDeliveryTimeout`, which throws when the file gives the delivery timeout."""
    delivery, linger = part.number("delivery.timeout.ms"), part.number("linger.ms")
    request = part.number("request.timeout.ms")
    if delivery is None or linger is None or request is None or not part.has("delivery.timeout.ms"):
        return
    if delivery < linger + request:
        words = {"delivery": spoken_ms(delivery), "least": spoken_ms(linger + request), "enough": str(linger + request)}
        yield Hit(("delivery.timeout.ms",), words)


def transaction_timeout_above_maximum(part: Part, world: World) -> Iterator[Hit]:
    """Source: `TransactionStateManager.validateTransactionTimeoutMs`, INVALID_TRANSACTION_TIMEOUT."""
    timeout, most = part.number("transaction.timeout.ms"), world.brokers_number("transaction.max.timeout.ms")
    if timeout is None or most is None or not part.has("transaction.timeout.ms"):
        return
    if timeout > most and not part.flag("transaction.two.phase.commit.enable"):
        yield Hit(
            ("transaction.timeout.ms",),
            {"timeout": spoken_ms(timeout), "most": spoken_ms(most), "at_most": str(most)},
        )


def timeout_with_two_phase_commit(part: Part, _world: World) -> Iterator[Hit]:
    """Source: `ProducerConfig.postProcessAndValidateIdempotenceConfigs`."""
    if part.flag("transaction.two.phase.commit.enable") and part.has("transaction.timeout.ms"):
        yield Hit(("transaction.timeout.ms",))


def long_transaction_timeout(part: Part, world: World) -> Iterator[Hit]:
    """A producer that dies holds readers of committed data back for this long."""
    timeout, most = part.number("transaction.timeout.ms"), world.brokers_number("transaction.max.timeout.ms")
    if timeout is None or most is None or not part.has("transaction.timeout.ms"):
        return
    if LONGEST_TRANSACTION_MS < timeout <= most and not part.flag("transaction.two.phase.commit.enable"):
        yield Hit(("transaction.timeout.ms",), {"timeout": spoken_ms(timeout)})


LONGEST_TRANSACTION_MS: Final = 300_000
"""Five times Kafka's default."""


def transactional_id_of_several(part: Part, world: World) -> Iterator[Hit]:
    """Several processes have one transactional.id: each that starts fences the one before."""
    setting = part.settings.get("transactional.id")
    if setting is None or setting.value is None or not setting.value.strip():
        return
    twins = [
        other
        for other in world.sharing(part, "transactional.id")
        if (other.file, other.name) != (part.file, part.name)  # a profile of its own
    ]
    if twins or (part.count("instances") or 1) > 1:
        yield Hit(("transactional.id",))


def acks_zero(part: Part, _world: World) -> Iterator[Hit]:
    """Nothing tells the producer that a batch was lost."""
    if part.word("acks") == "0" and not (part.has("enable.idempotence") and part.flag("enable.idempotence")):
        yield Hit(("acks",))


def acks_one_with_replicas(part: Part, world: World) -> Iterator[Hit]:
    """Durable topics, and a producer that does not wait for their replicas."""
    if part.word("acks") != "1" or not part.has("enable.idempotence"):
        return
    key = "min.insync.replicas"
    topics = [each for each in world.of("topic") if not part.topics or each.name in part.topics]
    own = [each for each in topics if each.has(key)]
    brokers = world.of("broker") if not part.topics or len(own) < len(topics) else []
    wanted = [each for each in (*own, *brokers) if (each.number(key) or 1) > 1]
    if wanted and part.flag("enable.idempotence") is False:
        yield Hit(("acks",), {"replicas": str(wanted[0].number(key))})


def removed_partitioner(part: Part, _world: World) -> Iterator[Hit]:
    """4.0 has no `DefaultPartitioner` and no `UniformStickyPartitioner`: the class is not found."""
    name = (part.text("partitioner.class") or "").rpartition(".")[2]
    if name in ("DefaultPartitioner", "UniformStickyPartitioner"):
        yield Hit(("partitioner.class",), {"name": name})


def round_robin_partitioner(part: Part, _world: World) -> Iterator[Hit]:
    """Each record goes to the next partition, so that a batch has few records."""
    if (part.text("partitioner.class") or "").rpartition(".")[2] == "RoundRobinPartitioner":
        yield Hit(("partitioner.class",))


CONDITIONS: Final[Mapping[str, Condition]] = {
    "idempotence-needs-acks": idempotence_needs_acks,
    "idempotence-needs-retries": idempotence_needs_retries,
    "too-many-in-flight": too_many_in_flight,
    "idempotence-turned-off": idempotence_turned_off,
    "transactions-need-idempotence": transactions_need_idempotence,
    "retries-reorder": retries_reorder,
    "delivery-shorter-than-a-request": delivery_shorter_than_a_request,
    "transaction-timeout-above-maximum": transaction_timeout_above_maximum,
    "timeout-with-two-phase-commit": timeout_with_two_phase_commit,
    "long-transaction-timeout": long_transaction_timeout,
    "transactional-id-of-several": transactional_id_of_several,
    "acks-zero": acks_zero,
    "acks-one-with-replicas": acks_one_with_replicas,
    "removed-partitioner": removed_partitioner,
    "round-robin-partitioner": round_robin_partitioner,
}
