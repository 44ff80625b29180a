"""`[[producer]]` tables: when records arrive, their keys and sizes, and transactions."""

from cluster.spec import ArrivalsSpec, KeysSpec, ProducerSpec, TransactionsSpec
from recordings.scenarios.toml_tables import (
    ReadError,
    TomlTable,
    duration,
    filled_text,
    filled_words,
    number,
    one_of,
    positive_rate,
    rate,
    shown,
    size,
    whole,
)

MOST_EXPONENT = 20.0
"""Of a Zipf distribution; with it all but one record in a million have the first key."""


def read_producer(table: TomlTable) -> ProducerSpec:
    """Read a `[[producer]]` table."""
    producer = ProducerSpec(
        name=table.take("name", filled_text, "", required=True),
        topics=table.take("topics", filled_words, (), required=True),
        count=table.take("count", whole(1), 1),
        rate_per_second=table.take("rate", positive_rate, 10.0),
        limit=table.take("limit", whole(1), None),
        arrivals=table.take("arrivals", _arrivals, ArrivalsSpec()),
        keys=_keys(table.table("keys")),
        size_bytes=table.take("size", size, 1_024),
        start_us=table.take("start", duration, 0),
        tombstones=table.take("tombstones", number(0, 1), 0.0),
        config=table.config("producer"),
        transactions=_transactions(table.table("transactions")) if table.has("transactions") else None,
    )
    table.known.append("transactions")
    if producer.tombstones > 0 and producer.keys.kind == "none":
        table.wrong("tombstones", "tombstones: records without a key remove none; give the producer `keys`")
    table.close()
    return producer


def _arrivals(value: object) -> ArrivalsSpec:
    if not isinstance(value, list):
        kind = one_of("steady", "poisson")(value)
        return ArrivalsSpec(kind)
    steps: list[tuple[int, float]] = []
    wrong: list[str] = []
    for step in value:
        if not isinstance(step, list) or len(step) != 2:
            wrong.append(f'a step of a profile is written ["30s", "200/s"], not {shown(step)}')
            continue
        try:
            at_us, per_second = duration(step[0]), rate(step[1])
        except ValueError as error:
            wrong.append(str(error))
            continue
        if steps and at_us <= steps[-1][0]:
            wrong.append(f"the step at {step[0]} does not come after the one before it")
        steps.append((at_us, per_second))
    if wrong:
        raise ReadError("; ".join(wrong))
    if not steps:
        raise ReadError("the profile is empty")
    return ArrivalsSpec("profile", tuple(steps))


def _keys(table: TomlTable) -> KeysSpec:
    keys = KeysSpec(
        kind=table.take("kind", one_of("none", "uniform", "zipf", "hot"), "none", required=bool(table.data)),
        distinct=table.take("distinct", whole(1), 1_000),
        exponent=table.take("exponent", number(0, MOST_EXPONENT), 1.0),
        share=table.take("share", number(0, 1), 0.5),
    )
    table.close()
    return keys


def _transactions(table: TomlTable) -> TransactionsSpec:
    transactions = TransactionsSpec(
        id=table.take("id", filled_text, "", required=True),
        records=table.take("records", whole(1), 100),
        abort=table.take("abort", number(0, 1), 0.0),
        on_abort=table.take("on_abort", one_of("drop", "retry"), "drop"),
    )
    table.close()
    return transactions
